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

// pastRows are the rows of the history as lines of text.
const pastRows = `[...document.querySelectorAll(".day a.row")].map(one => one.innerText.replace(/\s+/g, " ")).join("\n")`

// history searches decisions by words, shows one of them whole, and writes what is filtered as CSV.
func (f *flows) history(t *testing.T) {
	for i, call := range []string{`{"command":"make history-one"}`, `{"command":"make history-two"}`, `{"command":"=history-three"}`} {
		request := approval("bash", call)
		request.Reason = "past reason " + strconv.Itoa(i)
		run := f.ask(t, one(request))
		decision := rig.Deny(request.ID)
		if i == 1 {
			decision = rig.Allow(request.ID)
		}
		decision.Reason = "because " + strconv.Itoa(i)
		f.resolve(t, run.RunID, rig.Decide(decision))
	}
	p := f.open(t, "/history")
	p.until("the newest first", func() bool {
		return strings.HasPrefix(p.read(pastRows), "=history-three Denied by someone without a name by the API · “because 2”")
	})
	require.NotEmpty(t, p.all(nil, "heading", "Today"+p.read(`" " + document.querySelector(".day .n").textContent`)))
	require.Regexp(t, `^\w+day\b.* 20\d\d\b.*\d\d:\d\d:\d\d`, p.eval(`document.querySelector(".day time").title`))
	p.accessible("history")
	f.shoot(t, p, "history")

	p.find("searchbox", "Search decisions").write("HISTORY-two because")
	p.until("the one with all words", func() bool {
		return strings.Count(p.read(pastRows), "\n") == 0 && strings.HasPrefix(p.read(pastRows), "make history-two Allowed by")
	})
	p.until("its address", func() bool { return p.read("location.search") == "?q=HISTORY-two+because" })
	p.find("searchbox", "Search decisions").write("nothing of the kind")
	p.until("none", func() bool { return strings.Contains(p.shown(), "No matching decisions.") })
	p.find("searchbox", "Search decisions").write("make history-")
	p.until("two", func() bool { return strings.Count(p.read(pastRows), "\n") == 1 })

	p.eval(`(URL.createObjectURL = (make => blob => { globalThis.written = blob; return make(blob); })(URL.createObjectURL), "")`)
	p.find("button", "Download CSV").click()
	p.until("the file", func() bool { return p.read(`globalThis.written ? "yes" : ""`) == "yes" })
	rows, err := csv.NewReader(strings.NewReader(p.await("written.text()"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, []string{"time", "outcome", "decided_by", "way", "reason"}, rows[0][:5])
	require.Equal(t, []string{"allowed", "user:local", "by the API", "because 1", "approval", "bash", "Run a command with bash: make history-two"}, rows[1][1:8])

	// The rows are walked with the keys of the inbox; Back returns from an opened one on a phone.
	p.eval(`(document.querySelector(".days a.row").focus(), "")`)
	p.press("j")
	p.until("the second has the focus", func() bool { return strings.Contains(p.read("document.activeElement.innerText"), "history-one") })
	if f.phone {
		p.press("\r")
	}
	p.until("its request", func() bool {
		return strings.Contains(p.read(`document.getElementById("detail")?.innerText ?? ""`), "past reason 0")
	})
	require.Contains(t, p.read(`document.querySelector("#detail .bar").innerText`), "Denied by someone without a name by the API")
	p.accessible("history, open")
	f.shoot(t, p, "history-open")
	if f.phone {
		p.find("button", "‹ History").click()
		p.until("the list", func() bool { return p.read(`document.querySelector(".has-detail") ? "" : "yes"`) == "yes" })
		require.Equal(t, "?q=make+history-", p.eval("location.search"))
	}
	p.find("link", "Inbox"+p.read(`(count => count ? " " + count.textContent : "")(document.querySelector(".count"))`)).click()
	p.until("the inbox", func() bool { return p.read("location.pathname") == "/" })
	require.NotContains(t, p.eval("location.search"), "prompt=", "a past request does not follow into the inbox")
}

// recorded shows what was answered, and the input that was allowed, and not what a form or a call began with.
func (f *flows) recorded(t *testing.T) {
	const schema = `{"type":"object","properties":{"amount":{"type":"integer","title":"Amount","default":100}}}`
	answer := func(run *client.CreatedRun, resolution api.UserQuestionResolution) {
		t.Helper()
		resolution.RequestID = run.PendingQuestions[0].ID
		_, err := f.client.AnswerRunQuestion(t.Context(), run.RunID, client.AnswerQuestionParams{Resolution: resolution})
		require.NoError(t, err)
	}
	opened := func(p *page) string { return p.read(`document.getElementById("detail")?.innerText ?? ""`) }
	values := func(p *page) string {
		return p.read(`[...document.querySelectorAll("#detail input, #detail textarea")].map(one => one.value).join()`)
	}
	past := f.askForm(t, "How much?", schema)
	answer(past, api.UserQuestionResolution{Value: api.JSON(`{"amount":5}`)})
	p := f.open(t, "/history?prompt="+past.PendingQuestions[0].Handle)
	p.until("the answer", func() bool { return strings.Contains(opened(p), "Recorded answer") })
	require.Regexp(t, `Amount\s+5\b`, opened(p))
	require.Empty(t, values(p), "the default is not shown as an answer")

	// In the page that has it open, the fields stay, without what they began with.
	live := f.askForm(t, "How much now?", schema)
	p = f.open(t, "/")
	item := p.prompt("How much now?")
	item.find("spinbutton", "Amount")
	require.Equal(t, "100", values(p))
	answer(live, api.UserQuestionResolution{Value: api.JSON(`{"amount":5}`)})
	p.until("the answer", func() bool { return strings.Contains(opened(p), "Recorded answer") })
	require.Empty(t, values(p))

	chosen := f.ask(t, api.Suspension{Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: []api.UserQuestion{
		{ID: "route", Header: "Route", Question: "Which way?", AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "n", Label: "North"}, {ID: "s", Label: "South"}}},
	}}}})
	answer(chosen, api.UserQuestionResolution{Answers: []api.UserQuestionAnswer{{QuestionID: "route", SelectedOptionIDs: []string{"s"}, FreeformAnswer: "until Friday"}}})
	p.load("/?prompt=" + chosen.PendingQuestions[0].Handle)
	p.until("the answer", func() bool { return strings.Contains(opened(p), "Recorded answer") })
	require.Regexp(t, `(?s)Which way\?\s+South\s+“until Friday”\s+Not chosen: North`, opened(p))

	edited := f.ask(t, one(approval("edited", `{"command":"rm -rf build"}`)))
	allowed := rig.Allow("a-edited")
	allowed.UpdatedInput = api.JSON(`{"command":"rm -rf build/tmp"}`)
	f.resolve(t, edited.RunID, rig.Decide(allowed))
	p.load("/history?prompt=" + edited.PendingApprovals[0].Handle)
	p.until("what was allowed", func() bool { return strings.Contains(opened(p), "What was allowed") })
	require.Contains(t, opened(p), `+   "command": "rm -rf build/tmp"`)
	require.Contains(t, opened(p), `-   "command": "rm -rf build"`)

	// A large one is compared when somebody asks for it.
	large := f.ask(t, one(approval("large", `{"content":"`+strings.Repeat("asked ", 2_000)+`"}`)))
	allowed = rig.Allow("a-large")
	allowed.UpdatedInput = api.JSON(`{"content":"` + strings.Repeat("given ", 2_000) + `"}`)
	f.resolve(t, large.RunID, rig.Decide(allowed))
	p.load("/history?prompt=" + large.PendingApprovals[0].Handle)
	p.until("what was allowed", func() bool { return strings.Contains(opened(p), "What was allowed") })
	require.NotContains(t, opened(p), "given given")
	p.eval(`([...document.querySelectorAll('[aria-label="Allowed with changes"] button')].find(one => one.innerText === "Show all").click(), "")`)
	p.until("all of it", func() bool { return strings.Contains(opened(p), "given given") })

	// A link to one that is still open says so, and shows what becomes of it.
	open := f.askForm(t, "How much later?", schema)
	p.load("/history?prompt=" + open.PendingQuestions[0].Handle)
	p.until("where it is decided", func() bool { return strings.Contains(opened(p), "This request is still pending.") })
	require.Equal(t, "/?prompt="+open.PendingQuestions[0].Handle, p.eval(`document.querySelector("#detail .empty a").getAttribute("href")`))
	p.accessible("history, of an open request")
	answer(open, api.UserQuestionResolution{Value: api.JSON(`{"amount":6}`)})
	p.until("the answer", func() bool { return strings.Contains(opened(p), "Recorded answer") })
}

