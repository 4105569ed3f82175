package timbal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

func several(id string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: id, ToolCallID: "call-" + id, Questions: []api.UserQuestion{
		database("db"), {ID: "name", Question: "What name?"}, {ID: "b:c", Question: "Which ones?", MultiSelect: true, Options: database("x").Options},
	}}
}

// A request of several questions is shown one question at a time.
func testSeveralQuestions(t *testing.T, s *service) {
	w, first := s.paused(t, several("q"), approval("a"))
	require.Equal(t, []string{"START", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(first))
	record := s.record(t, w.runID)
	handle := record.Requests[0].Handle
	require.Equal(t, []string{handle + ":db", record.Requests[1].Handle}, ids(first))
	require.Equal(t, handle+":db", first[3].at("output", "suspension_id"))
	require.Equal(t, map[string]any{"question": "Which database should I use?", "options": []any{"postgres", "mysql", "sqlite"}}, first[1].at("payload"))

	second := s.show(t, resumeBody(t, w.runID, handle+":db", `"mysql"`))
	require.Equal(t, []string{handle + ":name", ids(first)[1]}, ids(second))
	require.Equal(t, map[string]any{"question": "What name?", "options": nil}, second[1].at("payload"))
	s.sameInLog(t, second)
	secondID := second[0].at("run_id").(string)

	again := s.show(t, resumeBody(t, w.runID, handle+":db", `"postgres"`))
	require.Equal(t, map[string]any{"suspension_id": handle + ":db", "status": "approval_already_claimed"}, again[1].at("output"))

	// An answer that does not do shows its question again.
	wrong := s.show(t, resumeBody(t, secondID, handle+":name", `" "`))
	require.Equal(t, ids(second), ids(wrong))
	require.Contains(t, wrong[1].at("metadata", "error"), "at least one answer")
	require.Equal(t, secondID, wrong[0].at("parent_run_id"))

	third := s.show(t, resumeBody(t, secondID, handle+":db", `"sqlite"`, handle+":name", `"main"`, ids(first)[1], `true`))
	require.Equal(t, []string{handle + ":b:c"}, ids(third))
	require.Len(t, third[2].at("metadata", "warnings"), 1, "the first answer is known to the parent")
	s.numberedAlike(t, third)
	thirdID := third[0].at("run_id").(string)
	last, claim := s.gone(t, w, resumeBody(t, thirdID, handle+":b:c", `["mysql","pg"]`))
	require.Equal(t, "success", last[1].at("status", "code"))
	s.sameInLog(t, last)
	answers := claim.Resume.Questions[0].Resolution.Answers
	require.Equal(t, []string{"my"}, answers[0].SelectedOptionIDs)
	require.Equal(t, "main", answers[1].FreeformAnswer)
	require.Equal(t, []string{"my", "pg"}, answers[2].SelectedOptionIDs)
}

// numberedAlike is sameInLog without events missing in the log: warnings, and the parent if a
// resume needed two commands.
func (s *service) numberedAlike(t *testing.T, events []*event) {
	t.Helper()
	list, _ := s.events(t, events[0].at("run_id").(string), "").body["events"].([]any)
	require.Len(t, list, len(events))
	for i, one := range events {
		logged, _ := list[i].(map[string]any)["data"].(map[string]any)
		delete(logged, "parent_run_id")
		delete(one.map_, "parent_run_id")
		if one.kind() == "OUTPUT" {
			one.map_["metadata"] = map[string]any{}
		}
		require.Equal(t, one.map_, logged)
	}
}

// All of them in one map, parts that are sent again, and a cancel by the request.
func testSeveralQuestionsAtOnce(t *testing.T, s *service) {
	w, first := s.paused(t, several("q"))
	handle, _ := handleOf(ids(first)[0])
	events, claim := s.gone(t, w, resumeBody(t, w.runID, handle+":b:c", `"mysql"`, handle+":name", `"n"`, handle+":db", `"x"`))
	require.Equal(t, "success", events[1].at("status", "code"))
	require.Len(t, claim.Resume.Questions[0].Resolution.Answers, 3)

	w, first = s.paused(t, several("q"))
	handle, _ = handleOf(ids(first)[0])
	body := resumeBody(t, w.runID, handle+":db", `"mysql"`)
	part := s.show(t, body, key("k"))
	retried := s.show(t, body, key("k"))
	require.Equal(t, part, retried, "a part that is sent again with a key")
	require.Equal(t, "approval_already_claimed", s.show(t, resumeBody(t, w.runID, handle+":db", `"sqlite"`), key("k"))[1].at("status", "reason"))
	rest := resumeBody(t, w.runID, handle+":name", `"n"`, handle+":b:c", `"pg"`)
	whole, _ := s.gone(t, w, rest, key("k3"))
	require.Equal(t, whole, s.show(t, rest, key("k3")))

	w, first = s.paused(t, several("q"))
	handle, _ = handleOf(ids(first)[0])
	ignored := s.show(t, resumeBody(t, w.runID, handle, `"mysql"`, handle+":nothing", `1`))
	require.Equal(t, ids(first), ids(ignored))
	require.Len(t, ignored[2].at("metadata", "warnings"), 2)
	// Another face answers one of them; the next is shown.
	w.do(&runs.AnswerQuestion{RunID: w.runID, Partial: true, Resolution: runs.QuestionAnswer{
		RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: "db", FreeformAnswer: "x"}},
	}})
	require.Equal(t, []string{handle + ":name"}, ids(s.show(t, resumeBody(t, w.runID))))
	cancelled := s.show(t, resumeBody(t, w.runID, handle, `{"type":"timbal.cancel"}`))
	require.Equal(t, "cancelled", cancelled[1].at("status", "reason"))
}

