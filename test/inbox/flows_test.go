//go:build unix

package inbox

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// flows is one service and one browser for all that a person does.
type flows struct {
	service *rig.Process
	browser context.Context
	client  *client.Client
	// asked counts the runs: each has a session of its own.
	asked int
	// phone says that the window is as narrow as one, and dark.
	phone bool
}

func start(t *testing.T) *flows {
	t.Helper()
	browser := startBrowser(t)
	service := rig.Start(t, rig.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "holdpoint.db")})
	return &flows{service: service, browser: browser, client: service.ConnectPatiently()}
}

// ask makes a run that waits.
func (f *flows) ask(t *testing.T, suspension api.Suspension) *client.CreatedRun {
	t.Helper()
	f.asked++
	run, err := f.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s-" + strconv.Itoa(f.asked), Input: "go", Suspend: &suspension})
	require.NoError(t, err)
	return run
}

func approval(tool, input string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: "a-" + tool, ToolCallID: "c", ToolName: tool, Input: api.JSON(input)}
}

func one(request api.ApprovalRequest) api.Suspension {
	return api.Suspension{Approvals: []api.ApprovalRequest{request}}
}

// decision returns what was recorded for a run's first approval.
func (f *flows) decision(t *testing.T, run *client.CreatedRun) *api.Resolution {
	t.Helper()
	view, err := f.client.GetRequest(t.Context(), run.PendingApprovals[0].Handle)
	require.NoError(t, err)
	return view.Resolution
}

// TestInbox lets people decide in the page, one flow after the other.
func TestInbox(t *testing.T) {
	t.Parallel()
	start(t).all(t)
}

// TestInboxOnAPhone is TestInbox in a small, dark window.
func TestInboxOnAPhone(t *testing.T) {
	if !storetest.Thorough {
		return // with the suites under "faults"
	}
	t.Parallel()
	f := start(t)
	f.phone = true
	f.all(t)
}

func (f *flows) all(t *testing.T) {
	for _, flow := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Empty", f.empty},
		{"Allow", f.allow},
		{"Deny", f.deny},
		{"Edit", f.edit},
		{"Remember", f.remember},
		{"Questions", f.questions},
		{"Several", f.several},
		{"Race", f.race},
		{"Expiry", f.expiry},
		{"Keyboard", f.keyboard},
		{"FileChange", f.fileChange},
		{"Hostile", f.hostile},
		{"Imitation", f.imitation},
		{"Sleep", f.sleep},
		{"KeysAlone", f.keysAlone},
		{"Place", f.place},
		{"Folded", f.folded},
		{"Link", f.link},
		{"Restart", f.restart},
		{"Pages", f.pages},
		{"SignIn", f.signIn},
		{"Tokens", f.tokens},
		{"Webhooks", f.webhooks},
		{"Issuer", f.issuer},
		{"Torn", f.torn},
		{"Documents", f.documents},
		{"Axe", f.axe},
		{"Many", f.many},
		{"Measures", f.measures},
	} {
		t.Run(flow.name, flow.run)
	}
}

func (f *flows) open(t *testing.T, address string) *page {
	t.Helper()
	p := openPage(t, f.browser, f.service.URL(), address)
	if f.phone {
		p.in("dark", 390, 844)
	}
	return p
}

func (f *flows) empty(t *testing.T) {
	p := f.open(t, "/")
	p.until("the empty inbox", func() bool { return strings.Contains(p.shown(), "Nothing is waiting for you.") })
	require.Equal(t, "holdpoint", p.eval("document.title"))
	p.find("button", "Copy")
}

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
	require.Contains(t, item.find("textbox", "Input").call("function() { return this.value }", nil), `5}`, "a reload loses nothing")
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

