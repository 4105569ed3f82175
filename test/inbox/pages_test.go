//go:build unix && browser

package inbox

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

func (f *flows) restart(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("survives", `{"a":1}`)))
	item := p.prompt("survives")
	p.until("live", func() bool { return strings.Contains(p.shown(), "Live") })
	p.until("the worker has the page", func() bool {
		return p.await(`navigator.serviceWorker.ready.then(() => caches.match("/", {ignoreVary: true})).then(found => found ? "yes" : "")`) == "yes"
	})
	f.service.Kill()
	<-f.service.Ended()
	p.until("reconnecting", func() bool { return strings.Contains(p.shown(), "Reconnecting…") })
	other := p.another("/runs/" + run.RunID)
	other.find("link", "Inbox").click()
	other.until("a page that says so", func() bool { return strings.Contains(other.shown(), "The service cannot be reached.") })
	require.Empty(t, other.await(`caches.keys().then(names => Promise.all(names.map(name => caches.open(name).then(cache => cache.keys()))))
		.then(kept => kept.flat().map(one => new URL(one.url).pathname).filter(path => path !== "/" && !path.startsWith("/assets/")).join())`), "data is never kept")
	p.front()
	item.find("button", "Allow").click()
	item.status("Sending…")
	require.NoError(t, f.service.Restart())
	require.NoError(t, f.service.AwaitReady())
	p.until("live again", func() bool { return strings.Contains(p.shown(), "Live") })
	other.until("live again", func() bool { return strings.Contains(other.shown(), "Live") })
	item.status("Allowed by you")
	require.Equal(t, api.OutcomeAllowed, f.decision(t, run).Outcome)
	f.ask(t, one(approval("afterwards", `1`)))
	p.prompt("afterwards").find("button", "Allow").click()
	p.prompt("afterwards").status("Allowed by you")
}

func (f *flows) pages(t *testing.T) {
	p := f.open(t, "/history?outcome=denied") // the newest of them
	p.find("heading", "History")
	p.until("a decision", func() bool {
		return strings.Contains(p.shown(), "Denied by someone without a name in the inbox") && strings.Contains(p.shown(), "not on Fridays")
	})
	for _, link := range []struct {
		name, shows string
		follow      func(string)
	}{
		{"Rules", "Allow the tool lint", func(name string) { p.find("link", name).click() }},
		{"Workers", "No active workers.", p.menu},
		{"Effects", "State", p.menu},
		{"Settings", "Your name", p.menu},
	} {
		link.follow(link.name)
		p.until(link.name, func() bool {
			return strings.Contains(p.shown(), link.shows) && strings.Contains(p.read("document.title"), link.name+" · holdpoint")
		})
	}
	for _, nowhere := range []string{"/nonsense", "/history/x", "/runs/a/b", "/sessions/%ff/x"} {
		p.load(nowhere)
		p.find("heading", "Not found")
		require.Contains(t, p.read("document.title"), "Not found · holdpoint", nowhere)
	}
	f.endedRule(t, p)
	f.revoke(t, p)
	f.refusedRetry(t, p)
	run := f.ask(t, one(approval("inspected", `1`)))
	p.load("/runs/" + run.RunID)
	p.until("the run", func() bool {
		return strings.Contains(p.shown(), "Waiting for approval") && strings.Contains(p.shown(), "waits for approval inspected")
	})
	p.find("link", run.SessionID).click()
	p.until("the session", func() bool { return strings.Contains(p.shown(), "Decisions in this session") })
	_, err := f.client.ResolveRunApprovals(t.Context(), run.RunID, rig.Decide(rig.Deny(run.PendingApprovals[0].ID)))
	require.NoError(t, err)
	_, err = f.client.CancelRun(t.Context(), run.RunID, "")
	require.NoError(t, err)
	asked := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Header: "Region", Question: "Which?"}}}}})
	p.load("/runs/" + asked.RunID)
	p.find("link", "Region")
	_, err = f.client.CancelRun(t.Context(), asked.RunID, "")
	require.NoError(t, err)
	far := int64(1) << 52
	_, err = f.client.Redact(t.Context(), run.SessionID, api.RedactBody{BeforeMs: &far, Reason: "asked for"})
	require.NoError(t, err)
	p.load("/runs/" + run.RunID)
	p.until("the run without its bodies", func() bool {
		return strings.Contains(p.shown(), "approval resolved redacted") && strings.Contains(p.shown(), "waits for approval redacted")
	})
}

