package timbal_test

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// gone resumes, has a worker finish the run, and returns the events.
func (s *service) gone(t *testing.T, w *worker, body string, options ...dialecttest.Option) ([]*event, *api.Claim) {
	t.Helper()
	stream := s.open(t, "/stream", body, options...)
	claim := w.goOn()
	return stream.rest(), claim
}

// The seed's own story: a question, its answer, the end. Every resume is a run of its
// own, and says of which.
func testAnswer(t *testing.T, s *service) {
	w, first := s.paused(t, question("q"))
	id := ids(first)[0]
	second, claim := s.gone(t, w, resumeBody(t, w.runID, id, `"postgres"`), actor("ann"))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(second))
	require.NotEqual(t, w.runID, second[0].at("run_id"))
	require.True(t, strings.HasPrefix(second[0].at("run_id").(string), w.runID+"~"))
	for _, one := range second {
		require.Equal(t, w.runID, one.at("parent_run_id"))
	}
	require.Equal(t, "end_turn", second[1].at("status", "reason"))
	require.Equal(t, "done", second[1].at("output"))
	require.Equal(t, map[string]any{"prompt": "set up my database"}, second[1].at("input"), "the parameters of the start: echoed ones are ignored")
	s.sameInLog(t, first)
	s.sameInLog(t, second)

	answer := claim.Resume.Questions[0].Resolution
	require.Equal(t, []string{"pg"}, answer.Answers[0].SelectedOptionIDs)
	require.Equal(t, "ann", answer.ResolvedBy)
	require.Equal(t, "timbal", answer.Via)
}

// docs/spec/timbal.md#interaction-value, for a structured question.
func testAnswersToAStructuredQuestion(t *testing.T, s *service) {
	for _, test := range []struct {
		value    string
		selected []string
		free     string
	}{
		{`"postgres"`, []string{"pg"}, ""},
		{`"pg"`, []string{"pg"}, ""},
		{`"both"`, nil, "both"},
		{`"oracle"`, nil, "oracle"},
		{`["mysql","lite"]`, []string{"my", "lite"}, ""},
		{`{"selected":["mysql","sqlite"]}`, []string{"my", "lite"}, ""},
		{`{"selected":"mysql"}`, []string{"my"}, ""},
		{`["mysql","and redis"]`, []string{"my"}, "and redis"},
		{`["mysql",""," "]`, []string{"my"}, ""},
		{`true`, nil, "true"},
		{`17`, nil, "17"},
		{`{ "a" : [ 1 ] }`, nil, `{"a":[1]}`},
		{`[1, 2]`, nil, `[1,2]`},
	} {
		many := question("q")
		many.Questions[0].MultiSelect = true
		many.Questions[0].Options = append(many.Questions[0].Options, api.QuestionOption{ID: "x", Label: "both"}, api.QuestionOption{ID: "both", Label: "both"})
		w, first := s.paused(t, many)
		_, claim := s.gone(t, w, resumeBody(t, w.runID, ids(first)[0], test.value))
		answer := claim.Resume.Questions[0].Resolution.Answers[0]
		require.ElementsMatch(t, test.selected, answer.SelectedOptionIDs, test.value)
		require.Equal(t, test.free, answer.FreeformAnswer, test.value)
	}
	// A label has precedence over an id, because people see the label.
	crossed := question("q")
	crossed.Questions[0].Options = []api.QuestionOption{{ID: "a", Label: "b"}, {ID: "b", Label: "a"}}
	w, first := s.paused(t, crossed)
	_, claim := s.gone(t, w, resumeBody(t, w.runID, ids(first)[0], `"a"`))
	require.Equal(t, []string{"b"}, claim.Resume.Questions[0].Resolution.Answers[0].SelectedOptionIDs)
}

