//go:build unix && browser

package inbox

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// fileChange shows a tool's change to a file as a diff, without omitting any of the input.
func (f *flows) fileChange(t *testing.T) {
	p := f.open(t, "/")
	f.ask(t, one(approval("edit_file", `{"file_path":"/srv/web.yaml","old_string":"name: web\nreplicas: 3\nport: 80","new_string":"name: web\nreplicas: 8\nport: 80","replace_all":true}`)))
	item := p.prompt("edit_file")
	text := item.text()
	for _, line := range []string{"  name: web", "- replicas: 3", "+ replicas: 8", "  port: 80", "/srv/web.yaml", "replace_all", "true"} {
		require.Contains(t, text, line)
	}
	f.ask(t, one(approval("apply_patch", `{"patch":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\u202e","cwd":"/srv"}`)))
	text = p.prompt("apply_patch").text()
	for _, line := range []string{"--- a/x", "- old", "+ new", "U+202E", "in /srv"} {
		require.Contains(t, text, line)
	}
	f.ask(t, one(approval("multi_edit", `{"path":"p","edits":[{"old_str":"a","new_str":"b"},{"old_str":"c","new_str":"d","extra":"shown too"}]}`)))
	text = p.prompt("multi_edit").text()
	for _, line := range []string{"- a", "+ b", "- c", "+ d", "shown too"} {
		require.Contains(t, text, line)
	}
	for _, tool := range []string{"edit_file", "apply_patch", "multi_edit"} {
		p.prompt(tool).find("button", "Allow").click()
		p.prompt(tool).status("Allowed by you")
	}
}

// imitation tries to look like the page: in the names, and in an input of a megabyte.
func (f *flows) imitation(t *testing.T) {
	p := f.open(t, "/")
	const says = "Allowed by ada in the terminal, 14:02"
	request := approval(says, `{"text":`+quoted(strings.Repeat("all is well ", 80_000)+"rm -rf /")+`}`)
	request.ID, request.Description = "a-imitates", "Waiting for you"
	suspension := one(request)
	run := f.create(t, client.CreateRunParams{SessionID: "Live", AgentID: "Settings", Input: "go", Suspend: &suspension})
	p.row(says)
	require.Len(t, p.all(nil, "list", "Waiting for you"), 1)
	item := p.prompt(says)
	require.Empty(t, p.all(item, "status", says), "no status is made of an agent's words")
	require.Less(t, len(item.text()), 16<<10, "a huge input is opened on demand")
	item.find("button", "Read to the end to allow")
	require.Empty(t, p.all(item, "button", "Allow"))
	item.find("button", "Show all (938 KB)").click()
	p.until("the whole input", func() bool { return strings.Contains(item.text(), "rm -rf /") })
	// Finding elements by role takes seconds with a text this long, so avoid it here.
	p.calm()
	p.eval(`(document.querySelector(".bar button.deny").click(), "")`)
	p.until("the form", func() bool { return p.read(`document.querySelector(".denying button.deny") ? "yes" : ""`) == "yes" })
	p.calm()
	p.eval(`(document.querySelector(".denying button.deny").click(), "")`)
	p.until("it is denied", func() bool { return strings.Contains(p.shown(), "Denied by you") })
	require.Equal(t, api.OutcomeDenied, f.decision(t, run).Outcome)
}

// sleep freezes the page, as a closed laptop does. Afterwards it shows all changes without a
// reload.
func (f *flows) sleep(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("before-sleep", `1`)))
	p.prompt("before-sleep")
	state := func(state cdppage.SetWebLifecycleStateState) {
		require.NoError(t, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, cdppage.SetWebLifecycleState, cdppage.SetWebLifecycleStateParams{State: state})
			return err
		})))
	}
	p.eval(`(globalThis.notReloaded = "yes")`)
	state(cdppage.SetWebLifecycleStateStateFrozen)
	_, err := f.client.ResolveRunApprovals(t.Context(), run.RunID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: run.PendingApprovals[0].ID, Behavior: api.BehaviorDeny}},
	})
	require.NoError(t, err)
	f.service.Kill()
	<-f.service.Ended()
	require.NoError(t, f.service.Restart())
	require.NoError(t, f.service.AwaitReady())
	later := f.ask(t, one(approval("during-sleep", `1`)))
	state(cdppage.SetWebLifecycleStateStateActive)
	p.awake()
	// A page that was frozen has no tree of roles and names any more, so this looks at its text.
	p.until("what was settled", func() bool { return strings.Contains(p.shown(), "Denied by someone without a name by the API") })
	p.row("during-sleep")
	p.calm()
	p.until("Allow", func() bool {
		p.painted() // what was opened is read
		return p.read(`(row => {
			const detail = document.getElementById("detail");
			if (!row || detail?.dataset.handle !== row.dataset.handle) { row?.click(); return ""; }
			const allow = detail.querySelector("button.allow");
			skip += 2000;
			allow?.click();
			return allow ? "yes" : "";
		})([...document.querySelectorAll("li[data-handle]")].find(one => one.ariaLabel.includes("during-sleep")))`) == "yes"
	})
	p.until("it is allowed", func() bool { return strings.Contains(p.shown(), "Allowed by you") })
	require.Equal(t, api.OutcomeAllowed, f.decision(t, later).Outcome)
	require.Equal(t, "yes", p.eval("globalThis.notReloaded"))
}