// endedRule shows a rule that has made all of its decisions.
func (f *flows) endedRule(t *testing.T, p *page) {
	t.Helper()
	_, err := f.client.AddRule(t.Context(), client.AddRuleParams{SessionID: "used-up", ToolName: "once", Match: api.RuleMatch{AnyInput: true}, MaxUses: 1})
	require.NoError(t, err)
	suspension := one(approval("once", `1`))
	f.create(t, client.CreateRunParams{SessionID: "used-up", Input: "go", Suspend: &suspension})
	p.load("/rules")
	p.until("a rule that is used up", func() bool {
		return strings.Contains(p.read(`[...document.querySelectorAll("tr.over")].map(one => one.innerText).join()`), "used up")
	})
	require.Empty(t, p.read(`[...document.querySelectorAll("tr.over button")].map(one => one.innerText).join()`), "nothing is left to revoke")
}

// revoke revokes a rule with the keyboard alone: the focus keeps its place.
func (f *flows) revoke(t *testing.T, p *page) {
	t.Helper()
	_, err := f.client.AddRule(t.Context(), client.AddRuleParams{SessionID: "used-up", ToolName: "revoked-by-key", Match: api.RuleMatch{AnyInput: true}})
	require.NoError(t, err)
	p.load("/rules")
	p.until("the rule", func() bool { return strings.Contains(p.shown(), "revoked-by-key") })
	row := &element{page: p, id: p.object(`[...document.querySelectorAll("tr")].find(one => one.innerText.includes("revoked-by-key"))`), what: "the rule"}
	focused := func(what string) {
		t.Helper()
		p.until("the focus on "+what, func() bool {
			return p.read(`(at => at.closest("tr")?.innerText.includes("revoked-by-key") ? at.textContent : at.ariaLabel)(document.activeElement)`) == what
		})
	}
	row.find("button", "Revoke").enter()
	focused("Back")
	p.press("\r")
	focused("Revoke")
	p.press("\r")
	focused("Back")
	p.eval(`(document.querySelector("header a").focus(), "")`)
	row.find("button", "Back").click()
	p.until("it asks no more", func() bool { return !strings.Contains(row.text(), "Back") })
	require.Equal(t, "true", p.eval(`String(document.activeElement === document.querySelector("header a"))`), "the person has moved the focus")
	row.find("button", "Revoke").enter()
	focused("Back")
	row.find("button", "Revoke").enter()
	p.until("it is revoked", func() bool { return strings.Contains(row.text(), "revoked by") })
	focused("Rules")
}

// refusedRetry shows why the service refuses to carry out an effect again.
func (f *flows) refusedRetry(t *testing.T, p *page) {
	t.Helper()
	p.load("/effects")
	p.find("combobox", "State")
	p.eval(`(() => {
		const real = fetch, effect = {kind: "deliver_answer", session_id: "s", effect_id: "e", run_id: "r", target_session_id: "s", state: "failed", attempts: 3, created_at_ms: 1};
		const sent = [["notify", ""], ["deliver_webhook", "callback"], ["deliver_webhook", "webhook_1"]].map(([kind, webhook_id]) => ({...effect, kind, webhook_id, effect_id: kind + webhook_id, state: "done"}));
		globalThis.fetch = async (path, options) => path.startsWith("/v1/effects?") ? new Response(JSON.stringify({items: [effect, ...sent], pagination: {has_more: false}}))
			: path.endsWith("/retry") ? new Response(JSON.stringify({detail: "the effect is done"}), {status: 409}) : real(path, options);
		return "";
	})()`)
	p.find("combobox", "State").choose("failed")
	again := p.find("button", "Try again")
	to := p.eval(`[...document.querySelectorAll("tbody tr")].map(row => row.cells[4].innerText.trim().split("\n")[0]).join("; ")`)
	require.Regexp(t, `^the same session; a person; the request's callback; Webhook webhook_1`, to)
	again.click()
	p.until("why not", func() bool { return strings.Contains(p.shown(), "the effect is done") })
}