func (f *flows) questions(t *testing.T) {
	p := f.open(t, "/")
	asked := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{
		{ID: "q1", ToolCallID: "c1", Questions: []api.UserQuestion{
			{ID: "route", Header: "Route", Question: "Which route?", Options: []api.QuestionOption{{ID: "n", Label: "North", Description: "longer"}, {ID: "s", Label: "South"}}},
			{ID: "extras", Header: "Extras", Question: "Which extras?", MultiSelect: true, Options: []api.QuestionOption{{ID: "a", Label: "Tea"}, {ID: "b", Label: "Cake"}}},
		}},
		{ID: "q2", ToolCallID: "c2", Payload: api.JSON(`{"question":"How many seats?"}`), ResponseSchema: api.JSON(
			`{"type":"object","required":["seats"],"properties":{"seats":{"type":"integer","minimum":1,"title":"Seats"},"window":{"type":"boolean","title":"Window"},"class":{"title":"Class","enum":["first","second"]}}}`)},
		{ID: "q3", ToolCallID: "c3", Questions: []api.UserQuestion{{ID: "why", Header: "Why", Question: "Why?"}}},
	}})
	item := p.prompt("Route")
	route := item.find("group", "Which route?")
	send := item.find("button", "Answer")
	require.True(t, send.disabled(), "every question wants an answer")
	route.find("radio", "South").click()
	extras := item.find("group", "Which extras?")
	extras.find("checkbox", "Tea").click()
	extras.find("checkbox", "Cake").click()
	extras.find("textbox", "Your answer").write("and milk")
	p.until("complete", func() bool { return !send.disabled() })
	send.click()
	item.status("Answered by you")

	typed := p.prompt("How many seats?")
	typed.find("spinbutton", "Seats").write("0")
	send = typed.find("button", "Answer")
	p.until("0 is too few", func() bool { return send.disabled() && strings.Contains(typed.text(), "must be at least 1") })
	typed.find("spinbutton", "Seats").write("2")
	typed.find("checkbox", "Window").click()
	typed.find("combobox", "Class").choose("second")
	p.until("complete", func() bool { return !send.disabled() })
	send.click()
	typed.status("Answered by you")

	why := p.prompt("Why")
	why.find("button", "Decline").click()
	why.status("Declined by you")
	var values []string
	for _, question := range asked.PendingQuestions {
		view, err := f.client.GetRequest(t.Context(), question.Handle)
		require.NoError(t, err)
		said := string(view.Resolution.Outcome) + string(view.Resolution.Value)
		for _, answer := range view.Resolution.Answers {
			said += fmt.Sprint(" ", answer.QuestionID, answer.SelectedOptionIDs, answer.FreeformAnswer)
		}
		values = append(values, said)
	}
	require.Contains(t, values[0], "route[s] extras[a b]and milk")
	require.Contains(t, values[1], `"seats":2`)
	require.Contains(t, values[1], `"window":true`)
	require.Contains(t, values[1], `"class":"second"`)
	require.Contains(t, values[2], "declined")

	ends := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "go", Header: "Go on", Question: "Go on?"}}}}})
	item = p.prompt("Go on")
	item.find("button", "Cancel question").click()
	p.until("it asks", func() bool { return strings.Contains(item.text(), "This ends the run") })
	item.find("button", "End the run").click()
	item.status("Cancelled by you")
	ended, err := f.client.GetRun(t.Context(), ends.RunID)
	require.NoError(t, err)
	require.Equal(t, api.StatusCancelled, ended.Status)
}