// awake shows a page that was frozen. Chromium hides it when it freezes it, and bringing it to the front does not show it in
// a browser without windows; a page with the focus is shown.
func (p *page) awake() {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.tab, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	})))
	p.until("the page is shown", func() bool { return p.read("document.visibilityState") == "visible" })
}

// place: arriving prompts do not move the focus out of a field, and after a denial by keyboard the
// focus is on the next one.
func (f *flows) place(t *testing.T) {
	p := f.open(t, "/")
	focused := func() string {
		return p.read(`document.activeElement.closest("[data-handle]")?.innerText ?? document.activeElement.tagName`)
	}
	selected := f.ask(t, one(approval("place-one", `1`)))
	for _, tool := range []string{"place-two", "place-three"} {
		f.ask(t, one(approval(tool, `1`)))
		p.row(tool)
	}
	p.find("checkbox", "Select place-one in "+selected.SessionID).click()
	p.find("button", "Deny selected (1)").click()
	p.find("textbox", "Reason (optional)")
	item := p.prompt("place-two")
	item.find("button", "Deny").click()
	if f.phone {
		item.find("button", "Write a reason…").click()
	}
	p.until("the field of the one prompt has the focus", func() bool {
		return strings.Contains(focused(), "place-two") && p.read("document.activeElement.tagName") == "INPUT"
	})
	p.press("just ")
	for _, tool := range []string{"arrived-one", "arrived-two"} {
		f.ask(t, one(approval(tool, `1`)))
		p.row(tool)
	}
	p.press("wait")
	require.Equal(t, "just wait", p.read("document.activeElement.value"))
	require.Empty(t, p.read(`document.querySelector(".bulk input").value`))

	p.press("\r")
	item.status("Denied by you")
	p.until("the next one", func() bool { return strings.Contains(focused(), "place-three") })
	p.press("j")
	p.until("the one after it", func() bool { return strings.Contains(focused(), "arrived-one") })
}

// agentFilter shows the requests of one agent. The choice stands in the bar where it has room, and stays while nothing of
// the agent is open.
func (f *flows) agentFilter(t *testing.T) {
	p := f.open(t, "/")
	ask := func(agent, tool string) *client.CreatedRun {
		suspension := one(approval(tool, `{"n":1}`))
		return f.create(t, client.CreateRunParams{SessionID: "s-" + tool, AgentID: agent, Input: "go", Suspend: &suspension})
	}
	built, reviewed := ask("builder-of-releases", "by-builder"), ask("reviewer", "by-reviewer")
	rows := func(has, hasNot string) func() bool {
		return func() bool {
			text := p.read(`[...document.querySelectorAll(".list > li")].map(one => one.ariaLabel).join()`)
			return strings.Contains(text, has) && !strings.Contains(text, hasNot)
		}
	}
	p.row("by-builder")
	p.row("by-reviewer")
	p.in("light", 1280, 900)
	p.find("combobox", "Agent").choose("reviewer")
	p.until("the requests of the reviewer", rows("by-reviewer", "by-builder"))
	p.find("combobox", "Agent").choose("builder-of-releases")
	p.until("the requests of the builder", rows("by-builder", "by-reviewer"))
	require.Contains(t, p.read("location.search"), "agent=builder-of-releases")
	require.Empty(t, p.all(nil, "button", "Agent: builder-of-releases ✕"), "the choice says so")
	for _, width := range []int64{1100, 1280} {
		p.in("light", width, 900)
		p.until("laid out", func() bool { return p.read("String(innerWidth)") == fmt.Sprint(width) })
		p.frame()
		require.Equal(t, "true", p.eval(`(one => String(one.scrollWidth <= one.clientWidth))(document.querySelector(".filters"))`), "the bar at %d pixels", width)
	}
	f.shoot(t, p, "agent")
	for _, width := range []int64{360, 1099} {
		p.in("light", width, 900)
		p.until("laid out", func() bool { return p.read("String(innerWidth)") == fmt.Sprint(width) })
		p.frame()
		p.find("button", "Agent: builder-of-releases ✕")
		require.Empty(t, p.all(nil, "combobox", "Agent"))
		require.Empty(t, p.eval(badlySet), "at %d pixels", width)
	}

	p.in("light", 1280, 900)
	p.find("combobox", "Agent")
	f.cancel(t, built.RunID)
	p.prompt("by-builder").status("Cancelled")
	require.Equal(t, `"builder-of-releases"`, p.find("combobox", "Agent").call("function() { return this.selectedOptions[0].text }", nil))
	p.find("combobox", "Agent").choose("All")
	p.until("the requests of all", rows("by-reviewer", "by-builder"))
	f.cancel(t, reviewed.RunID)
}

