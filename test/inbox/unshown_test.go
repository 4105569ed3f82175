//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unshown: a request that cannot be drawn, in the detail or already in its row, says so, cannot be allowed, and stops nothing else.
func (f *flows) unshown(t *testing.T) {
	p := f.open(t, "/")
	// Stands for a fault of the page that nobody knows of yet.
	p.eval(`(() => {
		const real = String.prototype.matchAll;
		String.prototype.matchAll = function (...args) { if (this.includes("breaks the page")) throw new TypeError("broken"); return real.apply(this, args); };
		return "";
	})()`)
	broken := approval("broken", `{"a":1}`)
	broken.Reason, broken.Description = "said in the row", "breaks the page\u200b"
	run := f.ask(t, one(broken))
	handle := run.PendingApprovals[0].Handle
	p.row("broken")
	p.follow("/?prompt=" + handle)
	p.until("that it cannot be shown", func() bool {
		return p.read(`document.querySelector("#detail")?.innerText.includes("cannot be shown") ? "yes" : ""`) == "yes"
	})
	detail := p.find("region", "Prompt")
	require.Contains(t, detail.call(`function() { return this.querySelector("code").title }`, nil), handle)
	require.Empty(t, p.all(detail, "button", "Allow"))

	if !f.phone {
		p.eval(`(document.getElementById("prompt-" + ` + quoted(handle) + `).focus(), "")`)
		p.press("aD") // nobody has read it
	}
	p.toList()
	worse := approval("worse", `{"a":2}`)
	worse.Description = "breaks the page\u200b"
	other := f.ask(t, one(worse))
	p.until("its row says so", func() bool { return strings.Contains(p.shown(), "This request cannot be shown") })
	f.ask(t, one(approval("whole", `{"a":3}`)))
	item := p.prompt("whole")
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	view := f.request(t, handle)
	require.Nil(t, view.Resolution)
	for _, runID := range []string{run.RunID, other.RunID} {
		f.cancel(t, runID)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotEmpty(t, p.complaints, "the console says what is broken")
	p.complaints = nil
}
