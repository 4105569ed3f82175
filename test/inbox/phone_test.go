//go:build unix && browser

package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// onPhone opens an address in a window as narrow as a phone. Decisions are sent at once, and the clock stands still.
func (f *flows) onPhone(t *testing.T, address string) *page {
	t.Helper()
	p := openPage(t, f.browser, f.service.URL(), address)
	p.in("light", 390, 844)
	p.eval(`localStorage.setItem("holdpoint.wait", "0") ?? ""`)
	p.load(address)
	p.still()
	return p
}

// tap is a press of a finger on a button of the bar, so many milliseconds after what the page did last.
func (p *page) tap(name string, laterMs int) {
	p.t.Helper()
	if laterMs > 0 { // what moved may be pressed some time after its second frame
		p.painted()
		p.painted()
	}
	p.until("the button "+name, func() bool {
		return p.read(fmt.Sprintf(`(() => {
			const words = one => [...one.childNodes].map(part => part.data ?? "").join(""); // without the key
			const button = [...document.querySelectorAll(".bar button")].find(one => words(one) === %q);
			if (!button) return "";
			globalThis.skip += %d;
			button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));
			return "yes";
		})()`, name, laterMs)) == "yes"
	})
}

// reasons: the sheet of a denial has the person's last reasons. A press that is not taken keeps none, and the buttons stay where
// they are.
func (f *flows) reasons(t *testing.T) {
	p := f.onPhone(t, "/")
	sheet := func() string {
		return p.read(`[...document.querySelectorAll(".reasons button")].map(one => one.textContent + (one.disabled ? " (off)" : "")).join("; ")`)
	}
	has := func(want string) {
		t.Helper()
		p.until("the reasons "+want, func() bool { return sheet() == want })
	}
	opened := func(tool string) *element {
		t.Helper()
		item := p.prompt(tool)
		p.calm()
		p.tap("Deny", 0)
		return item
	}
	const usual = "Deny: Not needed; Deny: Too risky; Deny: Wrong target; Deny: Ask me first; Write a reason…"
	first, second := f.ask(t, one(approval("reasons-one", `{"n":1}`))), f.ask(t, one(approval("reasons-two", `{"n":2}`)))

	// A press that comes too soon records nothing, and changes no button.
	item := opened("reasons-one")
	has(usual)
	p.tap("Deny: Wrong target", 0)
	p.await(`import("` + p.script("inbox.js") + `").then(({ changed }) => { changed(); return ""; })`)
	p.frame()
	require.Equal(t, usual, sheet())
	require.Nil(t, f.decision(t, first))
	p.tap("Deny: Wrong target", longEnough)
	item.status("Denied by you")
	require.Equal(t, "Wrong target", f.decision(t, first).Reason)

	// Of the next request it is the first one. A denial that waits to be sent takes no other reason.
	p.eval(`localStorage.setItem("holdpoint.wait", "5") ?? ""`)
	item = opened("reasons-two")
	const last = "Deny: Wrong target; Deny: Not needed; Deny: Too risky; Deny: Ask me first; Write a reason…"
	has(last)
	p.tap("Deny: Too risky", longEnough)
	p.until("it waits", func() bool { return strings.Contains(p.shown(), "Denying in 5 s") })
	has("Deny: Wrong target (off); Deny: Not needed (off); Deny: Too risky (off); Deny: Ask me first (off); Write a reason… (off)")
	p.calm()
	item.find("button", "Undo").click()
	has(last)
	require.Nil(t, f.decision(t, second))

	// Settled by somebody else, the sheet keeps its height, and no button of it works.
	_, err := f.client.CancelRun(t.Context(), second.RunID, "")
	require.NoError(t, err)
	p.until("the outcome", func() bool { return strings.Contains(p.shown(), "Cancelled") })
	has("Deny: Wrong target (off); Deny: Not needed (off); Deny: Too risky (off); Deny: Ask me first (off); Write a reason… (off)")
	p.eval(`localStorage.setItem("holdpoint.wait", "0") ?? ""`)

	// What was taken back is not offered. A reason for several is.
	several := f.ask(t, one(approval("reasons-three", `{"n":4}`)))
	item = opened("reasons-three")
	has(last)
	item.find("button", "Back").click()
	p.toList()
	p.find("checkbox", "Select reasons-three in "+several.SessionID).click()
	p.find("button", "Deny selected (1)").click()
	p.find("textbox", "Reason (optional)").write("not one of these")
	p.find("button", "Deny selected (1)").click()
	p.until("it is denied", func() bool { return f.decision(t, several) != nil })
	f.ask(t, one(approval("reasons-four", `{"n":5}`)))
	item = opened("reasons-four")
	has("Deny: not one of these; Deny: Wrong target; Deny: Not needed; Deny: Too risky; Write a reason…")
	p.tap("Deny: Wrong target", longEnough)
	item.status("Denied by you")

	// Four are kept, the last one first.
	for i, reason := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		request := approval(fmt.Sprint("reasons-kept-", i), fmt.Sprintf(`{"n":%d}`, 10+i))
		run := f.ask(t, one(request))
		item = opened(request.ToolName)
		item.find("button", "Write a reason…").click()
		item.find("textbox", "Reason (optional)").write(reason)
		p.calm()
		p.tap("Deny", longEnough)
		item.status("Denied by you")
		require.Equal(t, reason, f.decision(t, run).Reason)
	}
	f.ask(t, one(approval("reasons-last", `{"n":3}`)))
	item = opened("reasons-last")
	has("Deny: epsilon; Deny: delta; Deny: gamma; Deny: beta; Write a reason…")
	p.tap("Deny: gamma", longEnough)
	item.status("Denied by you")
}

