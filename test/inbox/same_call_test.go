//go:build unix && browser

package inbox

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// sameCall decides equal calls of several sessions by their one row.
func (f *flows) sameCall(t *testing.T) {
	p := f.open(t, "/")
	ask := func(session, reason, command string) *client.CreatedRun {
		request := approval("install", `{"command":`+quoted(command)+`}`)
		request.Reason, request.Directory = reason, "/srv/"+session
		suspension := one(request)
		return f.create(t, client.CreateRunParams{SessionID: session, AgentID: "same", Input: "go", Suspend: &suspension})
	}
	const row = `[...document.querySelectorAll(".list > li")].filter(one => one.ariaLabel.includes(" install: "))`
	named := func(name string) {
		t.Helper()
		p.until("the one row "+name, func() bool { return p.read(row+`.map(one => one.ariaLabel).join(" | ")`) == name })
	}
	top := func() string { return p.read(`String(` + row + `[0].getBoundingClientRect().top)`) }
	focused := func() string {
		return p.read(`document.activeElement.closest("dialog")?.ariaLabel ?? document.activeElement.outerHTML`)
	}
	settle := func(run *client.CreatedRun) {
		t.Helper()
		f.resolve(t, run.RunID, rig.Decide(rig.Deny(run.PendingApprovals[0].ID)))
	}

	// No timer notes that a prompt was read: that is noted as it leaves, after the next one was drawn.
	p.read(`String((window.kept = window.setInterval, window.setInterval = () => 0))`)
	const call = "Run a command with install: npm ci"
	shop := ask("shop", "It is new", "npm ci")
	named(call)
	place := top()
	shop2, other := ask("shop2", "It is new", "npm ci"), ask("shop3", "Another reason", "npm ci")
	shop4 := ask("shop4", "It is new", "npm ci")
	named(call + " ×4")
	require.Equal(t, place, top(), "nothing moves")
	p.find("checkbox", "Select install in 4 sessions")
	item := p.prompt("install")
	opened := p.read(`String(performance.now())`)
	p.until("its end was in view for half a second", func() bool { return p.read(`String(performance.now() - `+opened+` > 600)`) == "true" })
	require.Contains(t, item.text(), "The same call waits in 3 other sessions: shop2, shop3, shop4")
	f.shoot(t, p, "same-call-row")

	// The one that stands for the row is settled elsewhere: the row stays, and so does what is open.
	settle(shop)
	named(call + " ×3")
	p.until("the next one is open", func() bool {
		return p.read(`document.getElementById("detail").dataset.handle`) == shop2.PendingApprovals[0].Handle
	})
	if !f.phone {
		require.Equal(t, place, top(), "the row keeps its place")
	}

	p.read(`String(window.setInterval = window.kept)`)
	item = p.prompt("install")
	item.find("button", "Allow").click()
	dialog := p.find("dialog", "Allow 2 calls: shop2, shop4")
	require.Nil(t, f.decision(t, shop2), "it asks first")
	require.Contains(t, dialog.text(), "1 was not read and is left out")
	require.Contains(t, dialog.find("list", "Left out").text(), "shop3")
	for _, directory := range []string{"in /srv/shop2", "in /srv/shop4"} {
		require.Contains(t, dialog.find("list", "Will be allowed").text(), directory)
	}
	f.shoot(t, p, "same-call")
	p.accessible("the dialog of the same call")
	late := ask("shop5", "It is new", "npm ci")
	named(call + " ×4")
	settle(shop4)
	dialog = p.find("dialog", "Allow 1 call: shop2")
	dialog.find("list", "Settled meanwhile")
	require.Equal(t, "Allow 1 call: shop2", focused())
	dialog.find("button", "Allow 1 call: shop2").click()
	p.until("it is allowed", func() bool { return f.decision(t, shop2) != nil })
	require.Nil(t, f.decision(t, other))
	require.Nil(t, f.decision(t, late), "what arrived later is not in it")
	p.toList()
	named(call + " ×2")

	// Two that were read: one is taken out by hand.
	third := ask("shop6", "Another reason", "npm ci")
	named(call + " ×3")
	p.prompt("install")
	p.calm()
	item = p.prompt("install")
	p.until("a call of the row is open", func() bool { return len(p.all(item, "button", "Allow")) == 1 })
	item.find("button", "Deny").click()
	dialog = p.find("dialog", "Deny 3 calls: shop3, shop5, shop6")
	dialog.find("checkbox", "shop5").click()
	dialog = p.find("dialog", "Deny 2 calls: shop3, shop6")
	dialog.find("textbox", "Reason (optional)").write("not now")
	dialog.find("button", "Deny 2 calls: shop3, shop6").click()
	for _, run := range []*client.CreatedRun{other, third} {
		p.until("it is denied", func() bool { return f.decision(t, run) != nil })
		require.Equal(t, "not now", f.decision(t, run).Reason)
	}
	require.Nil(t, f.decision(t, late))
	p.prompt("install").find("button", "Allow").click()
	p.prompt("install").status("Allowed by you")
	require.Equal(t, api.OutcomeAllowed, f.decision(t, late).Outcome)
	p.toList()
	p.until("the row says so once", func() bool {
		return p.read(`String(`+row+`.length)`) == "1" && strings.Contains(p.read(row+`[0].innerText`), "Denied by you")
	})

	// A settled row takes no new call. Two equal calls of one session have a row each.
	twice := approval("install", `{"command":"npm ci"}`)
	twice.ID = "a-twice"
	suspension := api.Suspension{Approvals: []api.ApprovalRequest{approval("install", `{"command":"npm ci"}`), twice}}
	run := f.create(t, client.CreateRunParams{SessionID: "shop7", AgentID: "same", Input: "go", Suspend: &suspension})
	p.until("rows of their own", func() bool { return p.read(`String(`+row+`.length)`) == "3" })
	f.cancel(t, run.RunID)
	p.until("they are settled", func() bool {
		return p.read(`String(`+row+`.filter(one => one.classList.contains("settled")).length)`) == "3"
	})

	// The service knows of equal calls that the page does not have.
	first, second := approval("far", `{"command":"npm ci"}`), approval("far", `{"command":"npm ci"}`)
	var far []string
	for session, request := range map[string]api.ApprovalRequest{"far": first, "far2": second} {
		suspension := api.Suspension{Approvals: []api.ApprovalRequest{request}}
		run := f.create(t, client.CreateRunParams{SessionID: session, AgentID: "same", Input: "go", Suspend: &suspension})
		far = append(far, run.RunID)
	}
	p.until("both are there", func() bool {
		return p.read(`[...document.querySelectorAll(".list > li")].filter(one => one.ariaLabel.includes(" far: ")).map(one => one.innerText).join()`) != "" && strings.Contains(p.read(`document.querySelector(".list").innerText`), "×2")
	})
	// A late event about it brings it back.
	forget := func() {
		p.await(`import(new URL("inbox.js", document.querySelector("script[type=module]").src)).then(({inbox, changed}) => {
		const far = [...inbox.prompts.values()].find(one => one.session === "far2");
		if (!far) return "";
		inbox.prompts.delete(far.handle);
		inbox.order = inbox.order.filter(handle => handle !== far.handle);
		far.row.members.splice(far.row.members.indexOf(far), 1);
		changed();
		return "";
	})`)
	}
	forget()
	item = p.prompt("far")
	p.until("the service's count is shown", func() bool { forget(); return strings.Contains(item.text(), "The same call waits 1 more time.") })
	for _, id := range far { // the next flow begins with an empty list
		f.cancel(t, id)
	}
}