// keysAlone edits, remembers, answers and selects with the keyboard alone.
func (f *flows) keysAlone(t *testing.T) {
	p := f.open(t, "/")
	focusOn := func(tool string) {
		p.until("the focus on "+tool, func() bool {
			if strings.Contains(p.read(`document.activeElement.closest("[data-handle]")?.innerText ?? ""`), tool) {
				return true
			}
			p.press("j")
			return false
		})
		if f.phone {
			p.press("\r") // letters act in an opened prompt alone
		}
	}
	within := func(tag string) {
		p.until("the focus in "+tag, func() bool { return p.read("document.activeElement.tagName") == tag })
	}

	edited := f.ask(t, one(approval("edit-by-key", `{"n":1}`)))
	p.row("edit-by-key")
	focusOn("edit-by-key")
	p.press("e")
	within("TEXTAREA")
	p.eval(`(() => {
		for (const key of ["Escape", "a"]) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
		return "";
	})()`)
	p.until("Escape closes it", func() bool { return p.read(`String(document.querySelectorAll("#detail textarea").length)`) == "0" })
	p.press("e") // the "a" was meant for the text, and has not allowed the input as it was
	within("TEXTAREA")
	p.eval(`document.activeElement.select() ?? ""`)
	p.press(`{"n":2}`)
	item := p.prompt("edit-by-key")
	p.until("it may be sent", func() bool { return !item.find("button", "Allow with changes").disabled() })
	p.until("the button has the focus", func() bool {
		p.press("\t")
		return p.read("document.activeElement.textContent") == "Allow with changes"
	})
	p.press("\r")
	item.status("Allowed with changes by you")
	require.JSONEq(t, `{"n":2}`, string(f.decision(t, edited).UpdatedInput))

	remembered := f.ask(t, one(approval("remember-by-key", `{"n":1}`)))
	p.row("remember-by-key")
	focusOn("remember-by-key")
	p.press("r")
	within("INPUT")
	item = p.prompt("remember-by-key")
	p.until("the choices", func() bool { return len(p.all(nil, "radio", "This exact call, in this session")) == 1 })
	p.until("the button has the focus", func() bool {
		p.press("\t")
		return p.read("document.activeElement.textContent") == "Allow"
	})
	p.press("\r")
	item.status("Allowed by you")
	require.Contains(t, f.decision(t, remembered).Rule.Text, "in session "+remembered.SessionID, "the narrowest choice at first")

	asked := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Header: "By key", Question: "Say?"}}}}})
	item = p.prompt("By key")
	p.until("the field has the focus", func() bool {
		p.press("\t")
		return p.read("document.activeElement.tagName") == "TEXTAREA" || p.read("document.activeElement.type ?? ''") == "text"
	})
	p.press("yes")
	p.until("the button has the focus", func() bool {
		p.press("\t")
		return p.read("document.activeElement.textContent") == "Answer"
	})
	p.press("\r")
	item.status("Answered by you")
	view := f.request(t, asked.PendingQuestions[0].Handle)
	require.Equal(t, api.OutcomeAnswered, view.Resolution.Outcome)
}
