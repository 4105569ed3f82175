package watch

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

func screenOf(requests ...api.ApprovalRequest) *screen {
	s := &screen{now: func() time.Time { return time.UnixMilli(10_000) }, width: 100, height: 24}
	inbox := &api.InboxView{}
	for _, request := range requests {
		inbox.PendingApprovals = append(inbox.PendingApprovals, api.PendingApprovalView{SessionID: "s", RunID: "r", Request: request})
	}
	s.take(&client.StreamEvent{Inbox: inbox})
	return s
}

func asked(id, input string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, Handle: "h-" + id, ToolName: "bash", Input: api.JSON(input), CreatedAtMs: 7_000}
}

// reads shows the screen for as long as the end of a text must stand on it.
func reads(s *screen) {
	s.text()
	at := s.now().Add(endInView)
	s.now = func() time.Time { return at }
}

// A key acts on the selected request or on none, never on one that has taken its place.
func TestAKeyNeverActsOnAnotherRequest(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"ls"}`), asked("a2", `{"command":"rm -rf /"}`))
	require.Nil(t, s.press("a"), "nothing is chosen at first")
	s.press("j")
	require.Equal(t, "h-a1", s.chosen)
	reads(s)
	require.NotNil(t, s.press("a"))

	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"a1","outcome":"denied","resolved_by":"ada","via":"api:inbox"}]}`)}})
	require.Nil(t, s.press("a"))
	require.Empty(t, s.chosen)
	require.Len(t, s.items, 1)

	// A request inserted before the selected one does not move the selection, either.
	s.press("j")
	require.Equal(t, "h-a2", s.chosen)
	entry := &api.RunEventEntry{SessionID: "s", RunID: "r2", Event: api.JSON(
		`{"type":"waiting_for_approval","requests":[{"id":"a3","handle":"h-a3","tool_call_id":"c","tool_name":"bash","input":1}]}`)}
	s.take(&client.StreamEvent{Event: entry})
	s.take(&client.StreamEvent{Event: entry}) // an event may come twice
	require.Len(t, s.items, 2)
	require.Equal(t, "h-a2", s.chosen)

	// A snapshot without it clears the selection.
	s.take(&client.StreamEvent{Inbox: &api.InboxView{}})
	require.Empty(t, s.chosen)
	require.Contains(t, s.text(), "Nothing waits for you.")
}

// Lines for which a low terminal has no room do not count as read.
func TestALineBelowTheScreenIsNotRead(t *testing.T) {
	t.Parallel()
	for height := 6; height <= 30; height++ {
		s := screenOf(asked("a1", `{"command":"ls","a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}`), asked("a2", `{"command":"ls"}`))
		s.height, s.note = height, "a note"
		s.press("j")
		s.note = "a note"
		lines := strings.Split(s.text(), "\n")
		onScreen := strings.Join(lines[:min(height, len(lines))], "\n")
		reads(s)
		s.noteRead()
		require.NotZero(t, s.read[s.current().key()])
		for _, line := range s.lines()[:s.read[s.current().key()]] {
			require.Contains(t, onScreen, line, "%d", height)
		}
	}
}

// A note stands before the request and, once that is selected, below it in full. It takes no line of the text.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"ls"}`), asked("a2", `{"command":"pwd"}`))
	require.NotNil(t, s.readNotes())
	require.Nil(t, s.readNotes(), "it has just asked")
	_, _ = s.Update(noted{
		"h-a1": {Text: "No worker has asked\x1b[2J for runs.", NoWorkerSinceMs: 1}, "h-a2": {Text: "Next: ada, in 5 min."}, "gone": nil,
	})
	require.Contains(t, s.text(), "(no worker) bash: ls")
	require.NotContains(t, s.text(), "Next: ada")
	s.press("j")
	require.Contains(t, s.text(), "No worker has asked")
	require.NotContains(t, s.text(), "\x1b[2J")
	s.press("j")
	require.Contains(t, s.text(), "Next: ada, in 5 min.")
	require.NotContains(t, s.text(), "(no worker) bash: pwd")
	_, _ = s.Update(noted{})
	require.NotContains(t, s.text(), "Next: ada")
	for height := 6; height <= 30; height++ {
		s := screenOf(asked("a1", `{"command":"ls","a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}`))
		s.height, s.notes = height, noted{"h-a1": {Text: "A note."}}
		s.press("j")
		lines := strings.Split(s.text(), "\n")
		onScreen := strings.Join(lines[:min(height, len(lines))], "\n")
		reads(s)
		s.noteRead()
		require.NotZero(t, s.read[s.current().key()])
		for _, line := range s.lines()[:s.read[s.current().key()]] {
			require.Contains(t, onScreen, line, "%d", height)
		}
	}
}

