package ask_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// A process with another token cannot share the lease of a kept call. It claims the run like any other.
func TestAnotherTokenReadsTheDecisionOfAKeptCall(t *testing.T) {
	t.Parallel()
	var nowMs atomic.Int64
	nowMs.Store(time.Now().UnixMilli())
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Closed: true, Store: store.Options{NowMs: nowMs.Load}})
	as := func(name string, role api.Role) *client.Client {
		made, _, err := service.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: name, Role: role, SessionPrefixes: []string{"shared"}}, "user:test", "")
		require.NoError(t, err)
		return service.Connect(client.WithToken(made.Secret))
	}
	person := as("person", api.RoleOperator)
	for name, reader := range map[string]*client.Client{"before": as("old", api.RoleAgent), "replaced": as("new", api.RoleAgent)} {
		asker := &ask.Asker{Client: as(name, api.RoleAgent), AgentID: "coder"}
		raised, err := asker.RaiseKept(t.Context(), ask.Call{
			SessionID: "shared", Key: name, Approval: &api.ApprovalRequest{ToolName: "deploy", Input: api.JSON(`{}`)},
		}, 24*time.Hour)
		require.NoError(t, err)
		nowMs.Add(time.Hour.Milliseconds())
		run, err := person.GetRun(t.Context(), raised.RunID)
		require.NoError(t, err)
		_, err = person.ResolveRunApprovals(t.Context(), raised.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
			{RequestID: run.PendingApprovalIDs[0], Behavior: api.BehaviorAllow},
		}})
		require.NoError(t, err)
		answer, err := (&ask.Asker{Client: reader, AgentID: "coder"}).Await(t.Context(), raised.RunID, -1)
		require.NoError(t, err)
		require.Equal(t, api.OutcomeAllowed, answer.Outcome, "%+v", answer)
		require.False(t, answer.Spent)
	}
}
