package mcptools

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
)

// A denial of the service itself says what the user of the agent can do about it.
func TestRefusalsNameARemedy(t *testing.T) {
	t.Parallel()
	for code, want := range map[api.Code]string{
		api.CodeUnauthenticated: "set HOLDPOINT_TOKEN",
		api.CodeInvalidToken:    "set HOLDPOINT_TOKEN",
		api.CodeSessionNotFound: "this session began with another token",
	} {
		denied := PermissionOf(nil, &client.Error{Code: code, Detail: "refused"})
		require.Equal(t, api.BehaviorDeny, denied.Behavior)
		require.Contains(t, denied.Message, "refused; "+want, code)
	}
	require.NotContains(t, PermissionOf(nil, errors.New("away")).Message, ";")
}

// An agent that gets something else than an object as the edited input runs the call as it was.
func TestAnEditIsAnObject(t *testing.T) {
	t.Parallel()
	for edit, allowed := range map[string]bool{`{"command":"ls"}`: true, ` {}`: true, `null`: false, `"ls"`: false, `[]`: false, `7`: false, `true`: false, ` `: false} {
		permission := PermissionOf(&ask.Answer{
			Approval:   &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"rm -rf x"}`)},
			Outcome:    api.OutcomeAllowed,
			Resolution: api.Resolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(edit)},
		}, nil)
		require.Equal(t, allowed, permission.Behavior == api.BehaviorAllow, edit)
		require.Equal(t, allowed, permission.UpdatedInput != nil, edit)
	}
}