// axe checks the accessibility of every page, in both themes.
func (f *flows) axe(t *testing.T) {
	f.ask(t, api.Suspension{
		Approvals: []api.ApprovalRequest{approval("for-axe", `{"command":"rm -rf build","cwd":"/src"}`)},
		Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Header: "For axe", Question: "Which?", Options: []api.QuestionOption{{ID: "a", Label: "A", Description: "one"}}}}}},
	})
	p := f.open(t, "/")
	f.action(p.prompt("for-axe"), "Edit")
	p.prompt("for-axe").find("textbox", "Input").write(`{"command":"ls"}`)
	run := f.ask(t, one(approval("for-axe-too", `{"a":1}`)))
	addresses := []string{"", "/settings", "/nonsense"}
	if storetest.Thorough {
		addresses = []string{"", "/history", "/rules", "/workers", "/effects", "/settings", "/webhooks", "/runs/" + run.RunID, "/sessions/" + run.SessionID, "/nonsense"}
	}
	for _, address := range addresses {
		if address != "" {
			p.load(address)
			p.until(address, func() bool {
				return p.read(`document.querySelector("h1") ? "yes" : ""`) == "yes" && !strings.Contains(p.shown(), "Connecting")
			})
		}
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{360, 1280} {
				if address != "" && (theme == "dark") == (width == 360) {
					continue
				}
				p.in(theme, width, 900)
				p.accessible(fmt.Sprintf("%s %s %d", address, theme, width))
				require.Equal(t, "yes", p.eval(`document.documentElement.scrollWidth <= innerWidth ? "yes" : document.documentElement.scrollWidth + " wide"`), "%s at %d", address, width)
			}
		}
	}
}

// violations are what axe finds, at every level.
const violations = `axe.run().then(result => result.violations
	.map(one => one.impact + ", " + one.id + ": " + one.nodes.map(node => node.html.slice(0, 160) + " " + node.failureSummary).slice(0, 3).join("; ")).join("\n"))`

// accessible checks the accessibility of the page in its current state.
func (p *page) accessible(where string) {
	p.t.Helper()
	source, err := axeSource()
	if err != nil {
		rig.Missing(p.t, "npm: "+err.Error())
	}
	p.eval("(() => { if (globalThis.axe) return ''; " + source + "\nglobalThis.axe = axe ?? globalThis.axe; return '' })()")
	found := p.await(violations)
	require.Empty(p.t, found, where)
}

// many scrolls and filters a thousand prompts, of which only a few are in the document.
func (f *flows) many(t *testing.T) {
	const runs, each = 10, 100
	for n := range runs {
		var suspension api.Suspension
		for i := range each {
			request := approval("bulk", fmt.Sprintf(`{"n":%d}`, n*each+i))
			request.ID = "b-" + strconv.Itoa(i)
			suspension.Approvals = append(suspension.Approvals, request)
		}
		f.create(t, client.CreateRunParams{SessionID: "bulk-" + strconv.Itoa(n), Input: "go", Suspend: &suspension})
	}
	p := f.open(t, "/")
	p.until("all of them", func() bool {
		var count int
		_, _ = fmt.Sscanf(p.read("document.title"), "(%d)", &count)
		return count >= runs*each
	})
	items := `String(document.querySelectorAll(".list li").length)`
	few := func() bool { count, _ := strconv.Atoi(p.eval(items)); return count > 2 && count < 60 }
	require.True(t, few(), "%s items", p.eval(items))
	p.until("the end of the list", func() bool {
		p.eval(`(document.querySelector(".scroll-list").scrollTo(0, 1e7), "")`)
		p.frame()
		return p.read(`[...document.querySelectorAll("li")].some(one => one.ariaLabel === "Use bulk: 999") ? "yes" : ""`) == "yes"
	})
	require.True(t, few(), "%s items", p.eval(items))
	f.searching(p).write(`"n":777`)
	p.until("the one that was asked for", func() bool {
		return p.read(items) == "1" && p.read(`document.querySelector(".list li").ariaLabel`) == "Use bulk: 777"
	})
	p.until("its address", func() bool { return strings.Contains(p.read("location.search"), "q=") })
}