// What the agent adds to its call stands above the input, and a search finds it.
func TestTheWordsAndHintsOfTheAgentAreShown(t *testing.T) {
	t.Parallel()
	request := asked("a1", `{"command":"npm publish"}`)
	request.Reason, request.Hints, request.ExcludeRequester = "release\n1.2", []api.Hint{{Level: api.HintDanger, Text: "customers see it"}}, true
	s := screenOf(request, asked("a2", `{"command":"ls"}`))
	s.press("j")
	require.Equal(t, []string{
		"action: Run a command", "reason: release⟨LF⟩1.2", "hints: danger: customers see it", "someone else must allow it: yes", "command: npm publish",
	}, s.lines())
	s.filter = "customers"
	require.Len(t, s.shown(), 1)
}

func TestTheParentOfAChildIsShown(t *testing.T) {
	t.Parallel()
	s := screenOf()
	s.take(&client.StreamEvent{Inbox: &api.InboxView{PendingApprovals: []api.PendingApprovalView{
		{SessionID: "kid", ParentSessionID: "top", RunID: "r", Request: asked("a1", `{}`)},
	}}})
	require.Contains(t, s.text(), "kid (child of top)")
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "kid2", RunID: "r2", Event: api.JSON(
		`{"type":"waiting_for_approval","parent_session_id":"top","requests":[{"id":"a3","handle":"h-a3","tool_call_id":"c","tool_name":"bash","input":1}]}`)}})
	require.Contains(t, s.text(), "kid2 (child of top)")
}

// A command of several lines is shown as the lines that will run.
func TestACommandIsShownAsLines(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"cd /srv\n# \u0430pple\r\nrm -rf build/\u202e `+strings.Repeat("x", 90)+`","timeout":5}`))
	s.press("j")
	require.Equal(t, []string{
		"action: Run a command", "command:", "│ cd /srv", "│ # ⟨а U+0430⟩pple⟨CR⟩", "│ rm -rf build/⟨U+202E⟩ " + strings.Repeat("x", 75), "┆ " + strings.Repeat("x", 15),
		"other input:", "{", `  "timeout": 5`, "}",
	}, s.lines())
}

func TestScreenShowsWhatImitatesAsWhatItIs(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"ls\u001b[2J\u202e","then":1}`))
	s.press("down")
	s.press("enter")
	text := s.text()
	require.Contains(t, text, "> bash: ls")
	require.NotContains(t, text, "a1", "no id of a request")
	require.Contains(t, text, "bash: ls⟨ESC⟩[2J⟨U+202E⟩")
	require.Contains(t, text, `"then": 1`)
	require.NotContains(t, text, "\x1b")
	require.LessOrEqual(t, strings.Count(text, "\n"), s.height)
}

