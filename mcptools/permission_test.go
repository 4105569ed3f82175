package mcptools

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
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