// A part that is shown masked counts when the last question is answered.
func testASensitivePart(t *testing.T, s *service) {
	stream := s.open(t, "/stream", `{"prompt":"set up my database"}`)
	w := s.claim(t, stream.runID)
	route := database("route")
	route.AllowFreeform = new(false)
	suspend := &runs.Suspend{RunID: w.runID, Fence: w.fence}
	suspend.Questions = []api.UserQuestionRequest{{ID: "q", ToolCallID: "call-q", Questions: []api.UserQuestion{
		{ID: "password", Question: "What password?", Sensitive: true}, route,
	}}}
	w.do(&runs.Call{Command: suspend, Sealer: sealer(t)})
	handle, _ := handleOf(ids(stream.rest())[0])

	body := resumeBody(t, w.runID, handle+":password", `"correct horse"`)
	part := s.show(t, body, key("part"))
	require.Equal(t, []string{handle + ":route"}, ids(part))
	for name, again := range map[string][]*event{
		"a part that is sent again with its key":         s.show(t, body, key("part")),
		"another person's answer, which is not recorded": s.show(t, resumeBody(t, w.runID, handle+":password", `"battery staple"`), key("other")),
	} {
		output := again[len(again)-1]
		metadata, _ := output.at("metadata").(map[string]any)
		require.Equal(t, []any{"a sensitive answer was recorded before and is not compared with this one"}, metadata["warnings"], name)
		delete(metadata, "warnings")
		output.text = part[len(part)-1].text // all else is in its map
		require.Equal(t, part, again, name)
	}
	parent := part[0].at("run_id").(string)
	wrong := s.show(t, resumeBody(t, parent, handle+":route", `"oracle"`))
	require.Equal(t, []string{handle + ":route"}, ids(wrong))
	require.Contains(t, wrong[1].at("metadata", "error"), "accepts only its options")

	rest := resumeBody(t, parent, handle+":route", `"mysql"`)
	last := s.open(t, "/stream", rest, key("rest"))
	var claim api.Claim
	s.Post(t, "/v1/runs/"+w.runID+"/claim", `{"worker_id":"worker"}`).Into(&claim)
	answers := claim.Resume.Questions[0].Resolution.Answers
	require.Equal(t, "correct horse", answers[0].FreeformAnswer)
	require.Equal(t, []string{"my"}, answers[1].SelectedOptionIDs)
	s.Post(t, "/v1/runs/"+w.runID+"/complete", `{"fence":"`+claim.Lease.Fence+`","output":"done"}`).Into(nil)
	events := last.rest()
	require.Equal(t, "success", events[1].at("status", "code"))
	require.Equal(t, events, s.show(t, rest, key("rest")), "the last part that is sent again with its key")
}

// A part that does not fit is shown again with its error, whatever else the map settled.
func testPartsThatDoNotFit(t *testing.T, s *service) {
	ask := func(id string) api.UserQuestionRequest {
		route := database("route")
		route.AllowFreeform = new(false)
		return api.UserQuestionRequest{ID: id, ToolCallID: "call-" + id, Questions: []api.UserQuestion{route, {ID: "name", Question: "What name?"}}}
	}
	w, first := s.paused(t, typed("t"), ask("q"), ask("r"))
	q, r := ids(first)[1], ids(first)[2]
	again := s.show(t, resumeBody(t, w.runID, ids(first)[0], `true`, q, `"oracle"`, r, `" "`))
	require.Equal(t, []string{q, r}, ids(again), "the typed question is answered")
	require.Contains(t, again[1].at("metadata", "error"), "accepts only its options")
	require.Contains(t, again[2].at("metadata", "error"), "at least one answer")

	// Parts are no whole: what fits is recorded, whatever comes before it.
	handle, _ := handleOf(r)
	rest := s.show(t, resumeBody(t, again[0].at("run_id").(string), q, `"oracle"`, r, `"mysql"`))
	require.Equal(t, []string{q, handle + ":name"}, ids(rest))
	require.Contains(t, rest[1].at("metadata", "error"), "accepts only its options")

	// A part that comes too late takes no other one with it, either.
	w, first = s.paused(t, ask("q"), ask("r"))
	q, r = ids(first)[0], ids(first)[1]
	handle, _ = handleOf(r)
	w.do(&runs.AnswerQuestion{RunID: w.runID, Partial: true, Resolution: runs.QuestionAnswer{
		RequestID: "q", Answers: []api.UserQuestionAnswer{{QuestionID: "route", SelectedOptionIDs: []string{"my"}}},
	}})
	after := s.show(t, resumeBody(t, w.runID, q, `"mysql"`, r, `"mysql"`))
	require.Len(t, ids(after), 2)
	require.Contains(t, ids(after), handle+":name")
	require.Len(t, after[len(after)-1].at("metadata", "warnings"), 1)
}

func handleOf(id string) (handle, rest string) {
	for i := range id {
		if id[i] == ':' {
			return id[:i], id[i+1:]
		}
	}
	return id, ""
}
