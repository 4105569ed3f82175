package httpapi_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// child creates a session with its own agent below a parent session, and a claimed run in it.
func (a *rig) child(t *testing.T, parent string) wantedRun {
	t.Helper()
	session := a.name("child")
	a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":"helper","parent_session_id":%q}`, session, parent)).want(http.StatusCreated)
	return a.claimedIn(t, session)
}

// claimedIn creates a run in a session and claims it.
func (a *rig) claimedIn(t *testing.T, session string) wantedRun {
	t.Helper()
	made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","claim":{"worker_id":"w1","lease_ms":3600000}}`, session)).want(http.StatusAccepted)
	return wantedRun{session: session, run: made.textAt("run", "run_id"), fence: made.textAt("lease", "fence")}
}

// parent creates a session that accepts questions.
func (a *rig) parent(t *testing.T) string {
	t.Helper()
	session := a.name("parent")
	a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":"coder"}`, session)).want(http.StatusCreated)
	return session
}

// ask asks the parent on behalf of a child's run. members are added to the body.
func (a *rig) ask(t *testing.T, child wantedRun, request, members string, options ...option) *reply {
	t.Helper()
	return a.post(t, "/v1/runs/"+child.run+"/clarifications", fmt.Sprintf(`{"fence":%q,"request":%s%s}`, child.fence, request, members), options...)
}

// parked parks a child with a question of this id and returns the clarification's run.
func (a *rig) parked(t *testing.T, child wantedRun, id string) string {
	t.Helper()
	return a.ask(t, child, question(id), `,"park":true`).want(http.StatusAccepted).textAt("clarification", "run_id")
}

