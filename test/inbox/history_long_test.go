//go:build unix && browser

package inbox

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// longHistory searches, pages through and exports a history whose oldest decision is older than
// the thousand that one search reads.
func (f *flows) longHistory(t *testing.T) {
	const runs, each = 10, 100
	oldest := approval("bash", `{"command":"make [the.*needle <img src=x onerror=document.title='owned'>"}`)
	run := f.ask(t, one(oldest))
	f.resolve(t, run.RunID, rig.Decide(rig.Deny(oldest.ID)))
	for n := range runs {
		var suspension api.Suspension
		var decisions []api.ApprovalResolution
		for i := range each {
			request := approval("bash", fmt.Sprintf(`{"command":"make long-%03d"}`, n*each+i))
			request.ID = "l-" + strconv.Itoa(i)
			suspension.Approvals = append(suspension.Approvals, request)
			decisions = append(decisions, rig.Deny(request.ID))
		}
		run := f.create(t, client.CreateRunParams{SessionID: "long-" + strconv.Itoa(n), AgentID: "longer", Input: "go", Suspend: &suspension})
		f.resolve(t, run.RunID, rig.Decide(decisions...))
		f.cancel(t, run.RunID)
	}

	p := f.open(t, "/history")
	rows := func() int { return len(strings.Split(p.read(pastRows), "\n")) }
	read := func(count int) func() bool { return func() bool { return rows() == count } }
	p.until("a page of them", read(100))
	require.Equal(t, "100+", p.eval(`[...document.querySelectorAll(".day .n")].at(-1).textContent`), "the last day has others")
	p.find("button", "Older").enter()
	p.until("the next page", read(200))
	require.Equal(t, "Older", p.eval("document.activeElement.textContent"), "the button keeps its place and the focus")
	if !f.phone {
		p.holdsKey(150)
	}

	search := p.find("searchbox", "Search decisions")
	search.write("[THE.*needle")
	p.until("it is not among those that were read", func() bool {
		return strings.Contains(p.shown(), "No matching decisions.") && strings.Contains(p.shown(), "Searched the last 1000 decisions.")
	})
	f.shoot(t, p, "history-searched")
	p.find("button", "Search older").click()
	p.until("it is found", func() bool { return rows() == 1 && strings.HasPrefix(p.read(pastRows), "make [the.*needle <img src=x") })
	require.Empty(t, p.eval(`document.querySelector(".days img, .detail img") ? "markup" : ""`))

	search.write("make long-")
	p.until("as many as a page holds", read(100))
	require.Empty(t, p.all(nil, "button", "Search older"), "the others are found already")
	p.find("button", "Older").click()
	p.until("two pages", read(200))
	f.shoot(t, p, "history-long")
	search.write("LONG-0 longer")
	p.until("a part of them", func() bool { return rows() == 100 && !strings.Contains(p.read(pastRows), "long-1") })

	p.eval(`(URL.createObjectURL = (make => blob => { globalThis.written = blob; return make(blob); })(URL.createObjectURL), "")`)
	for text, count := range map[string]int{"make long-": runs * each, "long-77": 10, "long-777": 1} {
		search.write(text)
		p.eval(`(globalThis.written = null, "")`)
		p.find("button", "Download CSV").click()
		p.until("the file", func() bool { return p.read(`globalThis.written ? "yes" : ""`) == "yes" })
		table, err := csv.NewReader(strings.NewReader(p.await("written.text()"))).ReadAll()
		require.NoError(t, err)
		require.Len(t, table, count+1, "all that match, and not only those that are shown: %s", text)
	}
}

// holdsKey holds "j" down in the history, in a browser that takes a hundred changes of the address in half a minute, as Safari:
// the decision that is shown is the one with the focus.
func (p *page) holdsKey(times int) {
	p.t.Helper()
	p.eval(`(() => {
		let left = 100;
		const replace = history.replaceState;
		history.replaceState = (...all) => { if (left-- <= 0) throw new DOMException("too often", "SecurityError"); replace.apply(history, all); };
		globalThis.forgives = () => { delete history.replaceState; };
		document.querySelector(".days a.row").focus();
		return "";
	})()`)
	p.eval(fmt.Sprintf(`(() => { for (let i = 0; i < %d; i++) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true, cancelable: true })); return ""; })()`, times))
	p.until("it is open, and in the address", func() bool {
		return p.read(`(() => {
			const rows = [...document.querySelectorAll(".days a.row")], handle = document.getElementById("detail")?.dataset.handle;
			return [rows.indexOf(document.activeElement), document.querySelector(".days a.row.current") === document.activeElement,
				document.activeElement.href.includes(handle), location.search.includes(handle)].join();
		})()`) == fmt.Sprintf("%d,true,true,true", times)
	})
	p.eval("(forgives(), \"\")")
}