// An answer that does not fit shows the INTERACTION again and says why
// (docs/spec/timbal.md#refused-value); nothing of the map is recorded.
func testAnswersThatDoNotDo(t *testing.T, s *service) {
	strict := question("q")
	strict.Questions[0].AllowFreeform = new(false)
	w, first := s.paused(t, strict, typed("t"), approval("a"))
	plain, schema, gate := ids(first)[0], ids(first)[1], ids(first)[2]
	for _, test := range []struct{ id, value, says string }{
		{plain, `""`, "at least one answer"},
		{plain, `"  "`, "at least one answer"},
		{plain, `null`, "at least one answer"},
		{plain, `[]`, "at least one answer"},
		{plain, `{"selected":[]}`, "at least one answer"},
		{plain, `{"selected":null}`, "at least one answer"},
		{plain, `{}`, "at least one answer"},
		{plain, `["",""]`, "at least one answer"},
		{plain, `{"selected":[" ",""]}`, "at least one answer"},
		{plain, `["postgres","mysql"]`, "allows only one option"},
		{plain, `"oracle"`, "accepts only its options"},
		{plain, `17`, "accepts only its options"},
		{schema, `"yes"`, "boolean"},
		{schema, `null`, "requires a value"},
	} {
		events := s.show(t, resumeBody(t, w.runID, test.id, test.value, gate, "true"))
		require.Equal(t, []string{"START", "INTERACTION", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(events), test.value)
		for _, one := range events[1:3] {
			if one.at("interaction_id") == test.id {
				require.Contains(t, fmt.Sprint(one.at("metadata", "error")), test.says, test.value)
			} else {
				require.NotContains(t, one.map_, "metadata", test.value)
			}
		}
		require.Equal(t, "input_required", events[4].at("status", "reason"))
	}
	record := s.record(t, w.runID)
	require.Zero(t, record.Run.SettledCount)
	events, claim := s.gone(t, w, resumeBody(t, w.runID, plain, `"mysql"`, schema, "false", gate, "true"))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(events))
	require.Equal(t, "false", string(claim.Resume.Questions[1].Resolution.Value))
}

// docs/spec/timbal.md#approval-value.
func testDecisionsAboutAnApproval(t *testing.T, s *service) {
	for _, test := range []struct {
		value string
		want  api.Resolution
	}{
		{`true`, api.Resolution{Outcome: "allowed", Behavior: "allow"}},
		{`false`, api.Resolution{Outcome: "denied", Behavior: "deny"}},
		{`{"approved":true}`, api.Resolution{Outcome: "allowed", Behavior: "allow"}},
		{`{"approved":false,"reason":"no","override_input":{"to":3}}`, api.Resolution{Outcome: "denied", Behavior: "deny", Reason: "no"}},
		{`{"approved":true,"override_input":{}}`, api.Resolution{Outcome: "allowed", Behavior: "allow"}},
		{`{"approved":true,"reason":null,"override_input":null,"expires_at":null}`, api.Resolution{Outcome: "allowed", Behavior: "allow"}},
		{`{"approved":true,"override_input":{"to":"fixed@example.com","cc":[]}}`, api.Resolution{
			Outcome: "allowed", Behavior: "allow", UpdatedInput: api.JSON(`{"to":"fixed@example.com","subject":"hi","cc":[]}`),
		}},
		{`{"approved":true,"approver_id":"u1","comment":"fine","metadata":{"k":1}}`, api.Resolution{
			Outcome: "allowed", Behavior: "allow", Justification: "fine",
			RuntimePayload: api.JSON(`{"approved":true,"approver_id":"u1","comment":"fine","metadata":{"k":1}}`),
		}},
		{`{"approved":true,"expires_at":9000000000000}`, api.Resolution{
			Outcome: "allowed", Behavior: "allow", RuntimePayload: api.JSON(`{"approved":true,"expires_at":9000000000000}`),
		}},
	} {
		w, first := s.paused(t, approval("a"))
		events, claim := s.gone(t, w, resumeBody(t, w.runID, ids(first)[0], test.value))
		require.Equal(t, []string{"START", "OUTPUT"}, kinds(events), "a denial goes on too")
		require.Equal(t, "success", events[1].at("status", "code"))
		got := claim.Resume.Approvals[0].Resolution
		require.NotZero(t, got.ResolvedAtMs)
		test.want.RequestID, test.want.ResolvedBy, test.want.ResolvedAtMs, test.want.Via = "a", "user:local", got.ResolvedAtMs, "timbal"
		// The grant that a worker redeems is not part of the decision.
		require.Equal(t, got.Behavior == api.BehaviorAllow, got.Grant != nil, test.value)
		got.Grant = nil
		require.Equal(t, test.want, got, test.value)
	}
}

