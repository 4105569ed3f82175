package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func testRuns(t *testing.T, a *rig) {
	parallel(t, "queued in a session that is made by it", func(t *testing.T) {
		session := a.name("session")
		made := a.post(t, "/v1/sessions/"+session+"/runs",
			`{"kind":"input","input":{"b":1,"a":"é"},"agent_id":"coder","metadata":{"m":[1]},"source_plugin":"cron","source_kind":"tick","actor_id":"mara"}`).want(http.StatusAccepted)
		require.Equal(t, "/v1/runs/"+made.textAt("run_id"), made.header.Get("Location"))
		require.Equal(t, "queued", made.at("status"))
		require.Equal(t, float64(1), made.at("queued_position"))
		require.Equal(t, map[string]any{
			"source_plugin": "cron", "source_kind": "tick", "actor_id": "mara", "text_preview": `{"b":1,"a":"é"}`,
		}, made.at("request"))
		view := a.get(t, "/v1/sessions/"+session).want(http.StatusOK)
		require.Equal(t, "idle", view.at("status"), "a session is idle until the first claim of a run")
		require.Nil(t, view.at("active_run"))
		require.Equal(t, []any{made.at("run_id")}, view.at("queued_run_ids"))
		second := a.post(t, "/v1/sessions/"+session+"/runs", `{"input":null}`).want(http.StatusAccepted)
		require.Equal(t, float64(2), second.at("queued_position"))
		require.Equal(t, "coder", second.at("agent_id"), "the session's agent")
		require.Equal(t, "user:local", second.at("request", "actor_id"))
		require.Equal(t, second.text, a.get(t, second.header.Get("Location")).want(http.StatusOK).text)
	})
	parallel(t, "content is another name of input", func(t *testing.T) {
		for _, path := range []string{"/v1/runs", "/v1/sessions/" + a.name("s") + "/runs"} {
			k := a.name("key")
			made := a.post(t, path, `{"content":"hello","metadata":null}`, key(k), expecting(lenient)).want(http.StatusAccepted)
			require.Equal(t, "hello", made.at("request", "text_preview"))
			again := a.post(t, path, `{"input":"hello"}`, key(k)).want(http.StatusAccepted)
			require.Equal(t, made.at("run_id"), again.at("run_id"), "the two names make the same call")
			claim := a.post(t, "/v1/runs/"+made.textAt("run_id")+"/claim", `{"worker_id":"w"}`).want(http.StatusOK)
			require.Equal(t, "hello", claim.at("input"))
			a.post(t, path, `{"input":"ls","content":"rm"}`).refused(api.CodeInvalidRequest).pointer("/content")
			a.post(t, path, `{"input":null,"content":"rm"}`).refused(api.CodeInvalidRequest).pointer("/content")
			a.post(t, path, `{"content":null}`).want(http.StatusAccepted)
		}
	})
	parallel(t, "members at fault", func(t *testing.T) {
		for _, bad := range []struct{ body, pointer string }{
			{`{}`, "/input"},
			{`{"input":1,"kind":"goal_continuation"}`, "/kind"},
			{`{"input":1,"run_id":"a b"}`, "/run_id"},
			{`{"input":1,"run_id":""}`, "/run_id"},
			{`{"input":1,"agent_id":""}`, "/agent_id"},
			{`{"input":1,"metadata":7}`, "/metadata"},
			{`{"input":1,"source_kind":"` + strings.Repeat("x", 201) + `"}`, "/source_kind"},
			{`{"input":1,"idempotency_key":7}`, "/idempotency_key"},
		} {
			a.post(t, "/v1/runs", bad.body).refused(api.CodeInvalidRequest).pointer(bad.pointer)
			a.post(t, "/v1/sessions/"+a.name("s")+"/runs", bad.body).refused(api.CodeInvalidRequest).pointer(bad.pointer)
		}
		for _, bad := range []struct{ body, pointer string }{
			{`{"input":1,"session_id":""}`, "/session_id"},
			{`{"input":1,"session_id":"a/b"}`, "/session_id"},
			{`{"input":1,"claim":{}}`, "/claim/worker_id"},
			{`{"input":1,"claim":{"worker_id":"w","lease_ms":999}}`, "/claim/lease_ms"},
			{`{"input":1,"claim":{"worker_id":"w","lease_ms":3600001}}`, "/claim/lease_ms"},
			{`{"input":1,"claim":{"worker_id":"w","lease_ms":1.5}}`, "/claim/lease_ms"},
			{`{"input":1,"claim":[]}`, "/claim"},
			{`{"input":1,"suspend":{"approvals":[{}]}}`, "/suspend/approvals/0/id"},
		} {
			a.post(t, "/v1/runs", bad.body).refused(api.CodeInvalidRequest).pointer(bad.pointer)
		}
		a.post(t, "/v1/runs", `{"input":1,"suspend":{}}`, expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/suspend/approvals")
		a.post(t, "/v1/runs", `{"input":1,"suspend":{"hold":true,"approvals":[`+approval("a")+`]}}`, expecting(semantic)).
			refused(api.CodeInvalidRequest).pointer("/suspend/hold")
		a.post(t, "/v1/sessions/a%20b/runs", `{"input":1}`).refused(api.CodeInvalidRequest).pointer("/session_id")
	})
	parallel(t, "a chosen id makes the call idempotent by itself", func(t *testing.T) {
		session, run := a.name("session"), a.name("run")
		body := fmt.Sprintf(`{"run_id":%q,"input":{"x":1,"y":2}}`, run)
		made := a.post(t, "/v1/sessions/"+session+"/runs", body).want(http.StatusAccepted)
		require.Equal(t, run, made.at("run_id"))
		again := a.post(t, "/v1/sessions/"+session+"/runs", fmt.Sprintf(`{"run_id":%q,"input":{"y":2,"x":1}}`, run)).want(http.StatusOK)
		require.Equal(t, made.text, again.text)
		require.Empty(t, again.header.Get("Location"))
		a.post(t, "/v1/sessions/"+session+"/runs", fmt.Sprintf(`{"run_id":%q,"input":3}`, run)).refused(api.CodeIDConflict)
		a.post(t, "/v1/sessions/"+a.name("other")+"/runs", body).refused(api.CodeIDConflict)
		require.Equal(t, made.text, a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"run_id":%q,"input":{"y":2,"x":1}}`, session, run)).want(http.StatusOK).text)
	})
	parallel(t, "with a claim the reply is the claim", func(t *testing.T) {
		made := a.post(t, "/v1/runs", `{"input":[1,2],"claim":{"worker_id":"w1"}}`).want(http.StatusAccepted)
		require.Equal(t, "running", made.at("run", "status"))
		require.Equal(t, []any{1.0, 2.0}, made.at("input"))
		require.Equal(t, 1.0, made.at("attempt"))
		require.Equal(t, "1", made.at("lease", "fence"))
		require.Equal(t, "w1", made.at("lease", "worker_id"))
		require.Equal(t, "/v1/runs/"+made.textAt("run", "run_id"), made.header.Get("Location"))
		require.NotContains(t, a.get(t, made.header.Get("Location")).text, "fence", "the fence is its holder's alone")
		session := made.textAt("run", "session_id")
		body := fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w2"}}`, session)
		a.post(t, "/v1/runs", body).refused(api.CodeRunNotClaimable)
		require.Empty(t, a.get(t, "/v1/sessions/"+session).list("queued_run_ids"), "nothing was made")
	})
	parallel(t, "with a claim and a chosen id, again", func(t *testing.T) {
		body := fmt.Sprintf(`{"run_id":%q,"input":[1,2],"claim":{"worker_id":"w1"}}`, a.name("run"))
		made := a.post(t, "/v1/runs", body).want(http.StatusAccepted)
		require.Equal(t, made.text, a.post(t, "/v1/runs", body).want(http.StatusOK).text)
	})
	parallel(t, "with a suspension the run waits at once", func(t *testing.T) {
		made := a.post(t, "/v1/runs", `{"input":"go","suspend":{"approvals":[`+approval("a1")+`],"questions":[`+question("q1")+`]}}`).want(http.StatusAccepted)
		require.Equal(t, "waiting_for_user_question", made.at("status"), "questions are shown first")
		require.Equal(t, []any{"a1"}, made.at("pending_approval_ids"))
		require.Equal(t, []any{"q1"}, made.at("pending_question_ids"))
		require.Nil(t, made.at("lease"))
		held := a.attached(t, `"approvals":[`+approval("a1")+`]`)
		view := a.get(t, "/v1/runs/"+held.run).want(http.StatusOK)
		require.Equal(t, "waiting_for_approval", view.at("status"))
		require.Equal(t, "w1", view.at("lease", "worker_id"))
	})
	parallel(t, "cancel", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		next := a.post(t, "/v1/sessions/"+run.session+"/runs", `{"input":2}`).want(http.StatusAccepted)
		done := a.post(t, "/v1/runs/"+run.run+"/cancel", `{"reason":"no longer needed"}`).want(http.StatusOK)
		require.Equal(t, "cancelled", done.at("status"))
		require.Equal(t, "no longer needed", done.at("error"))
		require.Equal(t, done.text, a.post(t, "/v1/runs/"+run.run+"/cancel", "").want(http.StatusOK).text)
		a.post(t, "/v1/runs/"+next.textAt("run_id")+"/claim", `{"worker_id":"w1"}`).want(http.StatusOK)
	})
	parallel(t, "inline input is busy while a run is active or queued", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		a.post(t, "/v1/sessions/"+run.session+"/input", `{"input":1}`).refused(api.CodeSessionBusy)
		queued := a.name("session")
		a.post(t, "/v1/sessions/"+queued+"/runs", `{"input":1}`).want(http.StatusAccepted)
		a.post(t, "/v1/sessions/"+queued+"/input", `{"input":1}`).refused(api.CodeSessionBusy)
	})
}
