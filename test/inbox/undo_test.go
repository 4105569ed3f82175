//go:build unix && browser

package inbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// undo takes back decisions that wait to be sent.
func (f *flows) undo(t *testing.T) {
	fresh := openPage(t, f.browser, f.service.URL(), "/settings")
	checked := func(p *page, label string) {
		t.Helper()
		group := p.find("radiogroup", "Wait before sending")
		p.until(label+" is chosen", func() bool {
			return group.find("radio", label).call("function() { return this.checked }", nil) == "true"
		})
	}
	checked(fresh, "0 s")
	fresh.in("light", 390, 844)
	fresh.load("/settings")
	checked(fresh, "3 s")

	p := f.open(t, "/settings")
	p.find("radio", "5 s").click()
	p.load("/settings")
	checked(p, "5 s")
	p.load("/")
	pass := func(ms int) { p.eval(fmt.Sprintf(`String(globalThis.skip += %d)`, ms)) }
	p.still()
	pressed := func(item *element, button, says string) {
		t.Helper()
		item.find("button", button).click()
		item.status(says)
	}

	first := f.ask(t, one(approval("undone", `{"n":1}`)))
	item := p.prompt("undone")
	pressed(item, "Allow", "Allowing in 5 s")
	require.Empty(t, p.all(item, "button", "Allow"))
	f.shoot(t, p, "undo")
	p.calm()
	item.status("Allowing in 3 s")
	item.find("button", "Undo").click()
	item.find("button", "Allow")
	pass(10_000)
	p.frame()
	require.Nil(t, f.decision(t, first), "what was taken back is not sent")

	// "z" takes back as well, and the reason that was written stays.
	item.find("button", "Deny").click()
	f.reason(item).write("not today")
	pressed(item, "Deny", "Denying in 5 s")
	p.eval(`(document.activeElement.blur(), document.getElementById("detail").focus(), "")`)
	p.press("z")
	require.Contains(t, item.find("textbox", "Reason (optional)").call("function() { return this.value }", nil), "not today")
	require.Nil(t, f.decision(t, first))

	// After the wait it is sent.
	pressed(item, "Deny", "Denying in 5 s")
	pass(5_000)
	item.status("Denied by you")
	require.Equal(t, "not today", f.decision(t, first).Reason)

	// The sheet of "Allow and …" lies over the bar, and has its own "Undo".
	ruled := f.ask(t, one(approval("ruled", `{"n":2}`)))
	item = p.prompt("ruled")
	f.action(item, "Allow and …")
	sheet := p.find("dialog", "Allow and …")
	p.until("its rule is there", func() bool { return !sheet.find("button", "Allow").disabled() })
	pressed(sheet, "Allow", "Allowing in 5 s")
	focused := func() string {
		return p.read(`document.activeElement.closest("dialog") ? document.activeElement.type ?? document.activeElement.ariaLabel : document.activeElement.outerHTML`)
	}
	require.Equal(t, "Allow and …", focused(), "the button that had the focus is gone")
	sheet.find("button", "Undo").call("function() { globalThis.skip += 2000; this.focus(); return 0 }", nil)
	p.pressNow("\r")
	sheet.find("button", "Allow")
	require.Equal(t, "radio", focused(), "the first control")
	pass(10_000)
	p.frame()
	require.Nil(t, f.decision(t, ruled))
	sheet.find("button", "Back").click()
	_, err := f.client.CancelRun(t.Context(), ruled.RunID, "")
	require.NoError(t, err)

	if !f.phone { // where another request is open in front of the list
		f.undoSeveral(t, p, pass)
	}

	// A second decision sends the first.
	first, second := f.ask(t, one(approval("waits-one", `{"n":1}`))), f.ask(t, one(approval("waits-two", `{"n":1}`)))
	p.row("waits-two")
	pressed(p.prompt("waits-one"), "Allow", "Allowing in 5 s")
	pressed(p.prompt("waits-two"), "Allow", "Allowing in 5 s")
	p.until("the first is sent", func() bool { return f.decision(t, first) != nil })
	require.Nil(t, f.decision(t, second))

	// Who decides elsewhere meanwhile wins.
	terminal := f.service.Connect(client.WithActor("eve"), client.WithVia("cli"))
	_, err = terminal.ResolveRunApprovals(t.Context(), second.RunID, rig.Decide(rig.Deny(second.PendingApprovals[0].ID)))
	require.NoError(t, err)
	p.prompt("waits-two").status("Denied by eve in the terminal")
	pass(10_000)
	p.frame()
	require.Empty(t, p.all(nil, "button", "Undo"))
	require.Equal(t, api.OutcomeDenied, f.decision(t, second).Outcome)

	// An answer waits, too. Leaving the page sends nothing.
	asked := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Header: "Undo it", Question: "Say?"}}}}})
	answered := func() bool {
		view := f.request(t, asked.PendingQuestions[0].Handle)
		return view.Resolution != nil
	}
	item = p.prompt("Undo it")
	item.find("textbox", "Your answer").write("yes")
	pressed(item, "Answer", "Answering in 5 s")
	const left = "Not sent: you left the inbox. Decide again."
	follow := func(address string) {
		p.read(`(() => { const link = document.createElement("a"); link.href = "` + address + `"; document.body.append(link); link.click(); link.remove(); return ""; })()`)
	}
	require.NotContains(t, item.text(), left)
	follow("/history")
	p.find("heading", "History")
	p.until("a line says so there", func() bool { return p.read(`document.querySelector(".toast")?.textContent`) == left })
	pass(10_000)
	p.frame()
	require.False(t, answered(), "another page of the inbox")
	follow("/")
	item = p.prompt("Undo it")
	p.until("the request says so", func() bool { return strings.Contains(item.text(), left) })
	pressed(item, "Answer", "Answering in 5 s")
	p.load("/")
	p.still()
	item = p.prompt("Undo it")
	item.find("button", "Answer")
	require.False(t, answered(), "and a reload")
	pressed(item, "Answer", "Answering in 5 s")
	pass(5_000)
	p.until("it is answered", answered)

	// A page that the browser froze sends nothing, and a machine that slept for long. The request says so until it is decided.
	late := f.ask(t, one(approval("slept", `{"n":1}`)))
	item = p.prompt("slept")
	for _, suspended := range []string{
		`(dispatchEvent(new Event("freeze")), "")`,
		`(() => { const now = Date.now; Date.now = () => now() + 60_000; globalThis.skip += 10_000; return ""; })()`,
	} {
		pressed(item, "Allow", "Allowing in 5 s")
		require.NotContains(t, item.text(), "Not sent")
		p.eval(suspended)
		p.until("a line says so", func() bool {
			return strings.Contains(p.read(`document.querySelector(".toast").textContent`), "Not sent")
		})
		p.until("the request says so", func() bool { return strings.Contains(item.text(), "Not sent: this page was suspended. Decide again.") })
		item.find("button", "Allow")
		require.Nil(t, f.decision(t, late))
	}
	p.eval(`(globalThis.skip += 2000, localStorage.setItem("holdpoint.wait", "0"), "")`)
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	require.True(t, strings.HasPrefix(string(f.decision(t, late).Outcome), "allowed"))
}