func testDecisionsThatDoNotDo(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	id := ids(first)[0]
	for _, value := range []string{
		`"yes"`, `1`, `null`, `[]`, `{}`, `{"approved":null}`, `{"approved":"yes"}`, `{"approved":true,"override_input":[]}`,
		`{"approved":true,"reason":1}`, `{"approved":true,"expires_at":"soon"}`, `{"type":"timbal.other"}`,
	} {
		events := s.show(t, resumeBody(t, w.runID, id, value))
		require.Equal(t, []string{"START", "OUTPUT"}, kinds(events), value)
		require.Equal(t, "error", events[1].at("status", "code"), value)
		require.Contains(t, events[1].at("error"), "must be a bool, dict", value)
		require.Nil(t, events[1].at("output"))
	}
	bad := s.show(t, resumeBody(t, w.runID, id, `{"approved":true,"override_input":{"to":7}}`))
	require.Equal(t, "error", bad[1].at("status", "code"))
	require.Contains(t, bad[1].at("error"), "resume "+id+"/override_input/to: ")
	outcome, _ := s.settled(t, id)
	require.Empty(t, outcome, "it stays open")
	expired := s.events(t, bad[1].at("run_id").(string), "")
	require.Equal(t, true, expired.body["expired"], "what was refused is not in the log")

	// A misspelt edit does not allow the original input.
	for _, member := range []string{"overide_input", "updated_input", "Override_input", ""} {
		misspelt := s.show(t, resumeBody(t, w.runID, id, `{"approved":true,"`+member+`":{"to":"b@example.com"}}`))
		require.Contains(t, misspelt[1].at("error"), "unknown member: "+cmp.Or(member, `""`))
	}
	// A decision that is over before it arrives is none.
	again := s.show(t, resumeBody(t, w.runID, id, `{"approved":true,"expires_at":0}`))
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(again), "it expired in 1970")
	again = s.show(t, resumeBody(t, w.runID, id, `{"approved":true,"expires_at":1}`))
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(again))
	require.Equal(t, id, again[1].at("approval_id"))
	require.Equal(t, "approval_required", again[2].at("status", "reason"))

	scalar := approval("b")
	scalar.Input, scalar.InputSchema = api.JSON(`"ls"`), nil
	w, first = s.paused(t, scalar)
	bad = s.show(t, resumeBody(t, w.runID, ids(first)[0], `{"approved":true,"override_input":{"to":7}}`))
	require.Contains(t, bad[1].at("error"), "not an object")
}