// After this person's decision the next request is selected in the same place, and keys that decide wait.
func TestThePlaceIsKeptAfterADecision(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"one"}`), asked("a2", `{"command":"two"}`), asked("a3", `{"command":"three"}`))
	now := time.UnixMilli(10_000)
	s.now = func() time.Time { return now }
	s.press("j")
	s.press("j")
	require.Contains(t, s.text(), "2 of 3 requests")
	require.NotNil(t, s.press("d"))
	s.Update(decided{handle: "h-a2", what: "denied"})
	require.Equal(t, "h-a2", s.chosen, "until the list is without it")
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"a2","outcome":"denied","resolved_by":"ada","via":"api:cli"}]}`)}})
	require.Equal(t, "h-a3", s.chosen)
	s.text()
	require.Nil(t, s.press("d"), "a second press does not reach it")
	for range 40 {
		now = now.Add(30 * time.Millisecond)
		require.Nil(t, s.press("d"), "nor does a key that is held down")
	}
	now = now.Add(holdAfter)
	require.NotNil(t, s.press("d"))
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"a3","outcome":"denied","resolved_by":"ada","via":"api:cli"}]}`)}})
	require.Empty(t, s.chosen, "the stream may be faster than the reply")
	s.Update(decided{handle: "h-a3", what: "denied"})
	require.Equal(t, "h-a1", s.chosen)

	// Somebody else's decision selects nothing, and the next move begins where it was.
	s = screenOf(asked("a1", `1`), asked("a2", `2`), asked("a3", `3`))
	s.press("j")
	s.press("j")
	s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
		`{"type":"approval_resolved","resolutions":[{"request_id":"a2","outcome":"allowed","resolved_by":"ben","via":"api:inbox"}]}`)}})
	require.Empty(t, s.chosen)
	require.Contains(t, s.text(), "allowed by ben")
	s.press("j")
	require.Equal(t, "h-a3", s.chosen)
}

// A question is answered by the number of an option and enter; every other key takes that back.
func TestAQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	s := screenOf()
	options := []api.QuestionOption{{ID: "s", Label: "Staging"}, {ID: "p", Label: "Production", Description: "Live"}, {ID: "old", Label: "Server"}, {ID: "new", Label: "Server"}}
	s.take(&client.StreamEvent{Inbox: &api.InboxView{PendingQuestions: []api.PendingQuestionView{
		{SessionID: "s", AgentID: "deployer", RunID: "r", Request: api.UserQuestionRequest{ID: "q", Handle: "h-q", Questions: []api.UserQuestion{{ID: "db", Question: "Which database?", Options: options}}}},
		{SessionID: "s", RunID: "r2", Request: api.UserQuestionRequest{ID: "q", Handle: "h-q2", Questions: []api.UserQuestion{{ID: "why", Question: "Why?"}}}},
		{SessionID: "s", RunID: "r3", Request: api.UserQuestionRequest{ID: "q", Handle: "h-q3", Payload: api.JSON(`{"question":"Pay?","amount":5000}`), ResponseSchema: api.JSON(`{"type":"boolean"}`)}},
		{SessionID: "s", RunID: "r4", Request: api.UserQuestionRequest{ID: "q", Handle: "h-q4", Payload: api.JSON(`{"question":"How many?"}`), ResponseSchema: api.JSON(`{"type":"integer"}`)}},
	}}})
	s.press("j")
	require.Contains(t, s.text(), "2  Production — Live")
	require.Contains(t, s.text(), "4  Server (new)")
	require.Nil(t, s.press("a"), "it takes one of its options")
	require.Nil(t, s.press("9"))
	require.Nil(t, s.press("2"))
	require.Contains(t, s.text(), "enter answers: Production — Live")
	s.press("j")
	require.Nil(t, s.press("enter"), "another request is selected")
	require.Nil(t, s.press("1"))
	require.Contains(t, s.text(), "a answers; d declines")
	require.NotNil(t, s.press("a"))
	_, command := s.Update(answered{one: s.current(), resolution: api.UserQuestionResolution{RequestID: "q"}})
	require.NotNil(t, command)
	_, command = s.Update(answered{one: s.current(), err: console.ErrNoMoreInput})
	require.Nil(t, command, "nothing is sent without an answer")
	s.press("k")
	require.Nil(t, s.press("2"))
	require.NotNil(t, s.press("enter"))
	require.NotNil(t, s.press("d"))

	// What a typed question says in its payload is shown, once.
	s.press("j")
	s.press("j")
	require.Contains(t, s.text(), `"amount": 5000`)
	s.press("j")
	require.Contains(t, s.text(), "How many?")
	require.NotContains(t, s.text(), `"question"`)
}

// A digit means the number that is shown, even if it is the id of another option.
func TestADigitIsTheNumberShown(t *testing.T) {
	t.Parallel()
	s := screenOf()
	s.take(&client.StreamEvent{Inbox: &api.InboxView{PendingQuestions: []api.PendingQuestionView{
		{SessionID: "s", RunID: "r", Request: api.UserQuestionRequest{ID: "q", Handle: "h-q", Questions: []api.UserQuestion{
			{ID: "go", Question: "Go?", Options: []api.QuestionOption{{ID: "0", Label: "Yes"}, {ID: "1", Label: "No"}}},
		}}},
	}}})
	s.press("j")
	require.Contains(t, s.text(), "1  Yes")
	require.Nil(t, s.press("1"))
	require.Contains(t, s.text(), "enter answers: Yes")
	require.Equal(t, "0", s.picked.ID)
}

func TestASearchAndTheKeys(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{"command":"make"}`), asked("a2", `{"command":"rm -rf build"}`))
	s.press("j")
	s.press("/")
	for _, key := range []string{"r", "m", "space", "b", "d", "backspace", "u"} {
		require.Nil(t, s.press(key), "no key decides while a word is typed")
	}
	require.Empty(t, s.chosen, "the selected one does not fit")
	require.Contains(t, s.text(), `1 request with "rm bu"`)
	require.NotContains(t, s.text(), "bash: make")
	s.press("enter")
	s.press("j")
	require.Equal(t, "h-a2", s.chosen)
	s.press("esc")
	require.Contains(t, s.text(), "2 of 2 requests")
	s.press("?")
	require.Contains(t, s.text(), "deny")
	require.Nil(t, s.press("d"), "the first key leaves the help")
	require.NotContains(t, s.text(), "previous request")
}