func (f *flows) several(t *testing.T) {
	p := f.open(t, "/")
	var asked []*client.CreatedRun
	for n := range 3 {
		session := api.Suspension{Approvals: []api.ApprovalRequest{approval("step-"+strconv.Itoa(n), `1`)}}
		run, err := f.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "several-" + strconv.Itoa(n), Input: "go", Suspend: &session})
		require.NoError(t, err)
		asked = append(asked, run)
	}
	for n := range 2 {
		p.prompt("step-" + strconv.Itoa(n))
		p.calm() // it is read
		p.toList()
		p.find("checkbox", fmt.Sprintf("Select step-%d in several-%d", n, n)).click()
	}
	p.find("button", "Deny selected (2)")
	p.find("button", "Allow selected (2)").click()
	for n := range 2 {
		p.prompt("step-" + strconv.Itoa(n)).status("Allowed by you")
		require.Equal(t, api.OutcomeAllowed, f.decision(t, asked[n]).Outcome)
	}
	require.Nil(t, f.decision(t, asked[2]))
	p.toList()
	p.find("checkbox", "Select step-2 in several-2").click()
	p.find("button", "Deny selected (1)").click()
	p.find("textbox", "Reason (optional)").write("enough")
	p.find("button", "Deny selected (1)").click()
	p.prompt("step-2").status("Denied by you")
	require.Equal(t, "enough", f.decision(t, asked[2]).Reason)
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

	// Both at once: one is recorded, and both say which.
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
	item.status("Expired, ")
	require.Empty(t, p.all(item, "button", "Allow with changes"))
}

func (f *flows) keyboard(t *testing.T) {
	p := f.open(t, "/")
	first := f.ask(t, one(approval("key-one", `1`)))
	p.row("key-one")
	second := f.ask(t, one(approval("key-two", `{"b":1}`)))
	p.row("key-two")
	p.press("j")
	p.until("focus", func() bool {
		return strings.Contains(p.read(`document.activeElement.closest("[data-handle]")?.innerText ?? ""`), "key-one")
	})
	if f.phone {
		p.press("\r") // letters act in an opened prompt alone
		p.until("it is open", func() bool { return strings.Contains(p.read(`document.activeElement.id`), "detail") })
	}
	p.press("a")
	p.until("it is allowed", func() bool { return f.decision(t, first) != nil })
	require.Equal(t, api.OutcomeAllowed, f.decision(t, first).Outcome)
	p.press("j")
	p.until("focus moves", func() bool {
		return strings.Contains(p.read(`document.activeElement.closest("[data-handle]")?.innerText ?? ""`), "key-two")
	})
	p.press("d")
	p.until("the reason has the focus", func() bool { return p.read("document.activeElement.tagName") == "INPUT" })
	p.press("a d a")
	require.Nil(t, f.decision(t, second), "no key decides while the focus is in a field")
	p.press("\r")
	p.prompt("key-two").status("Denied by you")
	require.Equal(t, "a d a", f.decision(t, second).Reason)
	p.press("?")
	p.find("dialog", "Keys")
}

func (f *flows) hostile(t *testing.T) {
	p := f.open(t, "/")
	const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	tool := "status\u202e Allowed by ada"
	request := approval(tool, `{"command":`+quoted("echo "+evil+"\u200b\u202e safe")+`}`)
	request.ID, request.Reason = "a-evil", evil+"\n[link](javascript:alert(1)) Allowed by ada in the terminal"
	run := f.ask(t, one(request))
	item := p.prompt("status[U+202E] Allowed by ada")
	text := item.text()
	require.Contains(t, text, "<img src=x onerror=")
	require.Contains(t, text, "U+200B")
	require.Contains(t, text, "U+202E")
	require.NotContains(t, text, "\u202e")
	item.find("group", "From the agent")
	require.Empty(t, p.all(item, "image", ""))
	require.Equal(t, "1", item.call(`function() { return this.querySelectorAll("h1, h2, h3, button.evil, script, img").length }`, nil))
	require.NotEqual(t, "owned", p.eval("document.title"))
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")
	require.Equal(t, api.OutcomeDenied, f.decision(t, run).Outcome)
}