// keepsLease waits until a parked run may go on, and claims it.
func (a *rig) keepsLease(t *testing.T, child wantedRun) *reply {
	t.Helper()
	require.Equal(t, "running", a.get(t, "/v1/runs/"+child.run+"?until=decided", wait(30)).want(http.StatusOK).at("status"))
	return a.post(t, "/v1/runs/"+child.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
}

// eventTypes returns the types of a run's events.
func (a *rig) eventTypes(t *testing.T, runID string) []string {
	t.Helper()
	list := a.get(t, "/v1/runs/"+runID+"/events").want(http.StatusOK)
	types := make([]string, len(list.list()))
	for i := range types {
		types[i] = list.textAt(i, "event", "type")
	}
	return types
}

func members(object any) []string {
	named, _ := object.(map[string]any)
	return slices.Sorted(maps.Keys(named))
}

func testClarifications(t *testing.T, a *rig) {
	t.Run("a parked child is handed the answer", func(t *testing.T) { t.Parallel(); testParkedChild(t, a) })
	t.Run("who asks is shown with the question", func(t *testing.T) { t.Parallel(); testRequester(t, a) })
	t.Run("asking again", func(t *testing.T) { t.Parallel(); testAskingAgain(t, a) })
	t.Run("answering again", func(t *testing.T) { t.Parallel(); testAnsweringAgain(t, a) })
	parallel(t, "a typed question", func(t *testing.T) {
		child := a.child(t, a.parent(t))
		asked := a.ask(t, child, `{"id":"n","payload":{"question":"How many?"},"response_schema":{"type":"integer"}}`, `,"park":true`).want(http.StatusAccepted)
		require.Equal(t, "How many?", asked.at("clarification", "request", "text_preview"))
		path := "/v1/runs/" + asked.textAt("clarification", "run_id") + "/questions"
		a.post(t, path, answer("n", `"value":"many"`), expecting(semantic)).refused(api.CodeInvalidRequest)
		a.post(t, path, answer("n", `"answers":[]`)).refused(api.CodeQuestionAnswerEmpty)
		a.post(t, path, answer("n", `"value":3`)).want(http.StatusAccepted)
		claim := a.keepsLease(t, child)
		require.Equal(t, 3.0, claim.at("resume", "clarification", "value"))
		require.Equal(t, "3", claim.at("resume", "clarification", "summary"))
	})
	parallel(t, "three generations", func(t *testing.T) {
		top := a.parent(t)
		middle := a.child(t, top)
		bottom := a.child(t, middle.session)
		ofMiddle, ofBottom := a.parked(t, middle, "up"), a.parked(t, bottom, "down")
		view := a.get(t, "/v1/sessions/"+middle.session).want(http.StatusOK)
		require.Equal(t, middle.run, view.at("active_run", "run_id"), "the parked run keeps its slot")
		require.Equal(t, 1.0, view.at("pending_count"), "the question that the middle asks is not asked of it")
		// The session's active run waits, but for nothing that could be answered here.
		answered := a.post(t, "/v1/sessions/"+middle.session+"/questions", answer("down", `"answers":`+goodAnswers)).want(http.StatusOK)
		require.Equal(t, 0.0, answered.at("pending_count"))
		require.Equal(t, "completed", a.get(t, "/v1/runs/"+ofBottom).at("status"))
		require.Equal(t, "down", a.keepsLease(t, bottom).at("resume", "clarification", "request_id"))
		require.Equal(t, "waiting_for_user_question", a.get(t, "/v1/runs/"+ofMiddle).at("status"))
		a.post(t, "/v1/sessions/"+top+"/questions", answer("up", `"declined":true`)).want(http.StatusOK)
		require.Equal(t, true, a.keepsLease(t, middle).at("resume", "clarification", "declined"))
	})
	parallel(t, "one id asked by two children goes to the one that waits longer", func(t *testing.T) {
		parent := a.parent(t)
		first := a.parked(t, a.child(t, parent), "same")
		second := a.parked(t, a.child(t, parent), "same")
		for _, settled := range []string{first, second} {
			a.post(t, "/v1/sessions/"+parent+"/questions", answer("same", `"declined":true`)).want(http.StatusOK)
			require.Equal(t, "completed", a.get(t, "/v1/runs/"+settled).at("status"))
		}
		a.post(t, "/v1/sessions/"+parent+"/questions", answer("same", `"declined":true`)).want(http.StatusOK)
		a.post(t, "/v1/sessions/"+parent+"/questions", answer("other", `"declined":true`)).refused(api.CodeRunStateConflict)
	})
	t.Run("what cannot be asked", func(t *testing.T) { t.Parallel(); testWhatCannotBeAsked(t, a) })
}

func testParkedChild(t *testing.T, a *rig) {
	parent := a.parent(t)
	child := a.child(t, parent)
	asked := a.ask(t, child, question("q1"), `,"park":true,"checkpoint":{"step":3}`).want(http.StatusAccepted)
	clarification := asked.textAt("clarification", "run_id")
	require.Equal(t, "/v1/runs/"+clarification, asked.header.Get("Location"))
	require.Equal(t, parent, asked.at("clarification", "session_id"))
	require.Equal(t, "parent_clarification", asked.at("clarification", "kind"))
	require.Equal(t, "waiting_for_user_question", asked.at("clarification", "status"))
	require.Equal(t, []any{"q1"}, asked.at("clarification", "pending_question_ids"))
	require.Nil(t, asked.at("clarification", "lease"))
	require.Equal(t, map[string]any{
		"source_plugin": "daemon", "source_kind": "parent_clarification", "actor_id": "helper",
		"text_preview": "Which route?", "question_count": 2.0,
	}, asked.at("clarification", "request"))
	require.Equal(t, "waiting_for_user_question", asked.at("run", "status"))
	require.Equal(t, map[string]any{"session_id": parent, "run_id": clarification, "request_id": "q1"}, asked.at("run", "waiting_on"))
	for _, absent := range []string{"lease", "pending_questions", "pending_question_ids", "resume"} {
		require.Nil(t, asked.at("run", absent), absent)
	}
	require.Equal(t, asked.at("run"), a.get(t, "/v1/runs/"+child.run).body)
	require.Equal(t, asked.at("clarification"), a.get(t, "/v1/runs/"+clarification).body)
	require.Equal(t, clarification, a.get(t, "/v1/runs?kind=parent_clarification&session_id="+parent).want(http.StatusOK).at(0, "run_id"))
	a.post(t, "/v1/runs/"+child.run+"/heartbeat", fmt.Sprintf(`{"fence":%q}`, child.fence)).refused(api.CodeLeaseLost)
	a.get(t, "/v1/runs/"+child.run+"/resume?fence="+child.fence).refused(api.CodeLeaseLost)
	a.post(t, "/v1/runs/"+child.run+"/claim", `{"worker_id":"w2"}`).refused(api.CodeRunNotClaimable)
	a.post(t, "/v1/runs/"+clarification+"/claim", `{"worker_id":"w2"}`).refused(api.CodeRunNotClaimable)
	a.post(t, "/v1/runs/"+child.run+"/questions", answer("q1", `"answers":`+goodAnswers)).refused(api.CodeQuestionStateConflict)
	a.post(t, "/v1/runs/"+child.run+"/questions/q1/cancel", "").refused(api.CodeQuestionStateConflict)

	heldChild := later(func() *reply { return a.get(t, "/v1/runs/"+child.run, wait(60)) })
	heldParent := later(func() *reply { return a.get(t, "/v1/runs/"+clarification+"?until=decided", wait(60)) })
	done := a.post(t, "/v1/runs/"+clarification+"/questions", answer("q1", `"answers":`+goodAnswers+`,"justification":"it is quicker"`), header("X-Actor", "mara")).want(http.StatusAccepted)
	require.Equal(t, "completed", done.at("status"))
	require.Equal(t, "Forwarded parent clarification answer for q1 to agent helper.",
		a.get(t, "/v1/runs/"+clarification).want(http.StatusOK).at("outputs", 0, "content"))
	require.Equal(t, "completed", soon(t, heldParent).want(http.StatusOK).at("status"))
	keepsLease := soon(t, heldChild).want(http.StatusOK)
	require.Equal(t, "running", keepsLease.at("status"))
	require.Nil(t, keepsLease.at("waiting_on"))

	claim := a.post(t, "/v1/runs/"+child.run+"/claim", `{"worker_id":"w2"}`).want(http.StatusOK)
	require.Equal(t, map[string]any{
		"request_id": "q1", "declined": false, "summary": "Which route?: A\nNotes?: fast", "justification": "it is quicker",
		"answers": []any{
			map[string]any{"question_id": "route", "header": "Route", "question": "Which route?", "selected_option_ids": []any{"a"}, "selected_options": []any{map[string]any{"id": "a", "label": "A"}}},
			map[string]any{"question_id": "notes", "header": "Question 2", "question": "Notes?", "selected_option_ids": []any{}, "selected_options": []any{}, "freeform_answer": "fast"},
		},
	}, claim.at("resume", "clarification"))
	require.Empty(t, claim.list("resume", "questions"))
	require.Equal(t, map[string]any{"step": 3.0}, claim.at("checkpoint"))
	require.Equal(t, "[]", a.get(t, "/v1/sessions/"+child.session+"/mailbox").want(http.StatusOK).text, "a parked child acknowledges by its claim")
	fence := claim.textAt("lease", "fence")
	history := a.get(t, "/v1/runs/"+child.run+"/resume?fence="+fence).want(http.StatusOK)
	require.Equal(t, "q1", history.at("settled", 0, "request", "id"), "what it was parked for is in its history")
	require.Equal(t, 0.0, history.at("open"))

	require.Equal(t, []string{"accepted", "waiting_for_user_question", "output", "parent_clarification_resolved", "completed"}, a.eventTypes(t, clarification))
	require.Equal(t, []string{"accepted", "started", "parent_clarification_requested", "waiting_for_user_question", "user_question_resolved", "started"},
		slices.DeleteFunc(a.eventTypes(t, child.run), func(name string) bool { return name == "queued" }))
	a.post(t, "/v1/runs/"+child.run+"/complete", fmt.Sprintf(`{"fence":%q}`, fence)).want(http.StatusOK)
}

func testRequester(t *testing.T, a *rig) {
	parent := a.parent(t)
	child := a.child(t, parent)
	asked := a.ask(t, child, question("q1"), `,"requester_project_ids":["p1","p 2"],"requester_channel_ids":["c1"],"parent_project_ids":["p3"],"parent_channel_ids":["c2"]`).want(http.StatusAccepted)
	open := a.get(t, "/v1/questions?session_id="+parent).want(http.StatusOK)
	require.Len(t, open.list(), 1)
	require.Equal(t, []string{
		"agent_id", "may_decide", "parent_channel_ids", "parent_project_ids", "request", "requester_agent_id", "requester_channel_ids",
		"requester_project_ids", "requester_run_id", "requester_session_id", "requester_tool_call_id", "run_id", "run_kind", "session_id",
	}, members(open.at(0)))
	for member, want := range map[string]any{
		"session_id": parent, "agent_id": "coder", "run_id": asked.at("clarification", "run_id"), "run_kind": "parent_clarification",
		"requester_agent_id": "helper", "requester_session_id": child.session, "requester_run_id": child.run, "requester_tool_call_id": "call-q1",
		"requester_project_ids": []any{"p1", "p 2"}, "requester_channel_ids": []any{"c1"}, "parent_project_ids": []any{"p3"}, "parent_channel_ids": []any{"c2"},
		"request": asked.at("clarification", "pending_questions", 0),
	} {
		require.Equal(t, want, open.at(0, member), member)
	}
	require.NotEmpty(t, open.textAt(0, "request", "handle"))
	require.Equal(t, open.body, a.get(t, "/v1/sessions/"+parent+"/questions").want(http.StatusOK).body)

	session := a.get(t, "/v1/sessions/"+parent).want(http.StatusOK)
	require.Equal(t, "idle", session.at("status"), "a clarification takes no slot")
	require.Nil(t, session.at("active_run"))
	delete(open.at(0).(map[string]any), "may_decide") // the view of a session does not have it
	require.Equal(t, open.body, session.at("pending_questions"))
	require.Equal(t, 1.0, session.at("pending_count"))
	asking := a.get(t, "/v1/sessions/"+child.session).want(http.StatusOK)
	require.Equal(t, "running", asking.at("status"))
	require.Equal(t, 0.0, asking.at("pending_count"))
	require.Equal(t, "[]", a.get(t, "/v1/sessions/"+child.session+"/questions").want(http.StatusOK).text)

	// Without the lists, and next to a question of the session's own run.
	own := a.claimedIn(t, parent)
	a.post(t, "/v1/runs/"+own.run+"/suspend", fmt.Sprintf(`{"fence":%q,"questions":[%s]}`, own.fence, question("own"))).want(http.StatusOK)
	a.ask(t, child, question("q2"), "").want(http.StatusAccepted)
	require.Equal(t, 3.0, a.get(t, "/v1/sessions/"+parent).at("pending_count"))
	shown := map[any][]string{}
	for _, item := range a.get(t, "/v1/questions?session_id="+parent).want(http.StatusOK).list() {
		view := item.(map[string]any)
		shown[view["request"].(map[string]any)["id"]] = members(view)
	}
	require.Len(t, shown, 3)
	require.Equal(t, []string{"agent_id", "may_decide", "request", "run_id", "run_kind", "session_id"}, shown["own"])
	require.Equal(t, []string{
		"agent_id", "may_decide", "request", "requester_agent_id", "requester_run_id", "requester_session_id", "requester_tool_call_id",
		"run_id", "run_kind", "session_id",
	}, shown["q2"])
}

func testAskingAgain(t *testing.T, a *rig) {
	for _, park := range []string{`,"park":false`, `,"park":true,"checkpoint":1`} {
		child := a.child(t, a.parent(t))
		first := a.ask(t, child, question("q1"), park).want(http.StatusAccepted)
		again := a.ask(t, child, question("q1"), park).want(http.StatusOK)
		require.Equal(t, first.text, again.text)
		require.Equal(t, first.header.Get("Location"), again.header.Get("Location"))
		a.ask(t, child, `{"id":"q1","tool_call_id":"call-q1","questions":[{"question":"Something else?"}]}`, park).refused(api.CodeIDConflict)
		a.ask(t, child, question("q1"), park+`,"parent_project_ids":["p"]`).refused(api.CodeIDConflict)
		a.post(t, first.header.Get("Location")+"/questions", answer("q1", `"declined":true`)).want(http.StatusAccepted)
		answered := a.ask(t, child, question("q1"), park).want(http.StatusOK)
		require.Equal(t, "completed", answered.at("clarification", "status"), "the same clarification, as it is now")
		require.Equal(t, first.at("clarification", "run_id"), answered.at("clarification", "run_id"))
	}
	// The id of a suspension, and an id in another run of the session, are in use.
	child := a.child(t, a.parent(t))
	a.post(t, "/v1/runs/"+child.run+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,"approvals":[%s]}`, child.fence, approval("a1"))).want(http.StatusOK)
	a.ask(t, child, question("a1"), "").refused(api.CodeIDConflict)
	a.ask(t, child, question("q1"), "").want(http.StatusAccepted)
	a.post(t, "/v1/runs/"+child.run+"/complete", fmt.Sprintf(`{"fence":%q}`, child.fence)).want(http.StatusOK)
	a.ask(t, a.claimedIn(t, child.session), question("q1"), "").refused(api.CodeIDConflict)
}

func testAnsweringAgain(t *testing.T, a *rig) {
	parent := a.parent(t)
	clarification := a.parked(t, a.child(t, parent), "q1")
	path := "/v1/runs/" + clarification + "/questions"
	a.post(t, path, answer("q2", `"declined":true`)).refused(api.CodeQuestionRequestMismatch)
	a.post(t, path, answer("q1", `"answers":[]`)).refused(api.CodeQuestionAnswerMissing)
	given := answer("q1", `"answers":`+goodAnswers)
	first := a.post(t, path, given).want(http.StatusAccepted)
	again := a.post(t, path, given).want(http.StatusAccepted)
	require.Equal(t, first.text, again.text, "the very same answer, with no key")
	require.Equal(t, "/v1/runs/"+clarification, again.header.Get("Location"))
	a.post(t, "/v1/sessions/"+parent+"/questions", given).want(http.StatusOK)
	for _, other := range []string{
		answer("q1", `"declined":true`), answer("q1", `"answers":`+goodAnswers+`,"justification":"because"`),
		answer("q1", `"answers":[{"question_id":"notes","freeform_answer":"fast"},{"question_id":"route","selected_option_ids":["a"]}]`),
	} {
		a.post(t, path, other).refused(api.CodeQuestionResolutionConflict).recorded(api.OutcomeAnswered)
		a.post(t, "/v1/sessions/"+parent+"/questions", other).refused(api.CodeQuestionResolutionConflict).recorded(api.OutcomeAnswered)
	}
	a.post(t, path, answer("q2", `"declined":true`)).refused(api.CodeQuestionResolutionConflict).recorded(api.OutcomeAnswered)
	// With a key a repeat says so.
	keyed := a.parked(t, a.child(t, parent), "q3")
	for _, replayed := range []string{"", "true"} {
		got := a.post(t, "/v1/runs/"+keyed+"/questions", answer("q3", `"declined":true`), key("k")).want(http.StatusAccepted)
		require.Equal(t, replayed, got.header.Get("Idempotency-Replayed"))
		require.Equal(t, "completed", got.at("status"))
	}
	require.Equal(t, []string{"accepted", "waiting_for_user_question", "output", "parent_clarification_resolved", "completed"}, a.eventTypes(t, keyed))
	// The clarification is nothing that a worker has in hand.
	a.post(t, "/v1/runs/"+clarification+"/heartbeat", `{"fence":"1"}`).refused(api.CodeLeaseLost)
}

func testWhatCannotBeAsked(t *testing.T, a *rig) {
	alone := a.claimed(t)
	a.ask(t, alone, question("q1"), "").refused(api.CodeNoParentSession)
	a.ask(t, a.child(t, a.name("nobody")), question("q1"), "").refused(api.CodeNoParentSession)
	parent := a.parent(t)
	child := a.child(t, parent)
	refuse := func(body, pointer string, options ...option) {
		t.Helper()
		for _, path := range []string{"/v1/runs/" + child.run + "/clarifications", "/v1/runs/nobody/clarifications"} {
			a.post(t, path, body, options...).refused(api.CodeInvalidRequest).pointer(pointer)
		}
	}
	with := func(request, members string) string {
		return fmt.Sprintf(`{"fence":%q,"request":%s%s}`, child.fence, request, members)
	}
	refuse(`{"request":`+question("q1")+`}`, "/fence")
	refuse(`{"fence":"1"}`, "/request")
	refuse(`{"fence":"1","request":null}`, "/request")
	refuse(`{"fence":"01","request":`+question("q1")+`}`, "/fence")
	refuse(with(`{"id":"q1","questions":[]}`, ""), "/request/questions", expecting(semantic))
	refuse(with(`{"questions":[{"question":"Why?"}]}`, ""), "/request/id", expecting(semantic))
	refuse(with(`{"id":"q1","questions":[{"question":7}]}`, ""), "/request/questions/0/question")
	refuse(with(question("q1"), `,"park":"yes"`), "/park")
	refuse(with(question("q1"), `,"checkpoint":1`), "/checkpoint", expecting(semantic))
	refuse(with(question("q1"), `,"parent_project_ids":"p"`), "/parent_project_ids")
	refuse(with(question("q1"), `,"requester_channel_ids":[""]`), "/requester_channel_ids/0")
	long := fmt.Sprintf(`{"id":"%0173d","questions":[{"question":"Why?"}]}`, 0)
	refuse(with(long, ""), "/request/id", expecting(semantic))

	for _, path := range []string{"/v1/runs", "/v1/sessions/" + parent + "/runs"} {
		a.post(t, path, `{"input":1,"kind":"parent_clarification"}`).refused(api.CodeInvalidRequest).pointer("/kind")
	}

	stale := child
	stale.fence = "7"
	a.ask(t, stale, question("q1"), "").refused(api.CodeLeaseLost)
	a.post(t, "/v1/runs/a%00b/clarifications", with(question("q1"), ""), unchecked()).refused(api.CodeRunNotFound)
	a.post(t, "/v1/runs/"+child.run+"/complete", fmt.Sprintf(`{"fence":%q}`, child.fence)).want(http.StatusOK)
	a.ask(t, child, question("q1"), "").refused(api.CodeRunStateConflict)
	next := a.claimedIn(t, child.session)
	a.post(t, "/v1/sessions/"+parent+"/end", "").want(http.StatusOK)
	a.ask(t, next, question("q1"), "").refused(api.CodeSessionEnded)
	require.Equal(t, "running", a.get(t, "/v1/runs/"+next.run).at("status"), "it was not parked")
}
