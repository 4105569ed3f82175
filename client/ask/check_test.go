package ask_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// A decision that its reader refuses to use, because its grant has expired for example, is not used up.
func TestARefusedDecisionStaysUnread(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	people := service.Connect(client.WithActor("ann"))
	expired := errors.New("the grant has expired")
	refuses := true
	asker := &ask.Asker{Client: service.Connect(), AgentID: "coder", WithGrants: true, Check: func(_ context.Context, answer *ask.Answer) error {
		require.NotEmpty(t, answer.Grant)
		if refuses {
			return expired
		}
		return nil
	}}
	held, err := asker.RaiseHeld(t.Context(), ask.Call{SessionID: "s", Key: "k", Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"make"}`)}})
	require.NoError(t, err)
	defer held.Release()
	allow(t, people, held.RunID)
	_, err = held.Await(t.Context())
	require.ErrorIs(t, err, expired)
	run, err := people.GetRun(t.Context(), held.RunID)
	require.NoError(t, err)
	require.Equal(t, api.StatusRunning, run.Status)
	refuses = false
	answer, err := held.Await(t.Context())
	require.NoError(t, err)
	_, _, allowed := answer.Allowed()
	require.True(t, allowed)
	require.False(t, answer.Spent)
}
