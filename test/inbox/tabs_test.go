//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// tabs opens more tabs of one profile than a browser has connections to a service over plain HTTP, which is six. Each
// of them loads and is live, and decides although the others are open. When the first one leaves, the others stay live.
func (f *flows) tabs(t *testing.T) {
	const count = 12
	first := f.ask(t, one(approval("tab-first", `1`)))
	last := f.ask(t, one(approval("tab-last", `1`)))
	tabs := []*page{f.open(t, "/")}
	for len(tabs) < count {
		tabs = append(tabs, tabs[0].another("/?q=tab-"))
	}
	for _, p := range tabs {
		p.until("live", func() bool { return strings.Contains(p.shown(), "Live") })
		p.row("tab-last")
	}
	decide := func(p *page, tool string) {
		p.front()
		p.prompt(tool).find("button", "Allow").click()
		p.prompt(tool).status("Allowed by you")
	}
	decide(tabs[0], "tab-first")
	decide(tabs[count-1], "tab-last")
	require.Equal(t, api.OutcomeAllowed, f.decision(t, first).Outcome)
	require.Equal(t, api.OutcomeAllowed, f.decision(t, last).Outcome)
	require.NoError(t, chromedp.Do(tabs[0].tab, chromedp.Navigate("about:blank")))
	f.ask(t, one(approval("tab-later", `1`)))
	for _, p := range tabs[1:] {
		p.row("tab-later")
	}
	decide(tabs[1], "tab-later")
}
