//go:build unix && browser

package inbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

func (f *flows) allow(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("deploy", `{"target":"staging"}`)))
	p.row("deploy")
	p.until("the count in the title", func() bool { return p.read("document.title") == "(1) holdpoint" })
	p.find("list", "Waiting for you")
	item := p.prompt("deploy")
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	resolution := f.decision(t, run)
	require.Equal(t, api.OutcomeAllowed, resolution.Outcome)
	require.Equal(t, "api:inbox", resolution.Via)
	require.Empty(t, p.all(item, "button", "Allow"), "a settled prompt has no buttons")
	p.toList()
	p.find("button", "Clear 1").click()
	p.until("it is cleared", func() bool {
		decided := p.all(nil, "list", "Decided just now")
		return len(decided) == 1 && strings.Contains(decided[0].text(), "deploy") && len(p.all(nil, "listitem", "")) == 1
	})
}

func (f *flows) deny(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("drop_table", `{"table":"users"}`)))
	item := p.prompt("drop_table")
	item.find("button", "Deny").click()
	require.Nil(t, f.decision(t, run), "the first Deny asks for the reason")
	f.reason(item).write("not on Fridays")
	item.find("button", "Deny").click()
	item.status("Denied by you")
	require.Equal(t, "not on Fridays", f.decision(t, run).Reason)
}

func (f *flows) edit(t *testing.T) {
	p := f.open(t, "/")
	request := approval("resize", "{\"replicas\":50,\"note\":\"\u202e\"}")
	request.InputSchema = api.JSON(`{"type":"object","required":["replicas"],"properties":{"replicas":{"type":"integer","maximum":60}}}`)
	run := f.ask(t, one(request))
	item := p.prompt("resize")
	f.action(item, "Edit")
	field := item.find("textbox", "Input")
	require.Contains(t, field.call("function() { return this.value }", nil), `\\u202e`, "an invisible character is an escape")
	send := item.find("button", "Allow with changes")
	p.until("nothing is changed yet", func() bool { return strings.Contains(item.text(), "Nothing is changed.") && send.disabled() })
	field.write(`{"replicas":500}`)
	p.until("the fault is named", func() bool { return strings.Contains(item.text(), "/replicas: must be at most 60") && send.disabled() })
	field.write(`{"replicas":`)
	p.until("broken JSON is named", func() bool { return strings.Contains(item.text(), "Invalid JSON: ") && send.disabled() })
	field.write(`{"replicas":5}`)
	p.until("the changes are shown", func() bool {
		changes := item.find("region", "Changes").text()
		return strings.Contains(changes, `-   "replicas": 50`) && strings.Contains(changes, `+   "replicas": 5`) && !send.disabled()
	})
	p.load("/")
	item = p.prompt("resize")
	f.action(item, "Edit")
	p.until("a reload loses nothing", func() bool {
		return strings.Contains(item.find("textbox", "Input").call("function() { return this.value }", nil), `5}`)
	})
	item.find("button", "Allow with changes").click()
	item.status("Allowed with changes by you")
	require.JSONEq(t, `{"replicas":5}`, string(f.decision(t, run).UpdatedInput))
}

func (f *flows) remember(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("lint", `{"path":"src"}`)))
	item := p.prompt("lint")
	f.action(item, "Allow and …")
	sheet := p.find("dialog", "Allow and …")
	what := sheet.find("radiogroup", "What to allow")
	what.find("radio", "This exact call, in all sessions").click()
	sheet.find("radiogroup", "For").find("radio", "Always").click()
	var text string
	p.until("the rule's text", func() bool {
		text = sheet.text()
		return strings.Contains(text, "Allow the tool lint") && !strings.Contains(text, "until")
	})
	require.Contains(t, sheet.find("list", "Calls that the rule decides").text(), `{"path":"src"}`)
	require.Contains(t, sheet.find("list", "Calls that the rule does not decide").text(), `{"path":"src x"}`)
	sheet.find("button", "Allow").click()
	item.status("Allowed by you")
	rule := f.decision(t, run).Rule
	require.NotNil(t, rule)
	require.Contains(t, text, rule.Text, "the text that was shown is the one that was written")

	run = f.ask(t, one(approval("search", `{"query":"weather"}`)))
	item = p.prompt("search")
	f.action(item, "Allow and …")
	sheet = p.find("dialog", "Allow and …")
	sheet.find("radio", "Every call of search, in this session").click()
	p.until("the rule's text", func() bool {
		text = sheet.text()
		return strings.Contains(text, "every call of the tool search")
	})
	sheet.find("button", "Allow").click()
	item.status("Allowed by you")
	said, _, _ := strings.Cut(f.decision(t, run).Rule.Text, ", until")
	require.Contains(t, text, said) // it holds from the decision on
}

func (f *flows) race(t *testing.T) {
	ada, ben := f.open(t, "/"), f.open(t, "/")
	ada.eval(`localStorage.setItem("holdpoint.name", "ada") ?? ""`)
	run := f.ask(t, one(approval("merge", `{"branch":"x"}`)))
	first, second := ada.prompt("merge"), ben.prompt("merge")
	first.find("button", "Allow").click()
	first.status("Allowed by you")
	second.status("Allowed by ada in the inbox")
	require.Equal(t, "ada", f.decision(t, run).ResolvedBy)

	// Both decide at once: one decision is recorded, and both pages show it.
	run = f.ask(t, one(approval("merge-again", `{"branch":"y"}`)))
	first, second = ada.prompt("merge-again"), ben.prompt("merge-again")
	second.find("button", "Deny").click()
	deny := second.find("button", "Deny")
	first.find("button", "Allow").click()
	deny.click()
	first.status("by")
	second.status("by")
	word := map[api.Outcome]string{api.OutcomeAllowed: "Allowed", api.OutcomeDenied: "Denied"}[f.decision(t, run).Outcome]
	first.status(word)
	second.status(word)

	// And by another way.
	run = f.ask(t, one(approval("elsewhere", `1`)))
	item := ada.prompt("elsewhere")
	terminal := f.service.Connect(client.WithActor("eve"), client.WithVia("cli"))
	_, err := terminal.ResolveRunApprovals(t.Context(), run.RunID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: run.PendingApprovals[0].ID, Behavior: api.BehaviorAllow}},
	})
	require.NoError(t, err)
	item.status("Allowed by eve in the terminal")
}

func (f *flows) expiry(t *testing.T) {
	p := f.open(t, "/")
	request := approval("soon", `{"a":1}`)
	request.ExpiresAfterMs = new(int64(4000))
	f.ask(t, one(request))
	item := p.prompt("soon")
	p.until("the deadline is told", func() bool { return strings.Contains(item.text(), "denies in ") })
	f.action(item, "Edit")
	item.find("textbox", "Input").write(`{"a":2}`)
	item.status("Expired at ")
	require.Empty(t, p.all(item, "button", "Allow with changes"))
}