// The most urgent request is first, named by its label or project and with the time that is left.
func TestRowsSayWhoWhereAndHowLong(t *testing.T) {
	t.Parallel()
	s := screenOf()
	urgent := asked("a2", `{"command":"urgent"}`)
	urgent.ExpiresAtMs = new(int64(10_000 + 240_000))
	kept := asked("a3", `{"command":"kept"}`)
	kept.ExpiresAtMs, kept.Escalation = new(int64(10_000+120_000)), &api.Escalation{AtDeadline: api.DeadlineKeep}
	s.take(&client.StreamEvent{Inbox: &api.InboxView{PendingApprovals: []api.PendingApprovalView{
		{SessionID: "session-0123456789", AgentID: "coder", RunID: "r", Request: asked("a1", `{"command":"calm"}`), Session: &api.SessionAbout{Origin: &api.SessionOrigin{Project: "shop"}}},
		{SessionID: "other", AgentID: "coder", RunID: "r", Request: urgent, Session: &api.SessionAbout{Label: "Nightly"}},
		{SessionID: "other", AgentID: "coder", RunID: "r", Request: kept, Session: &api.SessionAbout{Label: "Nightly"}},
	}}})
	lines := strings.Split(s.text(), "\n")
	require.Equal(t, []string{"WHAT", "AGENT", "WHERE", "LEFT", "AGE"}, strings.Fields(lines[2]))
	require.Equal(t, []string{"bash:", "urgent", "coder", "Nightly", "4m", "3s"}, strings.Fields(lines[3]))
	require.Equal(t, []string{"bash:", "calm", "coder", "shop", "3s"}, strings.Fields(lines[4]))
	require.Equal(t, []string{"bash:", "kept", "coder", "Nightly", "3s"}, strings.Fields(lines[5]), "it stays open after its deadline")
}

// The list stays where it is when somebody else decides the selected request, also after the next event.
func TestThePlaceIsKept(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{}`), asked("a2", `{}`), asked("a3", `{}`), asked("a4", `{}`))
	for range 3 {
		s.press("j")
	}
	require.Equal(t, "h-a3", s.chosen)
	settle := func(id string) {
		s.take(&client.StreamEvent{Event: &api.RunEventEntry{SessionID: "s", RunID: "r", Event: api.JSON(
			`{"type":"approval_resolved","resolutions":[{"request_id":"` + id + `","outcome":"denied","resolved_by":"ada","via":"api:inbox"}]}`)}})
	}
	settle("a3")
	require.Empty(t, s.chosen)
	settle("gone")
	s.press("j")
	require.Equal(t, "h-a4", s.chosen)
}

// A lost connection is shown until there is a list again.
func TestALostConnectionIsShown(t *testing.T) {
	t.Parallel()
	s := screenOf(asked("a1", `{}`))
	require.NotContains(t, s.text(), "connecting…")
	s.take(&client.StreamEvent{Gap: "lost"})
	require.Contains(t, s.text(), "connecting…")
	s.take(&client.StreamEvent{Inbox: &api.InboxView{}})
	require.NotContains(t, s.text(), "connecting…")
}
