package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func testIdempotency(t *testing.T, a *rig) {
	parallel(t, "header and body, quoted and bare", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		path := "/v1/runs/" + run.run + "/approvals"
		inBody := func(k string) string { return strings.Replace(allow("a1"), "{", `{"idempotency_key":"`+k+`",`, 1) }
		for _, bad := range []struct {
			body string
			keys []string
		}{
			{allow("a1"), []string{""}},
			{allow("a1"), []string{`""`}},
			{allow("a1"), []string{`"abc`}},
			{allow("a1"), []string{`"a\c"`}},
			{allow("a1"), []string{`"abc";p=1`}},
			{allow("a1"), []string{"one", "two"}},
			{allow("a1"), []string{strings.Repeat("x", 257)}},
			{allow("a1"), []string{"clé"}},
			{inBody("other"), []string{"one"}},
			{inBody(""), nil},
			{inBody(" "), nil},
			{inBody(`\u0000`), nil},
			{inBody(strings.Repeat("é", 129)), nil},
		} {
			options := []option{unchecked()}
			for _, k := range bad.keys {
				options = append(options, key(k))
			}
			a.post(t, path, bad.body, options...).refused(api.CodeInvalidIdempotencyKey)
		}
		a.post(t, path, inBody("the key"), key(" the key ")).want(http.StatusAccepted)
		for _, options := range [][]option{{key("the key")}, {key(`"the key"`)}, {key("the key"), key("the key")}} {
			replayed(a.post(t, path, allow("a1"), options...).want(http.StatusAccepted))
		}
		replayed(a.post(t, path, inBody("  the key")).want(http.StatusAccepted))
		other := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		a.post(t, "/v1/runs/"+other.run+"/approvals", allow("a1"), key(`"a\"b\\c"`)).want(http.StatusAccepted)
		replayed(a.post(t, "/v1/runs/"+other.run+"/approvals", strings.Replace(allow("a1"), "{", `{"idempotency_key":"a\"b\\c",`, 1)).want(http.StatusAccepted))
	})
	parallel(t, "a replay is the current view, on each route with its own status", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		k := key("k")
		first := a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1"), k).want(http.StatusAccepted)
		require.Empty(t, first.header.Get("Idempotency-Replayed"))
		again := replayed(a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1"), k).want(http.StatusAccepted))
		require.Equal(t, first.text, again.text)
		require.Equal(t, "/v1/runs/"+run.run, again.header.Get("Location"))
		replayed(a.post(t, "/v1/sessions/"+run.session+"/approval-runs", allow("a1"), k).want(http.StatusAccepted))
		view := replayed(a.post(t, "/v1/sessions/"+run.session+"/approvals", allow("a1"), k).want(http.StatusOK))
		require.Equal(t, run.session, view.at("session_id"))
		a.post(t, "/v1/runs/"+run.run+"/cancel", "").want(http.StatusOK)
		require.Equal(t, "cancelled", replayed(a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1"), k).want(http.StatusAccepted)).at("status"))
		replayed(a.post(t, "/v1/sessions/"+run.session+"/approvals", allow("a1"), k, wait(60)).want(http.StatusOK))
		a.post(t, "/v1/runs/"+run.run+"/approvals", deny("a1"), k).refused(api.CodeIdempotencyConflict)
		a.post(t, "/v1/sessions/"+run.session+"/approvals", deny("a1"), k).refused(api.CodeIdempotencyConflict)
	})
	parallel(t, "events are appended once", func(t *testing.T) {
		run := a.claimed(t)
		path, k := "/v1/runs/"+run.run+"/events", key("k")
		body := fmt.Sprintf(`{"fence":%q,"events":[{"type":"step","n":1},{"type":"output","content":"x"}]}`, run.fence)
		first := a.post(t, path, body, k).want(http.StatusAccepted)
		require.Empty(t, first.header.Get("Idempotency-Replayed"))
		a.post(t, path, body).want(http.StatusAccepted)
		require.Equal(t, first.text, replayed(a.post(t, path, body, k).want(http.StatusAccepted)).text)
		require.Equal(t, first.text, replayed(a.post(t, path, strings.Replace(body, "{", `{"idempotency_key":"k",`, 1)).want(http.StatusAccepted)).text)
		replayed(a.post(t, path, strings.Replace(body, `"type":"step","n":1`, `"n":1.0,"type":"step"`, 1), k).want(http.StatusAccepted))
		a.post(t, path, strings.Replace(body, `"n":1`, `"n":2`, 1), k).refused(api.CodeIdempotencyConflict)
		a.post(t, path, body, key(strings.Repeat("k", 257)), unchecked()).refused(api.CodeInvalidIdempotencyKey)
		a.post(t, path, strings.Replace(body, "{", `{"idempotency_key":"other",`, 1), k, unchecked()).refused(api.CodeInvalidIdempotencyKey)
		a.post(t, path, `{"events":[]}`, key(strings.Repeat("k", 257)), unchecked()).refused(api.CodeInvalidRequest)
		a.post(t, "/v1/runs/"+run.run+"/complete", fmt.Sprintf(`{"fence":%q}`, run.fence)).want(http.StatusOK)
		require.Equal(t, first.text, replayed(a.post(t, path, body, k).want(http.StatusAccepted)).text, "even if the run is over")
		a.post(t, path, body, key("new")).refused(api.CodeRunStateConflict)
		require.Equal(t, "7", a.get(t, "/v1/sessions/"+run.session).at("last_event_id"), "what was refused or replayed appended nothing")
	})
	parallel(t, "a refused call leaves no trace of its key", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q1")+`]`)
		path, k := "/v1/runs/"+run.run+"/questions", key("k")
		a.post(t, path, answer("q1", `"answers":[]`), k).refused(api.CodeQuestionAnswerMissing)
		a.post(t, path, answer("q1", `"answers":`+goodAnswers), k).want(http.StatusAccepted)
		replayed(a.post(t, path, `{"colour":"red","resolution":{"request_id":"q1","answers":`+goodAnswers+`,"declined":false,"justification":null}}`, k, expecting(lenient)).want(http.StatusAccepted))
		replayed(a.post(t, "/v1/sessions/"+run.session+"/questions", answer("q1", `"answers":`+goodAnswers), k).want(http.StatusOK))
		a.post(t, path, answer("q1", `"declined":true`), k).refused(api.CodeIdempotencyConflict)
	})
	parallel(t, "cancel a question", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q1")+`]`)
		path := "/v1/runs/" + run.run + "/questions/q1/cancel"
		a.post(t, path, `{"idempotency_key":"k","justification":"why"}`).want(http.StatusOK)
		replayed(a.post(t, path, `{"justification":"why"}`, key("k")).want(http.StatusOK))
		a.post(t, path, "", key("k")).refused(api.CodeIdempotencyConflict)
		a.post(t, path, "", key(`"`), expecting(semantic)).refused(api.CodeInvalidIdempotencyKey)
	})
	parallel(t, "runs, in a session and without one", func(t *testing.T) {
		session, k := a.name("session"), key(a.name("key"))
		path := "/v1/sessions/" + session + "/runs"
		first := a.post(t, path, `{"input":{"a":1,"b":2}}`, k).want(http.StatusAccepted)
		again := replayed(a.post(t, path, `{"input":{"b":2,"a":1.0}}`, k).want(http.StatusAccepted))
		require.Equal(t, first.text, again.text)
		replayed(a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":{"b":2,"a":1}}`, session), k).want(http.StatusAccepted))
		a.post(t, path, `{"input":3}`, k).refused(api.CodeIdempotencyConflict)

		made := a.post(t, "/v1/runs", `{"input":1,"claim":{"worker_id":"w"}}`, k).want(http.StatusAccepted)
		claim := replayed(a.post(t, "/v1/runs", `{"input":1,"claim":{"worker_id":"w"}}`, k).want(http.StatusAccepted))
		require.Equal(t, made.text, claim.text)
		require.Equal(t, made.header.Get("Location"), claim.header.Get("Location"))
		a.post(t, "/v1/runs", `{"input":2}`, k).refused(api.CodeIdempotencyConflict)
		a.post(t, "/v1/runs", `{"input":2}`, k, header("X-Actor", "somebody else")).want(http.StatusAccepted)
		a.post(t, path, `{"input":1}`, key("é"), expecting(semantic)).refused(api.CodeInvalidIdempotencyKey)
		a.post(t, path, `{}`, key("é")).refused(api.CodeInvalidRequest)
	})
	parallel(t, "inline input", func(t *testing.T) {
		path, k := "/v1/sessions/"+a.name("session")+"/input", key("k")
		a.post(t, path, `{"input":1}`, k, wait(0)).want(http.StatusOK)
		replayed(a.post(t, path, `{"input":1}`, k, wait(0)).want(http.StatusOK))
		a.post(t, path, `{"input":2}`, k, wait(0)).refused(api.CodeIdempotencyConflict)
	})
}

// replayed checks that the reply is marked as the replay of an earlier call.
func replayed(r *reply) *reply {
	r.t.Helper()
	require.Equal(r.t, "true", r.header.Get("Idempotency-Replayed"))
	return r
}