func (f *flows) folded(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("write", `{"text":`+quoted(strings.Repeat("long ", 12_000)+"THE END")+`}`)))
	item := p.prompt("write")
	require.NotContains(t, item.text(), "THE END")
	item.find("button", "Show all (59 KB)").click()
	p.until("the whole input", func() bool { return strings.Contains(item.text(), "THE END") })
	item.call("function() { this.focus(); return 0 }", nil)
	for pages := 0; len(p.all(item, "button", "Allow")) == 0; pages++ {
		require.Less(t, pages, 1000)
		p.press("a") // reads on
		require.Nil(t, f.decision(t, run))
		p.frame()
	}
	item.find("button", "Allow").click()
	item.status("Allowed by you")
}

func (f *flows) link(t *testing.T) {
	run := f.ask(t, one(approval("linked", `{"a":1}`)))
	handle := run.PendingApprovals[0].Handle
	p := f.open(t, "/?prompt="+handle)
	item := p.prompt("linked")
	item.find("button", "Details").click()
	p.until("the details are open", func() bool {
		return strings.Contains(item.call(`function() { return [...this.querySelectorAll("a")].map(one => one.href).join() }`, nil), run.RunID)
	})
	item.find("button", "Allow").click()
	item.status("Allowed by you")
	later := f.open(t, "/?prompt="+handle)
	later.linked(handle).status("Allowed by user:local in the inbox")
}

func (f *flows) restart(t *testing.T) {
	p := f.open(t, "/")
	run := f.ask(t, one(approval("survives", `{"a":1}`)))
	item := p.prompt("survives")
	p.until("live", func() bool { return strings.Contains(p.shown(), "Live") })
	f.service.Kill()
	<-f.service.Ended()
	p.until("reconnecting", func() bool { return strings.Contains(p.shown(), "Reconnecting…") })
	item.find("button", "Allow").click()
	item.status("Sending…")
	require.NoError(t, f.service.Restart())
	require.NoError(t, f.service.AwaitReady())
	p.until("live again", func() bool { return strings.Contains(p.shown(), "Live") })
	item.status("Allowed by you")
	require.Equal(t, api.OutcomeAllowed, f.decision(t, run).Outcome)
	f.ask(t, one(approval("afterwards", `1`)))
	p.prompt("afterwards").find("button", "Allow").click()
	p.prompt("afterwards").status("Allowed by you")
}

func (f *flows) pages(t *testing.T) {
	p := f.open(t, "/history")
	p.find("heading", "History")
	p.until("a decision", func() bool {
		return strings.Contains(p.shown(), "Denied by user:local in the inbox") && strings.Contains(p.shown(), "not on Fridays")
	})
	for _, link := range []struct {
		name, shows string
		follow      func(string)
	}{
		{"Rules", "Allow the tool lint", func(name string) { p.find("link", name).click() }},
		{"Workers", "No worker holds a run.", p.menu},
		{"Effects", "No pending deliveries.", p.menu},
		{"Settings", "Your name", p.menu},
	} {
		link.follow(link.name)
		p.until(link.name, func() bool {
			return strings.Contains(p.shown(), link.shows) && strings.Contains(p.read("document.title"), link.name+" · holdpoint")
		})
	}
	run := f.ask(t, one(approval("inspected", `1`)))
	p.load("/runs/" + run.RunID)
	p.until("the run", func() bool {
		return strings.Contains(p.shown(), "waiting for approval") && strings.Contains(p.shown(), "waits for approval inspected")
	})
	p.find("link", run.SessionID).click()
	p.until("the session", func() bool { return strings.Contains(p.shown(), "What was decided in this session") })
	_, err := f.client.ResolveRunApprovals(t.Context(), run.RunID, rig.Decide(rig.Deny(run.PendingApprovals[0].ID)))
	require.NoError(t, err)
	_, err = f.client.CancelRun(t.Context(), run.RunID, "")
	require.NoError(t, err)
	far := int64(1) << 52
	_, err = f.client.Redact(t.Context(), run.SessionID, api.RedactBody{BeforeMs: &far, Reason: "asked for"})
	require.NoError(t, err)
	p.load("/runs/" + run.RunID)
	p.until("the run without its bodies", func() bool {
		return strings.Contains(p.shown(), "approval resolved redacted") && strings.Contains(p.shown(), "waits for approval redacted")
	})
}

