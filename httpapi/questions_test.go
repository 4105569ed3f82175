package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// lateQuestion is a question whose deadline is past already.
const lateQuestion = `{"id":"late","tool_call_id":"c","questions":[{"question":"Why?"}],"expires_at_ms":1}`

func testQuestions(t *testing.T, a *rig) {
	parallel(t, "the order of the validation codes", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q1")+`]`)
		for _, bad := range []struct {
			name, members string
			code          api.Code
		}{
			{"declined beats everything", `"declined":true,"answers":[{"question_id":"x"},{"question_id":"x"}]`, api.CodeQuestionDeclinedAnswers},
			{"a repeated question beats a missing one", `"answers":[{"question_id":"x"},{"question_id":"x"}]`, api.CodeQuestionDuplicateAnswer},
			{"the request's questions in order", `"answers":[{"question_id":"notes"},{"question_id":"x"}]`, api.CodeQuestionAnswerMissing},
			{"too many beats a repeated option", `"answers":[{"question_id":"route","selected_option_ids":["a","a"]}]`, api.CodeQuestionSingleSelect},
			{"a repeated option beats an unknown one", `"answers":[{"question_id":"route","selected_option_ids":["a"]},{"question_id":"notes","selected_option_ids":["x","x","z"]}]`, api.CodeQuestionDuplicateOption},
			{"each option in turn", `"answers":[{"question_id":"route","selected_option_ids":["a"]},{"question_id":"notes","selected_option_ids":["z","x","x"]}]`, api.CodeQuestionOptionNotFound},
			{"blank text does not answer", `"answers":[{"question_id":"route","freeform_answer":" \t\n"},{"question_id":"other"}]`, api.CodeQuestionAnswerEmpty},
			{"the second question's turn comes after the first is fine", `"answers":[{"question_id":"route","selected_option_ids":["a"]}]`, api.CodeQuestionAnswerMissing},
			{"left over answers come last", `"answers":[{"question_id":"route","freeform_answer":"r"},{"question_id":"notes","freeform_answer":"n"},{"question_id":"x"}]`, api.CodeQuestionUnknownAnswer},
			{"nothing at all", `"answers":[]`, api.CodeQuestionAnswerMissing},
		} {
			for _, path := range []string{"/v1/runs/" + run.run, "/v1/sessions/" + run.session} {
				got := a.post(t, path+"/questions", answer("q1", bad.members))
				require.Equal(t, string(bad.code), got.at("code"), bad.name)
				got.refused(bad.code).recorded("")
			}
		}
		require.Equal(t, []any{"q1"}, a.get(t, "/v1/runs/"+run.run).at("pending_question_ids"))
		a.post(t, "/v1/runs/"+run.run+"/questions", answer("q2", `"declined":true,"answers":[{"question_id":"x"}]`)).refused(api.CodeQuestionRequestMismatch)
		done := a.post(t, "/v1/runs/"+run.run+"/questions", answer("q1",
			`"answers":[{"question_id":"route","selected_option_ids":["b"],"freeform_answer":"and quickly"},{"question_id":"notes","selected_option_ids":["y","x"]}],"justification":"why not"`)).want(http.StatusAccepted)
		require.Equal(t, "/v1/runs/"+run.run, done.header.Get("Location"))
		resolution := done.at("resume", "questions", 0, "resolution").(map[string]any)
		require.Equal(t, "Which route?: B\nNotes?: Y, X", resolution["summary"])
		require.Equal(t, "why not", resolution["justification"])
		require.Equal(t, "answered", resolution["outcome"])
	})
	parallel(t, "own words, where only the options are accepted", func(t *testing.T) {
		run := a.waiting(t, `"questions":[{"id":"q","tool_call_id":"c","questions":[{"id":"way","question":"Which?","options":[{"id":"a"},{"id":"b"}]}]}]`)
		require.Equal(t, false, a.get(t, "/v1/runs/"+run.run).at("pending_questions", 0, "questions", 0, "allow_freeform"))
		for _, path := range []string{"/v1/runs/" + run.run, "/v1/sessions/" + run.session} {
			for _, answers := range []string{`{"question_id":"way","freeform_answer":"mine"}`, `{"question_id":"way","selected_option_ids":["a"],"freeform_answer":"mine"}`} {
				got := a.post(t, path+"/questions", answer("q", `"answers":[`+answers+`]`), expecting(semantic)).refused(api.CodeInvalidRequest)
				require.Equal(t, "/resolution/answers/0/freeform_answer", got.at("errors", 0, "pointer"))
			}
		}
		a.post(t, "/v1/runs/"+run.run+"/questions", answer("q", `"answers":[{"question_id":"way","selected_option_ids":["a"]}]`)).want(http.StatusAccepted)
	})
	parallel(t, "what does not fit the schema", func(t *testing.T) {
		for _, path := range []string{"/v1/runs/nobody/questions", "/v1/sessions/nobody/questions"} {
			for _, bad := range []struct{ body, pointer string }{
				{`{}`, "/resolution"},
				{`{"answers":[]}`, "/resolution"},
				{`{"resolution":null}`, "/resolution"},
				{`{"resolution":[]}`, "/resolution"},
				{`{"resolution":{}}`, "/resolution/request_id"},
				{`{"resolution":{"request_id":"q","answers":{}}}`, "/resolution/answers"},
				{`{"resolution":{"request_id":"q","answers":[{"question_id":1}]}}`, "/resolution/answers/0/question_id"},
				{`{"resolution":{"request_id":"q","declined":"yes"}}`, "/resolution/declined"},
			} {
				a.post(t, path, bad.body).refused(api.CodeInvalidRequest).pointer(bad.pointer)
			}
			a.post(t, path, answer("q", `"declined":true`), key("é"), expecting(semantic)).refused(api.CodeInvalidIdempotencyKey)
		}
		a.post(t, "/v1/runs/nobody/questions", answer("q", `"declined":true`)).refused(api.CodeRunNotFound)
		a.post(t, "/v1/sessions/nobody/questions", answer("q", `"declined":true`)).refused(api.CodeSessionNotFound)
	})
	parallel(t, "declining lets the run go on", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q1")+`]`)
		view := a.post(t, "/v1/sessions/"+run.session+"/questions", answer("q1", `"declined":true,"answers":[]`)).want(http.StatusOK)
		require.Equal(t, "running", view.at("status"))
		resolution := a.get(t, "/v1/runs/"+run.run).at("resume", "questions", 0, "resolution").(map[string]any)
		require.Equal(t, true, resolution["declined"])
		require.Nil(t, resolution["justification"])
		require.Contains(t, resolution, "justification")
	})
	parallel(t, "a typed question takes a value that fits its schema", func(t *testing.T) {
		run := a.waiting(t, `"questions":[{"id":"q1","kind":"number","payload":{"question":"How many?"},"response_schema":{"type":"object","required":["retries"],"properties":{"retries":{"type":"integer","minimum":0}}}}]`)
		path := "/v1/runs/" + run.run + "/questions"
		a.post(t, path, answer("q1", `"answers":[]`)).refused(api.CodeQuestionAnswerEmpty)
		a.post(t, path, answer("q1", `"value":null`)).refused(api.CodeQuestionAnswerEmpty)
		a.post(t, path, answer("q1", `"value":1,"answers":[{"question_id":"x"}]`)).refused(api.CodeQuestionUnknownAnswer)
		a.post(t, path, answer("q1", `"value":1,"declined":true`)).refused(api.CodeQuestionDeclinedAnswers)
		a.post(t, path, answer("q1", `"value":{"retries":-1}`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolution/value/retries")
		a.post(t, path, answer("q1", `"value":[]`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolution/value")
		done := a.post(t, path, answer("q1", `"value":{"retries":3}`)).want(http.StatusAccepted)
		require.Equal(t, map[string]any{"retries": 3.0}, done.at("resume", "questions", 0, "resolution", "value"))
		plain := a.waiting(t, `"questions":[`+question("q1")+`]`)
		a.post(t, "/v1/runs/"+plain.run+"/questions", answer("q1", `"value":1`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolution/value")
	})
	parallel(t, "a text has the format of its schema", func(t *testing.T) {
		for _, test := range []struct{ format, bad, good string }{
			{"date", "soon", "2026-12-24"},
			{"date-time", "2026-12-24 18:00", "2026-12-24T18:00:00Z"},
			{"email", "ada", "ada@example.com"},
			{"uri", "example.com", "https://example.com"},
			{"uuid", "123", "123e4567-e89b-12d3-a456-426614174000"},
			{"ipv4", "10.0.0.256", "10.0.0.1"},
			{"ipv6", "1::2::3", "::1"},
		} {
			run := a.waiting(t, fmt.Sprintf(`"questions":[{"id":"q1","kind":"text","response_schema":{"type":"string","format":%q}}]`, test.format))
			path := "/v1/runs/" + run.run + "/questions"
			a.post(t, path, answer("q1", fmt.Sprintf(`"value":%q`, test.bad)), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolution/value")
			done := a.post(t, path, answer("q1", fmt.Sprintf(`"value":%q`, test.good))).want(http.StatusAccepted)
			require.Equal(t, test.good, done.at("resume", "questions", 0, "resolution", "value"))
		}
	})
	parallel(t, "too late", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q1")+`,`+question("q2")+`]`)
		path := "/v1/runs/" + run.run + "/questions"
		a.post(t, path, answer("q1", `"declined":true`)).want(http.StatusAccepted)
		a.post(t, path, answer("q1", `"declined":true`)).refused(api.CodeQuestionRequestMismatch).recorded(api.OutcomeDeclined)
		a.post(t, path, answer("q2", `"answers":`+goodAnswers)).want(http.StatusAccepted)
		a.post(t, path, answer("q2", `"declined":true`)).refused(api.CodeQuestionStateConflict).recorded(api.OutcomeAnswered)
		a.post(t, path, answer("nobody", `"declined":true`)).refused(api.CodeQuestionStateConflict).recorded("")
		session := "/v1/sessions/" + run.session + "/questions"
		a.post(t, session, answer("q2", `"declined":true`)).refused(api.CodeQuestionStateConflict).recorded(api.OutcomeAnswered)
		a.post(t, session, answer("nobody", `"declined":true`)).refused(api.CodeRunStateConflict)
		idle := a.post(t, "/v1/sessions", "").want(http.StatusCreated)
		a.post(t, "/v1/sessions/"+idle.textAt("session_id")+"/questions", answer("q", `"declined":true`)).refused(api.CodeRunStateConflict)
	})
	parallel(t, "an answer never lands on another question", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q2")+`]`)
		a.post(t, "/v1/sessions/"+run.session+"/questions", answer("q1", `"declined":true`)).refused(api.CodeQuestionRequestMismatch)
		require.Equal(t, []any{"q2"}, a.get(t, "/v1/runs/"+run.run).at("pending_question_ids"))
	})
	parallel(t, "expired", func(t *testing.T) {
		for _, by := range []string{"run", "session", "cancel"} {
			run := a.waiting(t, `"questions":[`+lateQuestion+`]`)
			path, body := "/v1/runs/"+run.run+"/questions", answer("late", `"declined":true`)
			switch by {
			case "session":
				path = "/v1/sessions/" + run.session + "/questions"
			case "cancel":
				path, body = path+"/late/cancel", ""
			}
			late := a.post(t, path, body).refused(api.CodeQuestionExpired).recorded(api.OutcomeExpired)
			require.Equal(t, "clock", late.at("recorded_decision", "via"))
			view := a.get(t, "/v1/runs/"+run.run).want(http.StatusOK)
			require.Equal(t, "cancelled", view.at("status"))
			require.Equal(t, "user-question request late expired at 1", view.at("error"))
			a.post(t, path, body).refused(api.CodeQuestionExpired)
		}
	})
	parallel(t, "cancel a question, and with it the run", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q1")+`],"approvals":[`+approval("a1")+`]`)
		path := "/v1/runs/" + run.run + "/questions/"
		a.post(t, path+"nobody/cancel", "").refused(api.CodeQuestionRequestMismatch)
		a.post(t, path+"%00/cancel", "").refused(api.CodeQuestionRequestMismatch)
		a.post(t, path+"q1/cancel", `{"justification":7}`).refused(api.CodeInvalidRequest).pointer("/justification")
		done := a.post(t, path+"q1/cancel", `{"justification":"asked twice"}`).want(http.StatusOK)
		require.Equal(t, "cancelled", done.at("status"))
		require.Equal(t, "user-question request q1 cancelled: asked twice", done.at("error"))
		a.post(t, path+"q1/cancel", "").refused(api.CodeQuestionStateConflict).recorded(api.OutcomeCancelled)
		a.post(t, "/v1/runs/nobody/questions/q1/cancel", "").refused(api.CodeRunNotFound)
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).refused(api.CodeRunStateConflict).recorded(api.OutcomeCancelled)
	})
}