// The tagged cancel ends the run, on either kind, and beats its siblings.
func testCancelByARequest(t *testing.T, s *service) {
	for _, test := range []struct {
		at     int
		reason string
		output func(id string) map[string]any
	}{
		{0, `,"reason":"user closed the dialog"`, func(string) map[string]any {
			return map[string]any{"status": "cancelled", "reason": "user closed the dialog"}
		}},
		{0, ``, func(string) map[string]any { return map[string]any{"status": "cancelled", "reason": nil} }},
		{1, `,"reason":"not now"`, func(id string) map[string]any {
			return map[string]any{"approval_id": id, "status": "cancelled", "reason": "not now"}
		}},
		{1, `,"reason":null`, func(id string) map[string]any {
			return map[string]any{"approval_id": id, "status": "cancelled", "reason": nil}
		}},
	} {
		w, first := s.paused(t, question("q"), approval("a"))
		id, other := ids(first)[test.at], ids(first)[1-test.at]
		events := s.show(t, resumeBody(t, w.runID, other, `true`, id, `{"type":"timbal.cancel"`+test.reason+`}`))
		require.Equal(t, []string{"START", "OUTPUT"}, kinds(events))
		require.Equal(t, "cancelled", events[1].at("status", "code"))
		require.Equal(t, "cancelled", events[1].at("status", "reason"))
		require.Equal(t, test.output(id), events[1].at("output"))
		if events[1].at("output", "reason") == nil {
			require.Equal(t, "Run cancelled by user.", events[1].at("status", "message"))
		} else {
			require.Equal(t, events[1].at("output", "reason"), events[1].at("status", "message"))
		}
		s.sameInLog(t, events)
		record := s.record(t, w.runID)
		require.Equal(t, api.StatusCancelled, record.Run.Status)
		outcome, _ := s.settled(t, other)
		require.Equal(t, api.OutcomeCancelled, outcome, "there is no superseded")

		late := s.show(t, resumeBody(t, w.runID, id, `true`))
		require.Equal(t, "cancelled", late[1].at("status", "reason"))
		require.Equal(t, events[1].at("output"), late[1].at("output"))
	}
	w, first := s.paused(t, question("q"))
	for _, reason := range []string{`1`, `{}`, `["x"]`, `false`} {
		for _, id := range []string{ids(first)[0], "unknown"} {
			answer := s.do(t, http.MethodPost, "/stream", resumeBody(t, w.runID, id, `{"type":"timbal.cancel","reason":`+reason+`}`))
			require.Equal(t, http.StatusUnprocessableEntity, answer.Status)
			require.Equal(t, map[string]any{"detail": "the reason of a cancel must be a text"}, answer.body)
		}
	}
	outcome, _ := s.settled(t, ids(first)[0])
	require.Empty(t, outcome)
	unknown := s.show(t, resumeBody(t, w.runID, "unknown", `{"type":"timbal.cancel"}`))
	require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, kinds(unknown))
}

// Several ids in one map, some of them, and ids that are none.
func testPartialMaps(t *testing.T, s *service) {
	w, first := s.paused(t, question("q"), approval("a"), approval("b"), typed("t"))
	q, typedID, a, b := ids(first)[0], ids(first)[1], ids(first)[2], ids(first)[3]
	second := s.show(t, resumeBody(t, w.runID, a, `true`, q, `"mysql"`, "nobody", `1`))
	require.Equal(t, []string{"START", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(second))
	require.Equal(t, []string{typedID, b}, ids(second))
	require.Equal(t, []any{"resume id nobody is unknown to this run and was ignored"}, second[3].at("metadata", "warnings"))
	require.Equal(t, typedID, second[3].at("output", "suspension_id"), "the first that is open")
	runID := second[0].at("run_id").(string)
	require.Equal(t, w.runID, second[0].at("parent_run_id"))

	// The next one sends the rest, or everything again.
	third := s.show(t, resumeBody(t, runID, a, `false`, q, `"postgres"`, b, `true`))
	require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, kinds(third))
	require.Equal(t, runID, third[0].at("parent_run_id"))
	require.Len(t, third[2].at("metadata", "warnings"), 2)
	thirdID := third[0].at("run_id").(string)
	s.nextMs(t)
	fourth, claim := s.gone(t, w, resumeBody(t, thirdID, typedID, `true`))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(fourth))
	s.sameInLog(t, fourth)
	require.Len(t, claim.Resume.Approvals, 2)
	require.Len(t, claim.Resume.Questions, 2)
	require.Equal(t, api.OutcomeAllowed, claim.Resume.Approvals[0].Resolution.Outcome, "what was recorded first holds")
	require.Len(t, map[any]bool{w.runID: true, runID: true, thirdID: true, fourth[0].at("run_id"): true}, 4)

	log := s.events(t, runID, "").body["events"].([]any)
	require.Len(t, log, 4)
	s.sameInLog(t, first)
}