// askEqually creates runs of several sessions that wait for the same call. It cancels them after the flow.
func (f *flows) askEqually(t *testing.T, tool string, sessions ...string) (handles []string) {
	for _, session := range sessions {
		suspension := one(approval(tool, `{"command":"npm ci"}`))
		run := f.create(t, client.CreateRunParams{SessionID: session, Input: "go", Suspend: &suspension})
		handles = append(handles, run.PendingApprovals[0].Handle)
		t.Cleanup(func() {
			_, err := f.client.CancelRun(context.Background(), run.RunID, "")
			require.NoError(t, err)
		})
	}
	return handles
}

// sameCallLinks opens one of several equal calls by name: it opens that one, and so does its row.
func (f *flows) sameCallLinks(t *testing.T) {
	handles := f.askEqually(t, "linked", "linked-one", "linked-two", "linked-three")
	p := f.open(t, "/")
	p.row("linked")
	p.load("/sessions/linked-two")
	opens := func(handle string) {
		t.Helper()
		p.until("the focus is in it, and it is open", func() bool {
			return p.read(`document.activeElement.closest("[data-handle]")?.dataset.handle + " " + document.getElementById("detail")?.dataset.handle`) == handle+" "+handle
		})
	}
	// As a browser does: a pressed link has the focus.
	p.find("list", "Waiting now").call(`function() { const link = this.querySelector("a"); link.focus(); link.click(); return 0 }`, nil)
	opens(handles[1])
	require.Contains(t, p.shown(), "The same call waits in 2 other sessions")

	p.eval(`(dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, cancelable: true})), "")`)
	p.find("dialog", "Palette").find("combobox", "Find a request or a page").write("linked-three")
	p.press("\r")
	opens(handles[2])
}

// sameCallGroup groups by call, where each equal call has a row: the focus stays in its own when one before it leaves.
func (f *flows) sameCallGroup(t *testing.T) {
	handles := f.askEqually(t, "grouped", "grouped-one", "grouped-two", "grouped-three")
	p := f.open(t, "/?group=call")
	for _, handle := range handles {
		p.until("its row", func() bool { return p.read(`document.getElementById("prompt-`+handle+`") ? "yes" : ""`) == "yes" })
	}
	p.eval(`(document.getElementById("prompt-` + handles[1] + `").focus(), "")`)
	p.frame()
	_, err := f.client.AcknowledgeRequest(t.Context(), handles[0], api.AcknowledgementBody{State: api.Snoozed, UntilMs: new(time.Now().Add(time.Hour).UnixMilli())})
	require.NoError(t, err)
	p.until("the first is snoozed", func() bool {
		return p.read(`document.querySelector('ul[aria-label="Snoozed"] #prompt-`+handles[0]+`') ? "yes" : ""`) == "yes"
	})
	p.frame()
	require.Equal(t, handles[1], p.read(`document.activeElement.dataset.handle`))
}
