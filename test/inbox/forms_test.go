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
)

// formSchema is a form as MCP servers and models of Pydantic write it.
const formSchema = `{"type":"object","required":["colour","tags","agreed"],"properties":{
	"colour":{"type":"string","title":"Colour","description":"of the flag","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]},
	"tags":{"type":"array","title":"Tags","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string","enum":["urgent","later","never"]}},
	"level":{"$ref":"#/$defs/Level"},
	"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Note"},
	"due":{"type":"string","format":"date","title":"Due","description":"the last day"},
	"agreed":{"type":"boolean","title":"Agreed"},
	"urgent":{"type":"boolean","title":"Urgent","description":"wakes people up"},
	"account":{"type":"integer","title":"Account","minimum":1},
	"speed":{"title":"Speed","oneOf":[{"const":1,"title":"Slow","description":"by ship"},{"const":2,"title":"Fast","description":"by air"}]},
	"address":{"title":"Address","type":"object","required":["city"],"properties":{"city":{"type":"string","title":"City"},"lines":{"title":"Lines","type":"array","items":{"type":"string"}}}}},
	"$defs":{"Level":{"title":"Level","type":"string","enum":["low","high"]}}}`

func (f *flows) askForm(t *testing.T, question, schema string) *client.CreatedRun {
	t.Helper()
	return f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Payload: api.JSON(`{"question":"` + question + `"}`), ResponseSchema: api.JSON(schema)}}})
}

func (f *flows) answered(t *testing.T, run *client.CreatedRun) string {
	t.Helper()
	view := f.request(t, run.PendingQuestions[0].Handle)
	require.NotNil(t, view.Resolution)
	return string(view.Resolution.Value)
}

