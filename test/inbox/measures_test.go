//go:build unix && browser

package inbox

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// wholeRows counts the rows that are in view from top to bottom.
const wholeRows = `(() => {
	const box = document.querySelector(".scroll-list").getBoundingClientRect();
	return String([...document.querySelectorAll(".list > li")].map(one => one.getBoundingClientRect()).filter(one => one.top >= box.top && one.bottom <= Math.min(box.bottom, innerHeight)).length);
})()`

// measures counts the prompts visible at once, and the keys and places of ten consecutive
// decisions. It needs the prompts of many.
func (f *flows) measures(t *testing.T) {
	long := api.Suspension{Approvals: []api.ApprovalRequest{approval("long-ids", `{"n":1}`)}}
	ids := f.create(t, client.CreateRunParams{SessionID: "session-0123456789abcdef", AgentID: "measured", Input: "go", Suspend: &long})
	p := f.open(t, "/?q=long-ids")
	text := p.read(`document.getElementById("prompt-` + p.row("long-ids") + `").innerText`)
	for _, id := range []string{ids.SessionID, ids.RunID, ids.PendingApprovals[0].Handle, ids.PendingApprovals[0].InputDigest} {
		require.Greater(t, len(id), 12)
		require.NotContains(t, text, id[:13], "a row has no long id")
	}
	f.cancel(t, ids.RunID)
	p.load("/")
	p.row("bulk")
	for _, window := range []struct {
		width, height int64
		rows          int
	}{{1280, 800, 12}, {1600, 1000, 16}, {820, 1100, 16}, {390, 844, 8}} {
		p.in("light", window.width, window.height)
		p.until("laid out", func() bool { return p.read("String(innerWidth)") == strconv.FormatInt(window.width, 10) })
		p.frame()
		rows, err := strconv.Atoi(p.eval(wholeRows))
		require.NoError(t, err)
		require.GreaterOrEqual(t, rows, window.rows, "whole rows at %d", window.width)
		t.Logf("%d × %d: %d whole rows", window.width, window.height, rows)
		require.Equal(t, "52", p.eval(`String(document.querySelector(".list > li").offsetHeight)`))
		small := p.eval(`[...document.querySelectorAll("body *")].filter(one => one.innerText?.trim() && !one.children.length && parseFloat(getComputedStyle(one).fontSize) < 13).map(one => one.outerHTML).join()`)
		require.Empty(t, small, "nothing is under 13 pixels")
		if window.width == 390 {
			top, err := strconv.ParseFloat(p.eval(`String(document.querySelector(".list > li").getBoundingClientRect().top)`), 64)
			require.NoError(t, err)
			require.LessOrEqual(t, top, 100.0, "the first row, below the heading of its group")
			require.LessOrEqual(t, p.eval(`String(document.querySelector(".scroll-list").getBoundingClientRect().top).padStart(5, "0")`), "00072")
		}
	}
	p.in("light", 1280, 800)
	p.until("laid out", func() bool { return p.read("String(innerWidth)") == "1280" })

	// Rows of one line, on request.
	p.eval(`(localStorage.setItem("holdpoint.compact", "on"), "")`)
	p.load("/")
	p.row("bulk")
	require.Equal(t, "32", p.eval(`String(document.querySelector(".list > li").offsetHeight)`))
	rows, err := strconv.Atoi(p.eval(wholeRows))
	require.NoError(t, err)
	require.GreaterOrEqual(t, rows, 20, "compact rows")
	p.eval(`(localStorage.removeItem("holdpoint.compact"), "")`)

	// Ten decisions, five of them denials: one key each after the first.
	p.load("/?kind=approval")
	p.row("bulk")
	p.press("j")
	at := func() string {
		return p.read(`document.activeElement.closest("li[data-handle]")?.dataset.handle ?? ""`)
	}
	barTop := `String(document.querySelector(".bar").getBoundingClientRect().top)`
	bar := p.eval(barTop)
	var handles []string
	for n := range 10 {
		p.until("the next row has the focus", func() bool {
			return at() != "" && (len(handles) == 0 || at() != handles[n-1]) && p.read(`document.getElementById("detail").dataset.handle`) == at()
		})
		handles = append(handles, at())
		p.press(string("aD"[n%2]))
		row := p.object("document.getElementById(" + quoted("prompt-"+handles[n]) + ")")
		(&element{page: p, id: row}).status([]string{"Allowed by you", "Denied by you"}[n%2])
		require.Equal(t, bar, p.eval(barTop), "the bar does not move")
	}
	for n, handle := range handles {
		view := f.request(t, handle)
		require.Equal(t, []api.Outcome{api.OutcomeAllowed, api.OutcomeDenied}[n%2], view.Resolution.Outcome)
	}
	// All of them keep their places until they are cleared.
	require.Equal(t, "10", p.eval(`String(document.querySelectorAll(".list > li.settled").length)`))
	p.find("button", "Clear 10").click()
	p.until("they are cleared", func() bool { return p.read(`String(document.querySelectorAll(".list > li.settled").length)`) == "0" })
}
