package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

func requireJSON(t *testing.T, want string, view any) {
	t.Helper()
	text, err := json.Marshal(view)
	require.NoError(t, err)
	require.JSONEq(t, want, string(text))
}

// Members without a value are omitted.
func TestRunView(t *testing.T) {
	h := parallelHouse(t).create("r")
	requireJSON(t, `{
		"run_id":"r","session_id":"s","agent_id":"default","kind":"input","status":"queued",
		"submitted_at_ms":1000000,"updated_at_ms":1000000,"queued_position":1,
		"request":{"source_plugin":"daemon","source_kind":"api","actor_id":"api-user","text_preview":"go"},"outputs":[],"outputs_count":0
	}`, h.record("r").View())

	h.nowMs += 10
	h.claim("r")
	requireJSON(t, `{
		"run_id":"r","session_id":"s","agent_id":"default","kind":"input","status":"running",
		"submitted_at_ms":1000000,"updated_at_ms":1000010,"started_at_ms":1000010,
		"request":{"source_plugin":"daemon","source_kind":"api","actor_id":"api-user","text_preview":"go"},"outputs":[],"outputs_count":0,
		"attempt":1,"lease":{"worker_id":"worker","expires_at_ms":1030010}
	}`, h.record("r").View())

	h.nowMs += 10
	wait := suspend("r", 1, expiringApproval("a", 2_000_000), question("q"))
	wait.SuspensionID = "wait-1"
	h.must(wait)
	handles := []string{h.request("r", "a").Handle, h.request("r", "q").Handle}
	approvalText := `{"id":"a","handle":"` + handles[0] + `","tool_call_id":"call-a","tool_name":"bash","input":{"command":"ls"},"input_digest":"sha256:4cf29611a66934862f29acfcc817e30b905c1ab73d5e65831413eb6b454d49db","scope":"","reason":"","created_at_ms":1000020,"expires_at_ms":2000000}`
	questionText := `{"id":"q","handle":"` + handles[1] + `","tool_call_id":"call-q","created_at_ms":1000020,
		"questions":[{"id":"route","header":"Route","question":"Which route?","multi_select":false,"allow_freeform":true,
		"options":[{"id":"north","label":"North"},{"id":"south","label":"South"}]}]}`
	requireJSON(t, `{
		"run_id":"r","session_id":"s","agent_id":"default","kind":"input","status":"waiting_for_user_question",
		"submitted_at_ms":1000000,"updated_at_ms":1000020,"started_at_ms":1000010,
		"request":{"source_plugin":"daemon","source_kind":"api","actor_id":"api-user","text_preview":"go"},
		"pending_approval_ids":["a"],"pending_approvals":[`+approvalText+`],
		"pending_question_ids":["q"],"pending_questions":[`+questionText+`],"outputs":[],"outputs_count":0
	}`, h.record("r").View())

	h.nowMs += 10
	h.must(answer("r", "q", "south"))
	h.must(allow("r", "a"))
	resumeWith := func(grant string) string {
		return `{"suspension_id":"wait-1",
		"approvals":[{"request":` + approvalText + `,"resolution":{"request_id":"a","outcome":"allowed","behavior":"allow","resolved_by":"api-user","resolved_at_ms":1000030,"via":"api","grant":` + grant + `}}],
		"questions":[{"request":` + questionText + `,"resolution":{
			"request_id":"q","outcome":"answered","declined":false,"summary":"Which route?: South",
			"answers":[{"question_id":"route","header":"Route","question":"Which route?","selected_option_ids":["south"],"selected_options":[{"id":"south","label":"South"}]}],
			"justification":null,"resolved_by":"api-user","resolved_at_ms":1000030,"via":"api"}}]}`
	}
	handle := h.request("r", "a").Handle
	resume := resumeWith(`{"jti":"` + handle + `"}`)
	running := func(more string) string {
		return `{
			"run_id":"r","session_id":"s","agent_id":"default","kind":"input","status":"running",
			"submitted_at_ms":1000000,"updated_at_ms":1000030,"started_at_ms":1000010,
			"request":{"source_plugin":"daemon","source_kind":"api","actor_id":"api-user","text_preview":"go"},"outputs":[],"outputs_count":0,
			"resume":` + resume + more + `}`
	}
	requireJSON(t, running(""), h.record("r").View())
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w2"}).Claim
	resume = resumeWith(`{"jti":"` + handle + `","exp":1030}`)
	requireJSON(t, `{
		"run":`+running(`,"attempt":1,"lease":{"worker_id":"w2","expires_at_ms":1030030}`)+`,
		"input":"go","resume":`+resume+`,"attempt":1,"lease":{"fence":"2","worker_id":"w2","expires_at_ms":1030030}
	}`, claim)

	h.must(&runs.Complete{RunID: "r", Fence: 2, Output: api.JSON(`{"ok":true}`)})
	requireJSON(t, `{
		"run_id":"r","session_id":"s","agent_id":"default","kind":"input","status":"completed",
		"submitted_at_ms":1000000,"updated_at_ms":1000030,"started_at_ms":1000010,"finished_at_ms":1000030,
		"request":{"source_plugin":"daemon","source_kind":"api","actor_id":"api-user","text_preview":"go"},"outputs":[],"outputs_count":0,
		"output":{"ok":true},"attempt":1
	}`, h.record("r").View())
}