// forms fills in a form. Possible answers are shown and selected, and empty fields are omitted.
func (f *flows) forms(t *testing.T) {
	p := f.open(t, "/")
	run := f.askForm(t, "Fill in", formSchema)
	item := p.prompt("Fill in")
	for _, text := range []string{"of the flag", "the last day", "required, 1 to 2 choices", "a whole number, at least 1", "by ship", "one a line"} {
		require.Contains(t, item.text(), text)
	}
	send := item.find("button", "Answer")
	require.True(t, send.disabled())
	require.Equal(t, "true", item.find("combobox", "Colour").call("function() { return this.required }", nil))
	item.find("combobox", "Colour").choose("Green")
	p.until("what is still needed", func() bool { return strings.Contains(item.text(), "Still needed: Tags") })
	tags := item.find("group", "Tags")
	for _, name := range []string{"urgent", "later", "never"} {
		tags.find("checkbox", name).click()
	}
	p.until("three are too many", func() bool { return strings.Contains(item.text(), "must have at most 2 items") })
	tags.find("checkbox", "urgent").click()
	urgent := item.find("radiogroup", "Urgent")
	urgent.find("radio", "No").click()
	urgent.find("radio", "No").click() // clears the selection
	p.until("nothing is chosen", func() bool { return len(p.all(item, "button", "Clear")) == 0 })
	item.find("radiogroup", "Speed").find("radio", "Fast").click()
	item.find("spinbutton", "Account").write("9007199254740993")
	item.find("group", "Address").find("textbox", "Lines").write("1 Main Street\n\nBack yard")
	p.until("an address needs its city", func() bool { return strings.Contains(item.text(), "Still needed: City") && send.disabled() })
	item.find("textbox", "City").write("Rome")
	p.until("complete", func() bool { return !send.disabled() })
	f.shoot(t, p, "form")
	p.accessible("a form")
	p.load("/")
	item = p.prompt("Fill in")
	item.find("checkbox", "Agreed").click()
	item.find("button", "Answer").click()
	item.status("Answered by you")
	require.Equal(t, `{"colour":"#0f0","tags":["later","never"],"agreed":true,"account":9007199254740993,"speed":2,"address":{"city":"Rome","lines":["1 Main Street","Back yard"]}}`, f.answered(t, run))

	// The question is settled while it is being answered: the text stays and is not sent.
	run = f.askForm(t, "Taken away", `{"type":"object","properties":{"why":{"type":"string","title":"Why"}}}`)
	item = p.prompt("Taken away")
	item.find("textbox", "Why").write("because")
	f.cancel(t, run.RunID)
	item.status("Your answer was not sent")
	why := item.find("textbox", "Why")
	require.Equal(t, `"because"`, why.call("function() { return this.value }", nil))
	require.Equal(t, "true", why.call("function() { return this.readOnly }", nil))

	// A hostile form: marks of hidden characters, no markup, a pattern that would stall, a circle.
	f.askForm(t, "Hostile form", `{"type":"object","properties":{"a":{"type":"string","title":"<b>bold\u202e","description":"`+strings.Repeat("long ", 400)+`"},"b":{"type":"string","title":"Slow","pattern":"^(a+)+$"},"c":{"$ref":"#/properties/c"},
		"d":{"title":"Many","enum":["`+strings.Repeat("x", 300)+`","y"]}}}`)
	item = p.prompt("Hostile form")
	item.find("textbox", "Slow").write(strings.Repeat("a", 60) + "!")
	p.until("it is shown", func() bool {
		return strings.Contains(item.text(), "<b>bold") && strings.Contains(item.text(), "U+202E") && !item.find("button", "Answer").disabled()
	})
	require.Equal(t, "yes", p.eval(`document.documentElement.scrollWidth <= innerWidth ? "yes" : "wide"`))
	f.shoot(t, p, "form-hostile")
	item.find("button", "Decline").click()
	item.status("Declined by you")

	// The service says each fault, once. The form and its buttons stay in view.
	fields := make([]string, 20)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"f%d":{"type":"string","pattern":"^x$","default":"%s"}`, i, strings.Repeat("y", 300))
	}
	f.askForm(t, "Refused", `{"type":"object","properties":{`+strings.Join(fields, ",")+`}}`)
	item = p.prompt("Refused")
	item.find("button", "Answer").click()
	p.until("what is wrong", func() bool {
		return p.read(`String((document.querySelector(".bar .error")?.textContent ?? "").split("does not match pattern").length - 1)`) == "20"
	})
	require.Equal(t, "yes", p.eval(`(() => {
		const bar = document.querySelector(".bar").getBoundingClientRect();
		return bar.bottom <= innerHeight + 1 && bar.height < innerHeight / 2 ? "yes" : JSON.stringify(bar);
	})()`))
	item.find("button", "Decline").click()
	item.status("Declined by you")

	// Names that every object of JavaScript has are names like others, also in a draft that is read again.
	run = f.askForm(t, "Named like objects", `{"type":"object","properties":{"constructor":{"type":"boolean","title":"Sure"},"__proto__":{"title":"Which","enum":["first","second"]},
		"toString":{"title":"Either","anyOf":[{"type":"string"},{"type":"integer"}]},"valueOf":{"type":"string","title":"Words","format":"constructor"}}}`)
	item = p.prompt("Named like objects")
	item.find("textbox", "Words").write("typed")
	p.load("/")
	item = p.prompt("Named like objects")
	require.Equal(t, `"typed"`, item.find("textbox", "Words").call("function() { return this.value }", nil))
	item.find("combobox", "Which").choose("second")
	next := f.askForm(t, "The next one", `{"type":"string"}`)
	p.row("The next one")
	p.until("it can be sent", func() bool { return !item.find("button", "Answer").disabled() })
	item.find("button", "Answer").click()
	item.status("Answered by you")
	require.JSONEq(t, `{"valueOf":"typed","__proto__":"second"}`, f.answered(t, run))
	f.cancel(t, next.RunID)
}

// labels shows where an agent works, what it remarks, as its words, and what a rule remarks, for a prompt that arrives while
// the page is open.
func (f *flows) labels(t *testing.T) {
	p := f.open(t, "/")
	request := approval("labelled", `{"command":"rm -rf dist"}`)
	request.Hints = []api.Hint{{Level: api.HintInfo, Text: "once"}, {Level: api.HintDanger, Text: "deletes <b>files</b>\u202e"}}
	suspension := one(request)
	f.asked++
	_, err := f.client.AddRule(t.Context(), client.AddRuleParams{
		ToolName: "labelled", Match: api.RuleMatch{AnyInput: true}, Effect: api.RuleHint, Hint: &api.Hint{Level: api.HintWarn, Text: "look twice"},
	})
	require.NoError(t, err)
	_, err = f.client.CreateRun(t.Context(), client.CreateRunParams{
		SessionID: "s-" + strconv.Itoa(f.asked), AgentID: "coder", Input: "go", Suspend: &suspension,
		Session: &api.SessionAbout{Label: "Nightly", Origin: &api.SessionOrigin{Project: "sh\u200bop", Directory: "~/src/shop", Host: "ada"}},
	})
	require.NoError(t, err)
	p.row("labelled")
	p.toList()
	p.until("the heading", func() bool { return strings.Contains(p.shown(), "shU+200Bop · coder · ada") })
	require.Contains(t, p.read(`document.querySelector('li[aria-label*="labelled"]').ariaLabel`), "Danger: Run a command")
	item := p.prompt("labelled")
	require.Contains(t, item.text(), "in ~/src/shop")
	require.Contains(t, item.text(), "Danger deletes <b>files</b>U+202E")
	require.Contains(t, item.text(), "Note once")
	require.Contains(t, item.text(), "Rule Warning look twice")
	item.find("button", "Deny").click()
	item.find("button", "Deny").click()
	item.status("Denied by you")
}

func (f *flows) questions(t *testing.T) {
	p := f.open(t, "/")
	asked := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{
		{ID: "q1", ToolCallID: "c1", Questions: []api.UserQuestion{
			{ID: "route", Header: "Route", Question: "Which route?", Options: []api.QuestionOption{{ID: "n", Label: "North", Description: "longer"}, {ID: "s", Label: "South"}}},
			{ID: "extras", Header: "Extras", Question: "Which extras?", MultiSelect: true, AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "a", Label: "Tea"}, {ID: "b", Label: "Cake"}}},
		}},
		{ID: "q2", ToolCallID: "c2", Payload: api.JSON(`{"question":"How many seats?"}`), ResponseSchema: api.JSON(
			`{"type":"object","required":["seats"],"properties":{"seats":{"type":"integer","minimum":1,"title":"Seats"},"window":{"type":"boolean","title":"Window"},"class":{"title":"Class","enum":["first","second"]}}}`)},
		{ID: "q3", ToolCallID: "c3", Questions: []api.UserQuestion{{ID: "why", Header: "Why", Question: "Why?"}}},
	}})
	item := p.prompt("Route")
	route := item.find("group", "Which route?")
	send := item.find("button", "Answer")
	require.True(t, send.disabled(), "every question wants an answer")
	require.Empty(t, p.all(route, "textbox", "Your answer"), "only its options are accepted")
	route.find("radio", "South").click()
	extras := item.find("group", "Which extras?")
	// A number is of the question with the focus.
	extras.find("checkbox", "Tea").call("function() { this.focus(); return 0 }", nil)
	p.press("12")
	checked := func(of *element, role, name string) string {
		return of.find(role, name).call("function() { return this.checked }", nil)
	}
	p.until("both extras are chosen", func() bool {
		return checked(extras, "checkbox", "Tea") == "true" && checked(extras, "checkbox", "Cake") == "true"
	})
	require.Equal(t, "true", checked(route, "radio", "South"))
	extras.find("textbox", "Your answer").write("and milk")
	p.until("complete", func() bool { return !send.disabled() })
	send.click()
	item.status("Answered by you")

	typed := p.prompt("How many seats?")
	typed.find("spinbutton", "Seats").write("0")
	send = typed.find("button", "Answer")
	p.until("0 is too few", func() bool { return send.disabled() && strings.Contains(typed.text(), "must be at least 1") })
	typed.find("spinbutton", "Seats").write("2")
	typed.find("radiogroup", "Window").find("radio", "Yes").click()
	typed.find("combobox", "Class").choose("second")
	p.until("complete", func() bool { return !send.disabled() })
	send.click()
	typed.status("Answered by you")

	why := p.prompt("Why")
	why.find("button", "Decline").click()
	why.status("Declined by you")
	var values []string
	for _, question := range asked.PendingQuestions {
		view := f.request(t, question.Handle)
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

	// What was typed goes with the only option, and who declines reads that it did not go.
	only := func(header string) *client.CreatedRun {
		return f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{
			{ID: "ok", Header: header, Question: header + " now?", AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "yes", Label: "Go ahead"}}},
		}}}})
	}
	deploy := only("Deploy")
	item = p.prompt("Deploy")
	item.find("textbox", "Your answer").write(" only until Friday ")
	item.find("button", "Go ahead").click()
	item.status("Answered by you")
	view := f.request(t, deploy.PendingQuestions[0].Handle)
	require.Equal(t, []api.UserQuestionAnswer{{QuestionID: "ok", SelectedOptionIDs: []string{"yes"}, FreeformAnswer: "only until Friday"}}, view.Resolution.Answers)
	only("Release")
	item = p.prompt("Release")
	item.find("textbox", "Your answer").write("not on Friday")
	item.find("button", "Decline").click()
	item.status("Declined by you")
	item = p.prompt("Release")
	p.until("it says so", func() bool { return strings.Contains(item.text(), "Your answer was not sent") })

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

// payloads shows all that a question says: what its payload has besides the question, and the head of its form.
func (f *flows) payloads(t *testing.T) {
	p := f.open(t, "/")
	asked := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{
		{ID: "pay", ToolCallID: "c1", Payload: api.JSON(`{"question":"Pay the bill?","amount":5000}`), ResponseSchema: api.JSON(`{"type":"boolean"}`)},
		{ID: "name", ToolCallID: "c2", Payload: api.JSON(`{"message":"Name the branch"}`), ResponseSchema: api.JSON(
			`{"type":"object","title":"Branch","description":"an existing one","properties":{"name":{"type":"string","title":"Name"},"remote":{"type":"string"}}}`)},
		{ID: "way", ToolCallID: "c3", Payload: api.JSON(`{"cost":"7200 EUR"}`), Questions: []api.UserQuestion{{ID: "way", Header: "Way there", Question: "Which way?"}}},
		{ID: "long", ToolCallID: "c4", Payload: api.JSON(`{"question":"Merge it?","diff":` + quoted(strings.Repeat("long ", 1000)+"THE END") + `}`), ResponseSchema: api.JSON(`{"type":"string"}`)},
		{ID: "twice", ToolCallID: "c5", Payload: api.JSON(`{"message":"Name it twice"}`), ResponseSchema: api.JSON(`{"type":"object","title":"Name it twice","properties":{"name":{"type":"string"}}}`)},
	}})
	item := p.prompt("Pay the bill?")
	require.Contains(t, item.text(), "5000")
	p.accessible("a question with a payload")
	f.shoot(t, p, "question-payload")
	item.find("checkbox", "Your answer").click()
	item.find("button", "Answer").click()
	item.status("Answered by you")

	item = p.prompt("Name the branch")
	for _, text := range []string{"Branch", "an existing one"} {
		require.Contains(t, item.text(), text)
	}
	require.NotContains(t, item.text(), `"message"`)
	item.find("button", "Decline").click()
	item.status("Declined by you")

	item = p.prompt("Way there")
	require.Contains(t, item.text(), "7200 EUR")
	item.find("button", "Decline").click()
	item.status("Declined by you")

	item = p.prompt("Name it twice")
	item.find("textbox", "name")
	require.Equal(t, "0", item.call(`function() { return [...this.querySelectorAll(".field")].filter(one => one.innerText.trim() === "").length }`, nil), "no empty head")
	item.find("button", "Decline").click()
	item.status("Declined by you")

	item = p.prompt("Merge it?")
	require.NotContains(t, item.text(), "THE END")
	item.find("button", "Show all (5 KB)").click()
	p.until("the whole payload", func() bool { return strings.Contains(item.text(), "THE END") })
	item.find("textbox", "Your answer").write("yes")
	require.Contains(t, item.text(), "THE END")
	item.find("button", "Answer").click()
	item.status("Answered by you")

	p.load("/history?prompt=" + asked.PendingQuestions[0].Handle)
	opened := func() string { return p.read(`document.getElementById("detail")?.innerText ?? ""`) }
	p.until("the answer", func() bool { return strings.Contains(opened(), "Recorded answer") })
	require.Contains(t, opened(), "5000")
}
