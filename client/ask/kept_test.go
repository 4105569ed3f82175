package ask_test

import (
	"net/http"
	"strings"
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

// heartbeats counts renewals of leases.
type heartbeats struct{ sent atomic.Int64 }

func (h *heartbeats) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/heartbeat") {
		h.sent.Add(1)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A client that polls often does not have the service write a renewal for each look.
func TestAPolledCallIsRenewedSeldom(t *testing.T) {
	t.Parallel()
	var nowMs atomic.Int64
	nowMs.Store(time.Now().UnixMilli())
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Store: store.Options{NowMs: nowMs.Load}})
	renewed := &heartbeats{}
	asker := &ask.Asker{Client: service.Connect(client.WithHTTPClient(&http.Client{Transport: renewed})), AgentID: "coder", NowMs: nowMs.Load}
	raised, err := asker.RaisePolled(t.Context(), ask.Call{Approval: &api.ApprovalRequest{ToolName: "deploy", Input: api.JSON(`{}`)}}, 24*time.Hour)
	require.NoError(t, err)
	for i, look := range []struct {
		passed time.Duration
		want   int64
	}{{0, 0}, {4 * time.Minute, 0}, {time.Minute, 1}, {0, 1}, {4 * time.Minute, 1}, {25 * time.Minute, 2}, {time.Hour, 3}} {
		nowMs.Add(look.passed.Milliseconds())
		answer, err := asker.Await(t.Context(), raised.RunID, 0)
		require.NoError(t, err)
		require.Empty(t, answer.Outcome)
		require.Equal(t, look.want, renewed.sent.Load(), "look %d", i)
	}
}