// Ids of other runs, of other kinds, and of nothing are ignored with a warning.
func testUnknownIds(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	_, others := s.paused(t, approval("a"), typed("t"))
	for _, id := range []string{"x", "", ids(others)[0], ids(others)[1], ids(first)[0] + ":q", "\u0000", strings.Repeat("é", 300), w.runID} {
		events := s.show(t, resumeBody(t, w.runID, id, `true`))
		require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(events), "%q", id)
		require.Equal(t, ids(first), ids(events))
		require.Len(t, events[2].at("metadata", "warnings"), 1)
		require.NotEqual(t, w.runID, events[0].at("run_id"))
	}
	// A request with one question has one id, so a map cannot answer it twice.
	one, asked := s.paused(t, question("q"))
	id := ids(asked)[0]
	twice, claim := s.gone(t, one, resumeBody(t, one.runID, id, `"mysql"`, id+":"+question("q").Questions[0].ID, `"postgres"`))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(twice))
	require.Len(t, twice[1].at("metadata", "warnings"), 1)
	require.Equal(t, []string{"my"}, claim.Resume.Questions[0].Resolution.Answers[0].SelectedOptionIDs)
	empty := s.show(t, `{"parent_id":"`+w.runID+`","resume":{}}`)
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(empty))
	s.sameInLog(t, empty)
}

// Calls that are not a resume.
func testRefusedResumes(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	for _, test := range []struct {
		body   string
		status int
	}{
		{`{"parent_id":"` + w.runID + `","resume":[]}`, 422},
		{`{"parent_id":"` + w.runID + `","resume":"x"}`, 422},
		{`{"parent_id":"` + w.runID + `","resume":true}`, 422},
		{`{"resume":{}}`, 422},
		{`{"parent_id":1,"resume":{}}`, 422},
		{`{"context":7}`, 422},
		{`{"context":{"parent_id":"` + w.runID + `"},"run_context":{"parent_id":"nobody"},"resume":{}}`, 422},
		{`{"context":{"id":7}}`, 422},
		{`{"context":{"id":"a b"}}`, 422},
		{`[]`, 422},
		{`null`, 422},
		{`{"parent_id":"nobody","resume":{}}`, 404},
		{`{"parent_id":"nobody:7","resume":{}}`, 404},
		{`{"parent_id":"` + w.runID + `:999","resume":{}}`, 404},
		{`{"parent_id":"` + w.runID + `:0","resume":{}}`, 404},
		{`{"parent_id":"` + w.runID + `:1.zz","resume":{}}`, 404},
		{`{"parent_id":"\u0000","resume":{}}`, 404},
		{`{"parent_id":"` + w.runID + `","context":{},"resume":{}}`, 422},
		{`{`, 400},
		{`{"a":1,"a":2}`, 400},
	} {
		for _, path := range []string{"/stream", "/run", "/agents/coder/stream"} {
			answer := s.do(t, http.MethodPost, path, test.body)
			require.Equal(t, test.status, answer.Status, "%s: %s", test.body, answer.Text)
			require.Len(t, answer.body, 1)
			require.IsType(t, "", answer.body["detail"])
		}
	}
	require.Equal(t, 422, s.do(t, http.MethodPost, "/agents/%20/stream", `{}`).Status)
	for name, header := range map[string]dialecttest.Option{"key": key("é"), "actor": actor(" ")} {
		answer := s.do(t, http.MethodPost, "/stream", resumeBody(t, w.runID, ids(first)[0], "true"), header)
		require.Equal(t, 400, answer.Status, name)
		require.Contains(t, answer.body, "detail")
	}
	outcome, _ := s.settled(t, ids(first)[0])
	require.Empty(t, outcome)
	// The client of the system puts the parent into the context.
	events, _ := s.gone(t, w, `{"context":{"parent_id":"`+w.runID+`"},"resume":{"`+ids(first)[0]+`":true}}`)
	require.Equal(t, "success", events[1].at("status", "code"))
}
