//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// before lists the earlier requests of a session with their outcomes, once the person opens the list.
func (f *flows) before(t *testing.T) {
	p := f.open(t, "/")
	first := approval("step-past", `{"command":"ls past"}`)
	second := approval("step-now", `{"command":"ls now"}`)
	second.ToolCallID = "c2"
	run := f.ask(t, api.Suspension{Approvals: []api.ApprovalRequest{first, second}})

	item := p.prompt("step-now")
	item.find("button", "Before this").click()
	p.until("nothing was decided before", func() bool { return strings.Contains(item.text(), "Nothing was asked in this session before.") })
	item.find("button", "Before this").click()

	_, err := f.client.ResolveRunApprovals(t.Context(), run.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{
		{RequestID: first.ID, Behavior: api.BehaviorDeny},
	}})
	require.NoError(t, err)
	item.find("button", "Before this").click()
	list := item.find("list", "Before this")
	require.Contains(t, list.text(), "ls past")
	require.Contains(t, list.text(), "denied by someone without a name by the API")
	p.accessible("a request with what was decided before it")
	f.shoot(t, p, "before")

	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")
}