// advance: after a decision on a phone the next request opens by itself, or the list where the person has set that. A line says
// what became of the request that was there.
func (f *flows) advance(t *testing.T) {
	p := f.onPhone(t, "/settings")
	p.find("checkbox", "On a phone, open the next request after a decision")
	toast := func(says string) { // read at once: it is gone after 4 s
		t.Helper()
		p.until("the line "+says, func() bool { return strings.Contains(p.read(`document.querySelector(".toast").textContent`), says) })
	}
	open := func() string { return p.read(`document.querySelector(".has-detail #detail")?.dataset.handle ?? ""`) }
	focused := func() string { return p.read(`document.activeElement.closest("[data-handle]")?.dataset.handle ?? ""`) }
	var handles []string
	for i, tool := range []string{"advance-one", "advance-two", "advance-three", "advance-four"} {
		handles = append(handles, f.ask(t, one(approval(tool, fmt.Sprintf(`{"command":"echo %d"}`, i)))).PendingApprovals[0].Handle)
	}
	p.load("/")
	p.still()
	allow := func(tool string) {
		t.Helper()
		p.prompt(tool)
		p.calm()
		p.tap("Allow", longEnough)
	}
	allow("advance-one")
	toast("Allowed by you")
	toast("Run a command with advance-one: echo 0")
	p.until("the next one is open", func() bool { return open() == handles[1] && focused() == handles[1] })
	p.tap("Allow", 0)
	p.frame()
	require.Nil(t, f.outcome(t, handles[1]), "a double tap")

	p.load("/settings")
	p.find("checkbox", "On a phone, open the next request after a decision").click()
	p.load("/")
	p.still()
	allow("advance-two")
	toast("Run a command with advance-two: echo 1")
	p.until("the list, with the focus on the row that was decided", func() bool { return open() == "" && focused() == handles[1] })
	require.Equal(t, api.OutcomeAllowed, f.outcome(t, handles[1]).Outcome)
	// Letters act in an opened prompt alone.
	p.press("j")
	p.until("the next row has the focus", func() bool { return focused() == handles[2] && open() == "" })
	p.press("a")
	p.frame()
	require.Nil(t, f.outcome(t, handles[2]))

	// A denial with a reason, too. Who was first elsewhere is read where it is.
	p.prompt("advance-three")
	p.calm()
	p.tap("Deny", 0)
	p.tap("Deny: Not needed", longEnough)
	toast("Denied by you")
	p.until("the list", func() bool { return open() == "" })
	p.prompt("advance-four")
	_, err := f.client.CancelRun(t.Context(), f.runOf(t, handles[3]), "")
	require.NoError(t, err)
	p.until("it stays", func() bool { return open() == handles[3] && strings.Contains(p.shown(), "Cancelled") })
}

// runOf returns the run of a request.
func (f *flows) runOf(t *testing.T, handle string) string {
	t.Helper()
	view, err := f.client.GetRequest(t.Context(), handle)
	require.NoError(t, err)
	return view.RunID
}

// script is the address of a module that the page has loaded.
func (p *page) script(name string) string {
	p.t.Helper()
	return p.eval(`performance.getEntriesByType("resource").map(one => one.name).find(one => one.endsWith("/` + name + `"))`)
}
