package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

func testSessions(t *testing.T, a *rig) {
	parallel(t, "made with an id of the service's, and without a body", func(t *testing.T) {
		made := a.post(t, "/v1/sessions", "").want(http.StatusCreated)
		require.Equal(t, "idle", made.at("status"))
		require.Equal(t, "default", made.at("agent_id"))
		require.Nil(t, made.at("active_run"))
		require.Contains(t, made.text, `"active_run":null`)
		require.Equal(t, "/v1/sessions/"+made.textAt("session_id"), made.header.Get("Location"))
		shown := a.get(t, made.header.Get("Location")).want(http.StatusOK)
		require.Equal(t, made.text, shown.text)
	})
	parallel(t, "the same id again is the same session", func(t *testing.T) {
		id := a.name("session")
		body := fmt.Sprintf(`{"session_id":%q,"agent_id":"coder","metadata":{"a":1}}`, id)
		made := a.post(t, "/v1/sessions", body).want(http.StatusCreated)
		require.Equal(t, made.text, a.post(t, "/v1/sessions", body).want(http.StatusOK).text)
		other := a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"metadata":{"b":2}}`, id)).want(http.StatusOK)
		require.Equal(t, made.text, other.text, "an absent agent matches, other metadata is ignored")
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"agent_id":"other"}`, id)).refused(api.CodeIDConflict)
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":"p"}`, id)).refused(api.CodeIDConflict)
	})
	parallel(t, "label and origin, and with each request", func(t *testing.T) {
		id := a.name("session")
		about := `{"label":"nightly","origin":{"project":"shop","directory":"~/src/shop","host":"ada"}}`
		made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"session":%s,"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{}}],
			"questions":[{"id":"q","tool_call_id":"d","questions":[{"question":"?"}]}]}}`, id, about)).want(http.StatusAccepted)
		var want any
		require.NoError(t, json.Unmarshal([]byte(about), &want))
		session := a.get(t, "/v1/sessions/"+id).want(http.StatusOK)
		require.Equal(t, want, map[string]any{"label": session.at("label"), "origin": session.at("origin")})
		require.Equal(t, want, a.get(t, "/v1/approvals?session_id="+id+"&fields=summary").at(0, "session"))
		require.Equal(t, want, a.get(t, "/v1/questions?session_id="+id).at(0, "session"))
		require.Equal(t, want, a.get(t, "/v1/requests/"+made.textAt("pending_approvals", 0, "handle")).at("session"))
		events := a.get(t, "/v1/sessions/"+id+"/events").want(http.StatusOK)
		require.Contains(t, events.text, `"session":{"label":"nightly",`)

		changed := a.do(t, http.MethodPatch, "/v1/sessions/"+id, `{"label":"daily","metadata":{"a":1}}`).want(http.StatusOK)
		require.Equal(t, "daily", changed.at("label"))
		require.Equal(t, "shop", changed.at("origin", "project"))
		require.Equal(t, map[string]any{"a": 1.0}, changed.at("metadata"))
		require.Equal(t, "daily", a.get(t, "/v1/approvals?session_id="+id).at(0, "session", "label"))
		gone := a.do(t, http.MethodPatch, "/v1/sessions/"+id, `{"label":"","origin":{}}`).want(http.StatusOK)
		require.NotContains(t, gone.text, `"label":"daily"`)
		require.NotContains(t, gone.text, `"origin"`)
		require.NotContains(t, a.get(t, "/v1/approvals?session_id="+id).text, `"session":`)
		for body, pointer := range map[string]string{
			`{}`: "/metadata", `{"metadata":[]}`: "/metadata", `{"label":7}`: "/label", `{"origin":{"user":"ada"}}`: "/origin/user",
			`{"label":"` + strings.Repeat("é", 81) + `"}`: "/label", `{"origin":{"host":"` + strings.Repeat("x", 201) + `"}}`: "/origin/host",
		} {
			var options []option
			if body == `{}` {
				options = append(options, expecting(semantic))
			}
			refused := a.do(t, http.MethodPatch, "/v1/sessions/"+id, body, options...).refused(api.CodeInvalidRequest)
			require.Equal(t, pointer, refused.at("errors", 0, "pointer"), body)
		}
	})
	parallel(t, "a child's requests name the parent", func(t *testing.T) {
		parent, child := a.name("session"), a.name("session")
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, parent)).want(http.StatusCreated)
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).want(http.StatusCreated)
		made := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{}}],
			"questions":[{"id":"q","tool_call_id":"d","questions":[{"question":"?"}]}]}}`, child)).want(http.StatusAccepted)
		require.Equal(t, parent, a.get(t, "/v1/approvals?session_id="+parent+"&fields=summary").at(0, "parent_session_id"), "in the list of the parent")
		require.Equal(t, parent, a.get(t, "/v1/questions?session_id="+child).at(0, "parent_session_id"))
		handle := made.textAt("pending_approvals", 0, "handle")
		require.Equal(t, parent, a.get(t, "/v1/requests/"+handle).at("parent_session_id"))
		events := a.get(t, "/v1/sessions/"+child+"/events").want(http.StatusOK)
		require.Equal(t, 2, strings.Count(events.text, fmt.Sprintf(`"parent_session_id":%q`, parent)), "in the events that raise them, as the stream of the inbox sends them")
		a.post(t, "/v1/runs/"+made.textAt("run_id")+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"deny"}]}`).want(http.StatusAccepted)
		require.Equal(t, parent, a.get(t, "/v1/requests/"+handle).at("parent_session_id"), "and after it is settled")
		top := a.name("session")
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"suspend":{"approvals":[{"id":"b","tool_call_id":"c","tool_name":"t","input":{}}]}}`, top)).want(http.StatusAccepted)
		for _, address := range []string{"/v1/approvals?session_id=" + top, "/v1/sessions/" + top + "/events"} {
			require.NotContains(t, a.get(t, address).want(http.StatusOK).text, "parent_session_id")
		}
	})
	parallel(t, "a queue that is full takes no more", func(t *testing.T) {
		id := a.name("session")
		a.fillQueue(t, id)
		full := a.post(t, "/v1/sessions/"+id+"/runs", `{"input":1}`, key(id)).refused(api.CodeQueueFull)
		require.Equal(t, http.StatusTooManyRequests, full.status)
		require.Equal(t, "1", full.header.Get("Retry-After"))
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1}`, id)).refused(api.CodeQueueFull)
		queued := a.get(t, "/v1/sessions/"+id).want(http.StatusOK).list("queued_run_ids")
		require.Len(t, queued, api.MaxQueuedRuns)
		a.post(t, "/v1/runs/"+queued[7].(string)+"/cancel", "").want(http.StatusOK)
		again := a.post(t, "/v1/sessions/"+id+"/runs", `{"input":1}`, key(id)).want(http.StatusAccepted)
		require.Empty(t, again.header.Get("Idempotency-Replayed"), "a refused call leaves its key free")
	})
	parallel(t, "a key stands in for an id", func(t *testing.T) {
		k := a.name("key")
		first := a.post(t, "/v1/sessions", `{"agent_id":"coder"}`, key(k)).want(http.StatusCreated)
		require.Empty(t, first.header.Get("Idempotency-Replayed"))
		again := a.post(t, "/v1/sessions", `{"agent_id":"coder"}`, key(`"`+k+`"`)).want(http.StatusCreated)
		require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		require.Equal(t, first.at("session_id"), again.at("session_id"))
		other := a.post(t, "/v1/sessions", `{"agent_id":"coder"}`, key(k), header("X-Actor", "somebody else")).want(http.StatusCreated)
		require.NotEqual(t, first.at("session_id"), other.at("session_id"))
		a.post(t, "/v1/sessions", `{"agent_id":"other"}`, key(k)).refused(api.CodeIdempotencyConflict)
		a.post(t, "/v1/sessions", "", key(k)).refused(api.CodeIdempotencyConflict)
		a.post(t, "/v1/sessions", `{"agent_id":"coder","metadata":{"a":1}}`, key(k)).refused(api.CodeIdempotencyConflict)

		k = a.name("key")
		with := a.post(t, "/v1/sessions", `{"metadata":{"a":1.0,"b":null}}`, key(k)).want(http.StatusCreated)
		for _, same := range []string{`{"metadata":{"a":1.0,"b":null}}`, `{"agent_id":"default","metadata":{"b":null,"a":1}}`} {
			again := a.post(t, "/v1/sessions", same, key(k)).want(http.StatusCreated)
			require.Equal(t, with.at("session_id"), again.at("session_id"))
			require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
		}
		for _, other := range []string{``, `{"metadata":{}}`, `{"metadata":{"a":2,"b":null}}`, `{"metadata":{"a":1}}`, `{"parent_session_id":"p","metadata":{"a":1,"b":null}}`} {
			a.post(t, "/v1/sessions", other, key(k)).refused(api.CodeIdempotencyConflict)
		}
		empty := a.name("key")
		a.post(t, "/v1/sessions", "", key(empty)).want(http.StatusCreated)
		require.Equal(t, "true", a.post(t, "/v1/sessions", `{"metadata":null}`, key(empty), expecting(lenient)).want(http.StatusCreated).header.Get("Idempotency-Replayed"))
	})
	parallel(t, "members at fault are all named", func(t *testing.T) {
		bad := a.post(t, "/v1/sessions", `{"session_id":"a b","agent_id":"é","metadata":[]}`).refused(api.CodeInvalidRequest)
		pointers := []string{}
		for _, fault := range bad.list("errors") {
			pointers = append(pointers, fault.(map[string]any)["pointer"].(string))
		}
		require.ElementsMatch(t, []string{"/session_id", "/agent_id", "/metadata"}, pointers)
		for _, id := range []string{".", ".."} {
			a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, id), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/session_id")
		}
		a.post(t, "/v1/sessions", `{"session_id":""}`).refused(api.CodeInvalidRequest).pointer("/session_id")
		a.post(t, "/v1/sessions", `{"session_id":7}`).refused(api.CodeInvalidRequest).pointer("/session_id")
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, strings.Repeat("x", 201))).refused(api.CodeInvalidRequest).pointer("/session_id")
	})
	parallel(t, "null for an optional member is absent, an unknown member is ignored", func(t *testing.T) {
		a.post(t, "/v1/sessions", `{"agent_id":null,"metadata":null,"idempotency_key":null}`, expecting(lenient)).want(http.StatusCreated)
		a.post(t, "/v1/sessions", `{"colour":"red"}`).want(http.StatusCreated)
	})
	parallel(t, "an unknown session", func(t *testing.T) {
		for _, id := range []string{"nobody", "%00", "a%20b", "a%2Fb", "%FF", "..%2f", strings.Repeat("x", 300)} {
			missing := a.get(t, "/v1/sessions/"+id).refused(api.CodeSessionNotFound)
			require.Contains(t, missing.at("detail"), "unknown session")
		}
		a.post(t, "/v1/sessions/nobody/interrupt", "").refused(api.CodeSessionNotFound)
		a.post(t, "/v1/sessions/nobody/end", "").refused(api.CodeSessionNotFound)
		a.post(t, "/v1/sessions/a%20b/end", "").refused(api.CodeSessionNotFound)
		a.post(t, "/v1/sessions/a%20b/end", `{"reason":7}`).refused(api.CodeInvalidRequest)
	})
	parallel(t, "an id may be escaped in the path", func(t *testing.T) {
		id := a.name("a:b")
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, id)).want(http.StatusCreated)
		shown := a.get(t, "/v1/sessions/"+strings.ReplaceAll(id, ":", "%3A"), expecting(lenient)).want(http.StatusOK)
		require.Equal(t, id, shown.at("session_id"))
	})
	parallel(t, "an id is unescaped once", func(t *testing.T) {
		id := a.name("open")
		a.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, id)).want(http.StatusCreated)
		once := a.get(t, "/v1/sessions/%6f"+id[1:], expecting(lenient)).want(http.StatusOK)
		require.Equal(t, id, once.at("session_id"))
		for _, twice := range []string{"%256f" + id[1:], "%256F" + id[1:], "%25%36f" + id[1:], "%6f" + strings.Replace(id[1:], "n", "%256e", 1)} {
			a.get(t, "/v1/sessions/"+twice).refused(api.CodeSessionNotFound)
		}
	})
	parallel(t, "interrupt", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		queued := a.post(t, "/v1/sessions/"+run.session+"/runs", `{"input":2}`).want(http.StatusAccepted)
		done := a.post(t, "/v1/sessions/"+run.session+"/interrupt", `{"reason":"wrong branch"}`, header("X-Actor", "mara")).want(http.StatusOK)
		require.Equal(t, true, done.at("interrupted"))
		require.Equal(t, "idle", done.at("session", "status"))
		view := a.get(t, "/v1/runs/"+run.run).want(http.StatusOK)
		require.Equal(t, "interrupted", view.at("status"))
		require.Nil(t, view.at("pending_approvals"))
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1")).refused(api.CodeRunStateConflict).recorded(api.OutcomeCancelled)
		require.Equal(t, float64(1), a.get(t, "/v1/runs/"+queued.textAt("run_id")).at("queued_position"))
		again := a.post(t, "/v1/sessions/"+run.session+"/interrupt", "").want(http.StatusOK)
		require.Equal(t, false, again.at("interrupted"))
	})
	parallel(t, "an interrupt has no outputs", func(t *testing.T) {
		run := a.claimed(t)
		a.post(t, "/v1/runs/"+run.run+"/events", fmt.Sprintf(`{"fence":%q,"events":[{"type":"output","content":"done"}]}`, run.fence)).want(http.StatusAccepted)
		done := a.post(t, "/v1/sessions/"+run.session+"/interrupt", "").want(http.StatusOK)
		require.Equal(t, []any{}, done.at("session", "outputs"))
		require.Equal(t, 1.0, done.at("session", "outputs_count"))
	})
	parallel(t, "end", func(t *testing.T) {
		run := a.waiting(t, `"questions":[`+question("q1")+`]`)
		queued := a.post(t, "/v1/sessions/"+run.session+"/runs", `{"input":2}`).want(http.StatusAccepted)
		ended := a.post(t, "/v1/sessions/"+run.session+"/end", "").want(http.StatusOK)
		require.Equal(t, "ended", ended.at("status"))
		require.Nil(t, ended.at("active_run"))
		for _, id := range []string{run.run, queued.textAt("run_id")} {
			require.Equal(t, "cancelled", a.get(t, "/v1/runs/"+id).at("status"))
		}
		require.Equal(t, ended.text, a.post(t, "/v1/sessions/"+run.session+"/end", `{}`).want(http.StatusOK).text)
		a.post(t, "/v1/sessions/"+run.session+"/runs", `{"input":1}`).refused(api.CodeSessionEnded)
		a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1}`, run.session)).refused(api.CodeSessionEnded)
		a.post(t, "/v1/sessions/"+run.session+"/input", `{"input":1}`).refused(api.CodeSessionEnded)
	})
}
