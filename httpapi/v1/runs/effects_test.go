package runs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Why a delivery failed says which names, addresses and ports there are in the network of the service, and
// an agent chooses where its callbacks go. So only an admin reads it.
func TestReasonsOfFailuresAreForAdmins(t *testing.T) {
	t.Parallel()
	failed := &model.Effect{EffectID: "e", LastError: "dial tcp 10.0.0.7:5432: connect: connection refused"}
	for _, role := range []api.Role{api.RoleObserver, api.RoleAgent, api.RoleOperator} {
		view := effectViewFor(&auth.Identity{Role: role})(failed)
		require.Equal(t, "the attempt failed; an admin is shown why", view.LastError, role)
		require.Empty(t, effectViewFor(&auth.Identity{Role: role})(&model.Effect{EffectID: "e"}).LastError)
	}
	require.Equal(t, failed.LastError, effectViewFor(&auth.Identity{Role: api.RoleAdmin})(failed).LastError)
	require.Equal(t, failed.LastError, effectViewFor(auth.Local())(failed).LastError)
}