func TestRunViewOfAFullRun(t *testing.T) {
	h := parallelHouse(t)
	h.must(&runs.CreateRun{
		SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`{"a": [1, 2]}`), AgentID: "coder", ParentRunID: "p",
		Metadata: api.JSON(`{"m":1}`), SourcePlugin: "chat", SourceKind: "mail", ActorID: "ann", Caller: "token-7",
	})
	h.claim("r")
	h.must(&runs.Fail{RunID: "r", Fence: 1, Error: "broken"})
	record := h.record("r")
	record.Outputs = []api.OutputRecord{{SessionID: "s", RunID: "r", Content: "hi", CreatedAtMs: 5}}
	requireJSON(t, `{
		"run_id":"r","session_id":"s","agent_id":"coder","parent_run_id":"p","kind":"input","status":"failed",
		"submitted_at_ms":1000000,"updated_at_ms":1000000,"started_at_ms":1000000,"finished_at_ms":1000000,
		"request":{"source_plugin":"chat","source_kind":"mail","actor_id":"ann","text_preview":"{\"a\":[1,2]}"},
		"metadata":{"m":1},"outputs":[{"session_id":"s","run_id":"r","content":"hi","created_at_ms":5}],"outputs_count":0,"error":"broken","attempt":1
	}`, record.View())
	h.must(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "x", Input: api.JSON(`1`), Caller: "token-7"})
	require.Equal(t, "token-7", h.run("x").Request.ActorID, "who asked, when the body does not say")
}

// The first 160 characters, then an ellipsis.
func TestTextPreview(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 160)
	for input, want := range map[string]string{
		`"hello"`:                              "hello",
		`""`:                                   "",
		`null`:                                 "",
		`{ "b": 1, "a": [] }`:                  `{"b":1,"a":[]}`,
		`7`:                                    "7",
		`"` + long + `"`:                       long,
		`"` + long + `b"`:                      long + "…",
		`"` + strings.Repeat("😀", 200) + `"`:   strings.Repeat("😀", 160) + "…",
		`["` + strings.Repeat("x", 200) + `"]`: `["` + strings.Repeat("x", 158) + "…",
		`"a\u0000b\u001b\n"`:                   "ab\x1b\n", // no database stores NUL in a text
		`"\u0000` + strings.Repeat("x", 160) + `"`: strings.Repeat("x", 159) + "…",
	} {
		h := newHouse(t)
		h.must(&runs.CreateRun{RunID: "r", Input: api.JSON(input)})
		require.Equal(t, want, h.run("r").Request.TextPreview, input)
	}
}