// axe looks for what keeps people out, on every page, in both themes.
func (f *flows) axe(t *testing.T) {
	source, err := axeSource()
	if err != nil {
		rig.Missing(t, "npm: "+err.Error())
	}
	f.ask(t, api.Suspension{
		Approvals: []api.ApprovalRequest{approval("for-axe", `{"command":"rm -rf build","cwd":"/src"}`)},
		Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{{ID: "x", Header: "For axe", Question: "Which?", Options: []api.QuestionOption{{ID: "a", Label: "A", Description: "one"}}}}}},
	})
	p := f.open(t, "/")
	f.action(p.prompt("for-axe"), "Edit")
	p.prompt("for-axe").find("textbox", "Input").write(`{"command":"ls"}`)
	run := f.ask(t, one(approval("for-axe-too", `{"a":1}`)))
	addresses := []string{"", "/settings"}
	if storetest.Thorough {
		addresses = []string{"", "/history", "/rules", "/workers", "/effects", "/settings", "/webhooks", "/runs/" + run.RunID, "/sessions/" + run.SessionID}
	}
	for _, address := range addresses {
		if address != "" {
			p.load(address)
			p.until(address, func() bool {
				return p.read(`document.querySelector("h1") ? "yes" : ""`) == "yes" && !strings.Contains(p.shown(), "Connecting")
			})
		}
		p.eval("(() => {" + source + "\nglobalThis.axe = axe ?? globalThis.axe; return '' })()")
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{360, 1280} {
				if address != "" && (theme == "dark") == (width == 360) {
					continue
				}
				p.in(theme, width, 900)
				found, err := chromedp.Run(p.tab, chromedp.Evaluate[string](`axe.run().then(result => result.violations.filter(one => one.impact === "serious" || one.impact === "critical")
					.map(one => one.id + ": " + one.nodes.map(node => node.html.slice(0, 160) + " " + node.failureSummary).join("; ")).join("\n"))`, func(p *runtime.EvaluateParams) { p.AwaitPromise = new(true) }))
				require.NoError(t, err)
				require.Empty(t, found, "%s %s %d", address, theme, width)
				require.Equal(t, "yes", p.eval(`document.documentElement.scrollWidth <= innerWidth ? "yes" : document.documentElement.scrollWidth + " wide"`), "%s at %d", address, width)
			}
		}
	}
}

// many scrolls and filters a thousand prompts, of which the document has a few.
func (f *flows) many(t *testing.T) {
	const runs, each = 10, 100
	for n := range runs {
		var suspension api.Suspension
		for i := range each {
			request := approval("bulk", fmt.Sprintf(`{"n":%d}`, n*each+i))
			request.ID = "b-" + strconv.Itoa(i)
			suspension.Approvals = append(suspension.Approvals, request)
		}
		_, err := f.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "bulk-" + strconv.Itoa(n), Input: "go", Suspend: &suspension})
		require.NoError(t, err)
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
	require.Contains(t, p.eval("location.search"), "q=")
}

// reason is the field for the reason of a denial; on a phone a button shows it.
func (f *flows) reason(item *element) *element {
	if f.phone {
		item.find("button", "Write a reason…").click()
	}
	return item.find("textbox", "Reason (optional)")
}

// action presses a button of a prompt that stands in a menu on a phone.
func (f *flows) action(item *element, name string) {
	if f.phone {
		item.find("button", "More actions").click()
	}
	item.find("button", name).click()
}

// searching is the field that filters; on a phone a button shows it.
func (f *flows) searching(p *page) *element {
	if f.phone {
		p.find("button", "Search").click()
	}
	return p.find("searchbox", "Filter")
}
