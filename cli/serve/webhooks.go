package serve

import (
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/webhooks/deliver"
)

// callbackRoles returns the roles of --callback-roles; none for "none".
func (c *Command) callbackRoles() []api.Role {
	roles := []api.Role{}
	for _, name := range c.CallbackRoles {
		if name != callbacksOfNobody {
			roles = append(roles, api.Role(name))
		}
	}
	return roles
}

// delivered returns the observer of deliveries, nil for none.
func (a *admin) delivered() func(string, deliver.Outcome, time.Duration) {
	if a == nil {
		return nil
	}
	return func(channel string, outcome deliver.Outcome, took time.Duration) {
		if channel != "" {
			a.metrics.Webhooks.Notified(channel, string(outcome), took)
			return
		}
		a.metrics.Webhooks.Attempted(string(outcome), took)
	}
}