// The view of a session: docs/spec/v1.md#session-view.
func TestSessionView(t *testing.T) {
	h := parallelHouse(t)
	view := func() api.SessionView {
		session := h.states["s"].Session
		record := model.SessionRecord{Session: *session}
		if session.ActiveRunID != "" {
			record.Active = h.record(session.ActiveRunID)
		}
		for _, run := range queueOf(h.states["s"]) {
			record.QueuedRunIDs = append(record.QueuedRunIDs, run.RunID)
		}
		return record.View()
	}
	h.must(&runs.CreateSession{SessionID: "s", ParentSessionID: "root", Metadata: api.JSON(`{"m":1}`)})
	empty := `"pending_approvals":[],"pending_questions":[],"pending_count":0,"outputs":[],"outputs_count":0,"created_at_ms":1000000`
	snapshot := func(status string, agent api.AgentStatus) string {
		return fmt.Sprintf(`"snapshot":{"agent":{"id":"default","parent":null,"conversation":{"session_id":"s","thread_id":"s"},
			"status":%q,"spawned_at_ms":1000000,"subtasks":[]},"status":%q,"active_run_id":null,"queued_run_ids":[],
			"pending_approvals":[],"pending_questions":[],"last_assistant_message":null,"journal_len":0,"checkpoint_len":0,"last_error":null}`, agent, status)
	}
	requireJSON(t, `{"session_id":"s","agent_id":"default","parent_session_id":"root","metadata":{"m":1},"status":"idle",
		"active_run":null,"queued_run_ids":[],`+empty+`,"last_event_id":"0","updated_at_ms":1000000,`+snapshot("idle", api.AgentIdle)+`}`, view())
	h.create("r")
	h.create("next")
	require.Equal(t, api.SessionIdle, view().Status, "idle until a claim")
	require.Equal(t, []string{"r", "next"}, view().QueuedRunIDs)
	h.nowMs += 10
	h.claim("r")
	h.must(suspend("r", 1, approval("a"), question("q"), approval("b")))
	got := view()
	require.Equal(t, api.StatusWaitingForUserQuestion, got.Status)
	require.Equal(t, &api.ActiveRunRef{RunID: "r"}, got.ActiveRun)
	require.Equal(t, 3, got.PendingCount)
	require.Equal(t, []string{"a", "b"}, []string{got.PendingApprovals[0].ID, got.PendingApprovals[1].ID})
	requireJSON(t, `{"session_id":"s","agent_id":"default","run_id":"r","run_kind":"input","request":`+
		string(h.request("r", "q").Body)+`}`, got.PendingQuestions[0])
	require.Equal(t, api.AgentWaitingForUserInput, got.Snapshot.Agent.Status)
	require.Equal(t, "r", *got.Snapshot.ActiveRunID)
	require.Equal(t, []string{"next"}, got.Snapshot.QueuedRunIDs)
	require.Equal(t, got.PendingApprovals, got.Snapshot.PendingApprovals)
	require.Equal(t, []api.UserQuestionRequest{got.PendingQuestions[0].Request}, got.Snapshot.PendingQuestions)
	h.nowMs += 10
	h.must(&runs.EndSession{SessionID: "s"})
	requireJSON(t, `{"session_id":"s","agent_id":"default","parent_session_id":"root","metadata":{"m":1},"status":"ended",
		"active_run":null,"queued_run_ids":[],`+empty+`,"last_event_id":"11","updated_at_ms":1000020,`+snapshot("ended", api.AgentCompleted)+`}`, view())
	summary := model.SessionSummary{Session: *h.states["s"].Session, Status: api.SessionEnded, PendingApprovals: 2}
	requireJSON(t, `{"session_id":"s","agent_id":"default","parent_session_id":"root","status":"ended",
		"pending_approvals":2,"pending_questions":0,"created_at_ms":1000000,"updated_at_ms":1000020}`, summary.View())
}

