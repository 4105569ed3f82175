package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// declinedAnswer is the answer for a child whose question was not answered.
func declinedAnswer(justification any) map[string]any {
	return map[string]any{"request_id": "q1", "declined": true, "summary": "", "answers": []any{}, "justification": justification}
}

// testClarificationsEndOtherwise shows that a parked child continues with a declined answer,
// however its question ended.
func testClarificationsEndOtherwise(t *testing.T, a *rig) {
	for _, end := range []struct {
		name string
		// end ends the clarification and returns its run as the call shows it, or nil.
		end           func(t *testing.T, parent, clarification string) *reply
		outcome       api.Outcome
		justification string
	}{
		{"declined", func(t *testing.T, _, clarification string) *reply {
			return a.post(t, "/v1/runs/"+clarification+"/questions", answer("q1", `"declined":true,"justification":"ask me tomorrow"`)).want(http.StatusAccepted)
		}, api.OutcomeDeclined, "ask me tomorrow"},
		{"the question is cancelled", func(t *testing.T, _, clarification string) *reply {
			return a.post(t, "/v1/runs/"+clarification+"/questions/q1/cancel", `{"justification":"never mind"}`).want(http.StatusOK)
		}, api.OutcomeCancelled, "never mind"},
		{"the question is cancelled without a word", func(t *testing.T, _, clarification string) *reply {
			return a.post(t, "/v1/runs/"+clarification+"/questions/q1/cancel", "", key("k")).want(http.StatusOK)
		}, api.OutcomeCancelled, "cancelled by operator"},
		{"the run is cancelled", func(t *testing.T, _, clarification string) *reply {
			return a.post(t, "/v1/runs/"+clarification+"/cancel", `{"reason":"too late"}`).want(http.StatusOK)
		}, api.OutcomeCancelled, "too late"},
		{"the parent's session is interrupted", func(t *testing.T, parent, _ string) *reply {
			got := a.post(t, "/v1/sessions/"+parent+"/interrupt", "").want(http.StatusOK)
			require.Equal(t, true, got.at("interrupted"))
			require.Equal(t, 0.0, got.at("session", "pending_count"))
			require.Equal(t, false, a.post(t, "/v1/sessions/"+parent+"/interrupt", "").want(http.StatusOK).at("interrupted"))
			return nil
		}, api.OutcomeDeclined, "interrupted by operator"},
		{"the parent's session ends", func(t *testing.T, parent, _ string) *reply {
			got := a.post(t, "/v1/sessions/"+parent+"/end", `{"reason":"we are done"}`).want(http.StatusOK)
			require.Equal(t, "ended", got.at("status"))
			require.Equal(t, 0.0, got.at("pending_count"))
			return nil
		}, api.OutcomeDeclined, "we are done"},
	} {
		parallel(t, end.name, func(t *testing.T) {
			parent := a.parent(t)
			child := a.child(t, parent)
			clarification := a.parked(t, child, "q1")
			if shown := end.end(t, parent, clarification); shown != nil {
				require.Equal(t, "completed", shown.at("status"))
				require.Equal(t, clarification, shown.at("run_id"))
			}
			view := a.get(t, "/v1/runs/"+clarification).want(http.StatusOK)
			require.Equal(t, "completed", view.at("status"))
			require.Equal(t, "Declined parent clarification request q1 for agent helper.", view.at("outputs", 0, "content"))
			a.post(t, "/v1/runs/"+clarification+"/questions", answer("q1", `"answers":`+goodAnswers)).
				refused(api.CodeQuestionResolutionConflict).recorded(end.outcome)
			require.Equal(t, "completed", a.post(t, "/v1/runs/"+clarification+"/cancel", "").want(http.StatusOK).at("status"))
			require.Equal(t, declinedAnswer(end.justification), a.keepsLease(t, child).at("resume", "clarification"))
		})
	}
	parallel(t, "it expires", func(t *testing.T) {
		parent := a.parent(t)
		child := a.child(t, parent)
		asked := a.ask(t, child, `{"id":"q1","questions":[{"question":"Why?"}],"expires_at_ms":1}`, `,"park":true`).want(http.StatusAccepted)
		require.Equal(t, "completed", asked.at("clarification", "status"), "a deadline that is past expires at once")
		require.InDelta(t, 1, asked.at("clarification", "outputs_count"), 0)
		require.Equal(t, "[]", a.get(t, "/v1/sessions/"+parent+"/questions").want(http.StatusOK).text)
		given := answer("q1", `"answers":[{"question_id":"question-1","freeform_answer":"because"}]`)
		a.post(t, asked.header.Get("Location")+"/questions", given).refused(api.CodeQuestionExpired).recorded(api.OutcomeExpired)
		a.post(t, "/v1/sessions/"+parent+"/questions", given).refused(api.CodeQuestionExpired).recorded(api.OutcomeExpired)
		resumed := a.keepsLease(t, child)
		require.Equal(t, true, resumed.at("resume", "clarification", "declined"))
		require.Contains(t, resumed.textAt("resume", "clarification", "justification"), "expired at 1")
	})
	parallel(t, "the child is cancelled while it is parked", func(t *testing.T) {
		child := a.child(t, a.parent(t))
		clarification := a.parked(t, child, "q1")
		view := a.post(t, "/v1/runs/"+child.run+"/cancel", "").want(http.StatusOK)
		require.Equal(t, "cancelled", view.at("status"))
		require.Nil(t, view.at("waiting_on"))
		require.Equal(t, "waiting_for_user_question", a.get(t, "/v1/runs/"+clarification).at("status"), "it stays open for the parent")
		a.post(t, "/v1/runs/"+clarification+"/questions", answer("q1", `"declined":true`)).want(http.StatusAccepted)
		a.eventually(t, "the answer is a dead letter", func() bool {
			return len(a.get(t, "/v1/sessions/"+child.session+"/mailbox/dead-letter").want(http.StatusOK).list()) == 1
		})
	})
	parallel(t, "a worker takes its question back", func(t *testing.T) {
		child := a.child(t, a.parent(t))
		asked := a.ask(t, child, question("q1"), "").want(http.StatusAccepted)
		withdraw := fmt.Sprintf(`{"fence":%q}`, child.fence)
		a.post(t, "/v1/runs/"+child.run+"/requests/q1/withdraw", withdraw).want(http.StatusOK)
		a.post(t, asked.header.Get("Location")+"/questions", answer("q1", `"declined":true`)).want(http.StatusAccepted)
	})
}
