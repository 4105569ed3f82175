//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// looking shows who is looking at a request, in the row and where it is open, while it lasts.
func (f *flows) looking(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("looked-at", `{"command":"ls looked"}`)))
	handle := run.PendingApprovals[0].Handle
	item := p.prompt("looked-at")
	rowText := func() string {
		return p.read(`document.getElementById("prompt-` + handle + `").textContent`)
	}
	require.NotContains(t, rowText(), "looking")

	_, err := f.client.AcknowledgeRequest(t.Context(), handle, api.AcknowledgementBody{State: api.Acknowledged})
	require.NoError(t, err)
	p.until("the row says who is looking", func() bool { return strings.Contains(rowText(), "looking") })
	require.Contains(t, strings.ToLower(item.text()), "looking")
	_, err = f.client.AcknowledgeRequest(t.Context(), handle, api.AcknowledgementBody{State: api.NotAcknowledged})
	require.NoError(t, err)
	p.until("the row no longer says so", func() bool { return !strings.Contains(rowText(), "looking") })

	// By the button and by the key.
	item.find("button", "I'm looking at this").click()
	item.find("button", "Stop looking")
	p.until("the row says that you are looking", func() bool { return strings.Contains(rowText(), "looking") })
	p.accessible("a request that somebody is looking at")
	p.eval(`document.getElementById("prompt-` + handle + `").focus() ?? ""`)
	if f.phone {
		p.press("\r") // letters act in an opened prompt alone
	}
	p.press("l")
	item.find("button", "I'm looking at this")
	p.press("l")
	item.find("button", "Stop looking")
	p.load("/")
	p.until("a list says it, too", func() bool { return strings.Contains(rowText(), "looking") })

	item = p.prompt("looked-at")
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")
	require.Empty(t, p.all(item, "button", "Stop looking"))
}