// session shows the page of a session: its input, and its log as a conversation.
func (f *flows) session(t *testing.T) {
	suspension := one(approval("bash", `{"command":"make told"}`))
	run, err := f.client.CreateRun(t.Context(), client.CreateRunParams{
		SessionID: "told", AgentID: "coder", Input: "Fix the build and tell me what was wrong.", Suspend: &suspension,
		Session: &api.SessionAbout{Label: "Fix the build", Origin: &api.SessionOrigin{Project: "shop", Directory: "~/src/shop", Host: "ada-laptop"}},
	})
	require.NoError(t, err)
	denied := rig.Deny(run.PendingApprovals[0].ID)
	denied.Reason = "not before lunch"
	f.resolve(t, run.RunID, rig.Decide(denied))
	next := f.create(t, client.CreateRunParams{SessionID: "told", Input: "Then only look."})
	newest, err := f.client.CreateRun(t.Context(), client.CreateRunParams{SessionID: "told", Input: "At last, say it."})
	require.NoError(t, err)
	_, err = f.client.CancelRun(t.Context(), run.RunID, "enough")
	require.NoError(t, err)

	p := f.open(t, "/sessions/told")
	p.find("heading", "Fix the build")
	list := p.find("list", "Conversation")
	p.until("what happened", func() bool {
		text := strings.Join(strings.Fields(list.text()), " ")
		return strings.Contains(text, "Fix the build and tell me what was wrong.") && strings.Contains(text, "make told Denied by someone without a name by the API · “not before lunch”") &&
			strings.Contains(text, "Cancelled enough") && strings.Contains(text, "At last, say it.")
	})
	require.NotContains(t, list.text(), run.RunID)
	require.Contains(t, list.text(), "Input of the run, shown above")
	require.Equal(t, 1, strings.Count(p.shown(), "Then only look."), "an input stands once")
	require.Equal(t, "true", p.eval(`String([...document.querySelectorAll("time")].every(one => /\b20\d\d\b.*:\d\d:\d\d/.test(one.title)))`), "a short time has the whole one as its title")
	require.Equal(t, "Then only look.", p.eval(`document.querySelector(".task").textContent`), "the run that is next, and not the newest")
	require.Equal(t, "1,1", p.eval(`(() => {
		const list = document.querySelector(".conversation"), begins = new Set([...list.querySelectorAll(".what")].map(one => Math.round(one.getBoundingClientRect().left)));
		for (const line of list.querySelectorAll(".line-of")) {
			const range = document.createRange();
			range.selectNodeContents([...line.childNodes].find(node => node.nodeType === 3 && node.data.trim()));
			begins.add(Math.round(range.getBoundingClientRect().left));
		}
		return [begins.size, new Set([...list.querySelectorAll("time")].map(one => Math.round(one.getBoundingClientRect().right))).size].join();
	})()`), "lines begin and end where rows do")
	p.accessible("a session")
	f.shoot(t, p, "session")

	// A log of more bytes than a page of the service: its newest events are there, and its first on demand.
	claim, err := f.client.ClaimRun(t.Context(), next.RunID, api.ClaimOptions{WorkerID: "w"})
	require.NoError(t, err)
	for n := range 10 {
		events := make([]api.JSON, 30)
		for i := range events {
			events[i] = api.JSON(fmt.Sprintf(`{"type":"output","output":{"content":"said %d %s"}}`, n*len(events)+i, strings.Repeat("on and ", 4000)))
		}
		_, err = f.client.AppendEvents(t.Context(), next.RunID, claim.Lease.Fence, events)
		require.NoError(t, err)
	}
	said := func(what string) func() bool {
		return func() bool {
			return p.read(`[...document.querySelectorAll(".conversation .output blockquote")].some(one => one.textContent.startsWith(`+quoted(what+" ")+`)) ? "yes" : ""`) == "yes"
		}
	}
	p.until("the newest, as they come", said("said 299"))
	p.load("/sessions/told")
	p.until("the newest, on their own", said("said 299"))
	require.False(t, said("said 0")())
	// Finding elements by role takes seconds with a text this long.
	const earlier = `[...document.querySelectorAll("button")].find(one => one.textContent === "Earlier")`
	p.calm()
	p.eval("(" + earlier + `.click(), "")`)
	p.until("the first", said("said 0"))
	require.True(t, said("said 299")())
	p.until("there are no others", func() bool { return p.read("String("+earlier+")") == "undefined" })
	for _, run := range []string{newest.RunID, next.RunID} {
		f.cancel(t, run)
	}
	p.until("the end", func() bool {
		return p.read(`String(document.querySelector(".conversation").innerText.split("Cancelled").length - 1)`) == "3"
	})
}