// undoSeveral takes back decisions about several requests: the reason that was written stays.
func (f *flows) undoSeveral(t *testing.T, p *page, pass func(ms int)) {
	t.Helper()
	const reason = "not on a Friday"
	has := func(within *element, text string) {
		t.Helper()
		p.until("the reason is "+text, func() bool {
			return within.find("textbox", "Reason (optional)").call("function() { return this.value }", nil) == quoted(text)
		})
	}

	// Equal calls of two sessions.
	equal := f.askEqually(t, "undone-equal", "undone-one", "undone-two")
	p.until("both are in one row", func() bool { return strings.Contains(p.read(`document.querySelector(".list").innerText`), "×2") })
	item := p.prompt("undone-equal")
	item.find("button", "Deny").click()
	dialog := p.find("dialog", "Deny 2 calls: undone-one, undone-two")
	dialog.find("textbox", "Reason (optional)").write(reason)
	dialog.find("button", "Deny 2 calls: undone-one, undone-two").click()
	item.status("Denying 2 calls in 5 s")
	p.calm()
	item.find("button", "Undo").click()
	item.find("button", "Deny").click()
	has(p.find("dialog", "Deny 2 calls: undone-one, undone-two"), reason)
	p.find("dialog", "Deny 2 calls: undone-one, undone-two").find("button", "Back").click()
	p.toList()

	// The selected ones.
	p.find("checkbox", "Select undone-equal in 2 sessions").click()
	p.find("button", "Deny selected (2)").click()
	bar := p.find("group", "Selected")
	has(bar, "")
	bar.find("textbox", "Reason (optional)").write(reason)
	bar.find("button", "Deny selected (2)").click()
	bar.find("button", "Undo").click()
	bar.find("button", "Deny selected (2)").click()
	has(bar, reason)
	bar.find("button", "Back").click()
	pass(10_000)
	p.frame()
	for _, handle := range equal {
		require.Nil(t, f.outcome(t, handle))
	}

	// The next selection begins without it.
	bar.find("button", "Select none").click()
	p.find("checkbox", "Select undone-equal in 2 sessions").click()
	p.find("button", "Deny selected (2)").click()
	has(p.find("group", "Selected"), "")
	p.find("button", "Deny selected (2)").click()
	pass(5_000)
	for _, handle := range equal {
		p.until("it is denied", func() bool { return f.outcome(t, handle) != nil })
		require.Empty(t, f.outcome(t, handle).Reason)
	}
}