func TestPendingViews(t *testing.T) {
	h := parallelHouse(t).wait("r", approval("a"), question("q"))
	pending := func(id string) *model.PendingRequest {
		return &model.PendingRequest{Request: *h.request("r", id), AgentID: "default", RunKind: api.KindInput}
	}
	requireJSON(t, `{"session_id":"s","agent_id":"default","run_id":"r","request":`+string(h.request("r", "a").Body)+`}`, pending("a").ApprovalView(""))
	requireJSON(t, `{"session_id":"s","agent_id":"default","run_id":"r","run_kind":"input","request":`+string(h.request("r", "q").Body)+`}`, pending("q").QuestionView(""))
	requireJSON(t, `{"id":"1","timestamp_ms":1000000,"run_id":"r","session_id":"s","agent_id":"default","event":{"type":"accepted"},
		"actor":"system","body_digest":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","prev":"",
		"hash":"`+h.events["s"][0].Hash()+`"}`, h.events["s"][0].Entry())
}

// The answer as the worker passes it to its model: docs/spec/v1.md#answers-and-summary.
func TestLabelledAnswers(t *testing.T) {
	h := parallelHouse(t)
	asked := survey("q")
	asked.Questions[1].Options[2].Description, asked.Questions[1].Options[2].Preview = "the last", "+ z"
	declined := survey("d")
	h.wait("r", asked, declined, api.UserQuestionRequest{ID: "typed", ResponseSchema: api.JSON(`{}`)})
	resolution := answers(written("text", "as I said"), chosen("many", "z", "x"), written("one", "labels win", "y"))
	resolution.Justification = "asked around"
	h.must(&runs.AnswerQuestion{RunID: "r", Resolution: resolution})
	h.must(&runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "d", Declined: true, Justification: "busy"}})
	h.must(&runs.AnswerQuestion{RunID: "r", Resolution: runs.QuestionAnswer{RequestID: "typed", Value: api.JSON(`"v"`)}})
	resume := h.record("r").Resume()
	by := `"resolved_by":"api-user","resolved_at_ms":1000000,"via":"api"`
	requireJSON(t, `{"request_id":"q","outcome":"answered","declined":false,"summary":"One?: Y\nMany?: Z, X\nText?: as I said","justification":"asked around",
		"answers":[
			{"question_id":"one","header":"Question 1","question":"One?","selected_option_ids":["y"],"selected_options":[{"id":"y","label":"Y"}],"freeform_answer":"labels win"},
			{"question_id":"many","header":"Question 2","question":"Many?","selected_option_ids":["z","x"],"selected_options":[{"id":"z","label":"Z","description":"the last"},{"id":"x","label":"X"}]},
			{"question_id":"text","header":"Question 3","question":"Text?","selected_option_ids":[],"selected_options":[],"freeform_answer":"as I said"}],`+by+`}`,
		resume.Questions[0].Resolution)
	requireJSON(t, `{"request_id":"d","outcome":"declined","declined":true,"summary":"","answers":[],"justification":"busy",`+by+`}`, resume.Questions[1].Resolution)
	requireJSON(t, `{"request_id":"typed","outcome":"answered","declined":false,"summary":"\"v\"","answers":[],"value":"v","justification":null,`+by+`}`, resume.Questions[2].Resolution)
	// An attached worker gets the same documents, one by one.
	var handed api.SettledQuestion
	require.NoError(t, json.Unmarshal(document.Encode(h.request("r", "d").SettledQuestion()), &handed))
	require.EqualValues(t, 2, handed.SettledNumber, "only an attached worker is told the place of the decision")
	handed.SettledNumber = 0
	require.Equal(t, resume.Questions[1], handed)
}
