package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// The operator sets which roles may name addresses for the service to call.
func TestCallbacksAreOfTheRolesThatMayNameThem(t *testing.T) {
	t.Parallel()
	anywhere := func(string) error { return nil }
	agent, operator := &auth.Identity{Role: api.RoleAgent}, &auth.Identity{Role: api.RoleOperator}
	for name, test := range map[string]struct {
		roles   []api.Role
		caller  *auth.Identity
		refused bool
	}{
		"all":                       {nil, agent, false},
		"named":                     {[]api.Role{api.RoleOperator}, operator, false},
		"not named":                 {[]api.Role{api.RoleOperator}, agent, true},
		"nobody":                    {[]api.Role{}, operator, true},
		"nobody, and no credential": {[]api.Role{}, auth.Local(), true},
		"the service itself":        {[]api.Role{}, nil, false},
	} {
		err := authorized{checkCallback: anywhere, callbackRoles: test.roles}.callbackCheckFor(test.caller)("https://a.example/")
		require.Equal(t, test.refused, err != nil, name)
	}
	require.Nil(t, authorized{callbackRoles: []api.Role{}}.callbackCheckFor(agent), "a service that posts none says so")
}
