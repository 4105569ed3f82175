package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// expired is an approval whose deadline is past already.
const expired = `{"id":"late","tool_call_id":"c","tool_name":"bash","input":1,"expires_at_ms":1}`

func testApprovals(t *testing.T, a *rig) {
	parallel(t, "by run", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`]`)
		path := "/v1/runs/" + run.run + "/approvals"
		partial := a.post(t, path, allow("a2"), header("X-Actor", "Mara É.")).want(http.StatusAccepted)
		require.Equal(t, "/v1/runs/"+run.run, partial.header.Get("Location"))
		require.Equal(t, "waiting_for_approval", partial.at("status"), "the others stay open")
		require.Equal(t, []any{"a1"}, partial.at("pending_approval_ids"))
		done := a.post(t, path, `{"resolutions":[{"request_id":"a1","behavior":"deny","reason":"not on a Friday","justification":"policy","updated_input":{"command":"true"}}]}`).want(http.StatusAccepted)
		require.Equal(t, "running", done.at("status"))
		require.Equal(t, "allowed", done.at("resume", "approvals", 0, "resolution", "outcome"))
		require.Equal(t, "Mara É.", done.at("resume", "approvals", 0, "resolution", "resolved_by"))
		denied := done.at("resume", "approvals", 1, "resolution").(map[string]any)
		delete(denied, "resolved_at_ms")
		require.Equal(t, map[string]any{
			"request_id": "a1", "outcome": "denied", "behavior": "deny", "reason": "not on a Friday", "justification": "policy",
			"updated_input": map[string]any{"command": "true"}, "resolved_by": "user:local", "via": "api",
		}, denied)
	})
	parallel(t, "by session, as session and as run", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`]`)
		view := a.post(t, "/v1/sessions/"+run.session+"/approvals", allow("a1")).want(http.StatusOK)
		require.Equal(t, "waiting_for_approval", view.at("status"))
		require.Equal(t, 1.0, view.at("pending_count"))
		done := a.post(t, "/v1/sessions/"+run.session+"/approval-runs", allow("a2")).want(http.StatusAccepted)
		require.Equal(t, "running", done.at("status"))
		require.Equal(t, "/v1/runs/"+run.run, done.header.Get("Location"))
	})
	parallel(t, "what was shown is decided, or nothing", func(t *testing.T) {
		ls := `{"id":"ap1","tool_call_id":"c","tool_name":"bash","input":{"command":"ls"}}`
		first := a.waiting(t, `"approvals":[`+ls+`]`)
		shown := a.get(t, "/v1/runs/"+first.run).want(http.StatusOK)
		digest, handle := shown.at("pending_approvals", 0, "input_digest"), shown.at("pending_approvals", 0, "handle")
		require.Equal(t, "sha256:4cf29611a66934862f29acfcc817e30b905c1ab73d5e65831413eb6b454d49db", digest)
		require.Equal(t, digest, a.get(t, "/v1/sessions/"+first.session).want(http.StatusOK).at("pending_approvals", 0, "input_digest"))

		// The agent puts another run with the same request id in its place.
		a.post(t, "/v1/runs/"+first.run+"/cancel", `{}`).want(http.StatusOK)
		second := a.post(t, "/v1/runs", `{"session_id":"`+first.session+`","input":"x","suspend":{"approvals":[`+strings.Replace(ls, "ls", "rm -rf /data", 1)+`]}}`).want(http.StatusAccepted)
		path := "/v1/sessions/" + first.session + "/approvals"
		open := a.get(t, "/v1/runs/"+second.at("run_id").(string)).want(http.StatusOK)
		for _, member := range []string{fmt.Sprintf(`"input_digest":%q`, digest), fmt.Sprintf(`"handle":%q`, handle)} {
			refused := a.post(t, path, `{"resolutions":[{"request_id":"ap1","behavior":"allow",`+member+`}]}`).refused(api.CodeApprovalChanged)
			require.Equal(t, map[string]any{
				"request_id": "ap1", "handle": open.at("pending_approvals", 0, "handle"),
				"input_digest": open.at("pending_approvals", 0, "input_digest"),
			}, refused.at("pending_approval"))
		}
		a.post(t, path, fmt.Sprintf(`{"resolutions":[{"request_id":"ap1","behavior":"deny","input_digest":%q}]}`,
			open.at("pending_approvals", 0, "input_digest"))).want(http.StatusOK)
	})
	parallel(t, "what does not fit the schema, before anything else", func(t *testing.T) {
		for _, path := range []string{"/v1/runs/nobody/approvals", "/v1/sessions/nobody/approvals", "/v1/sessions/nobody/approval-runs"} {
			for _, bad := range []struct{ body, pointer string }{
				{`{}`, "/resolutions"},
				{`{"resolutions":null}`, "/resolutions"},
				{`{"resolutions":{}}`, "/resolutions"},
				{`{"resolution":[]}`, "/resolutions"},
				{`{"resolutions":[7]}`, "/resolutions/0"},
				{`{"resolutions":[{"request_id":"a","behavior":"allow"},{"behavior":"allow"}]}`, "/resolutions/1/request_id"},
				{`{"resolutions":[{"request_id":"a","behavior":"maybe"}]}`, "/resolutions/0/behavior"},
				{`{"resolutions":[{"request_id":"a"}]}`, "/resolutions/0/behavior"},
				{`{"resolutions":[{"request_id":"a","behavior":"allow","reason":7}]}`, "/resolutions/0/reason"},
				{`{"resolutions":[{"request_id":"a","behavior":"allow","reason":"` + strings.Repeat("x", 16385) + `"}]}`, "/resolutions/0/reason"},
			} {
				a.post(t, path, bad.body, key(" ")).refused(api.CodeInvalidRequest).pointer(bad.pointer)
			}
			a.post(t, path, allow("a1"), key(" "), expecting(semantic)).refused(api.CodeInvalidIdempotencyKey)
		}
		a.post(t, "/v1/runs/nobody/approvals", allow("a1")).refused(api.CodeRunNotFound)
		a.post(t, "/v1/runs/a%20b/approvals", allow("a1")).refused(api.CodeRunNotFound)
		a.post(t, "/v1/sessions/nobody/approvals", allow("a1")).refused(api.CodeSessionNotFound)
		a.post(t, "/v1/sessions/nobody/approval-runs", allow()).refused(api.CodeSessionNotFound)
	})
	parallel(t, "a bad item refuses the whole batch, in its order", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`,`+approval("a2")+`,`+approval("a3")+`],"questions":[`+question("q1")+`]`)
		path := "/v1/runs/" + run.run + "/approvals"
		a.post(t, path, allow("a1")).want(http.StatusAccepted)
		before := a.get(t, "/v1/runs/"+run.run).text
		for _, bad := range []struct {
			batch string
			code  api.Code
		}{
			{allow(), api.CodeApprovalBatchEmpty},
			{allow("a2", "a2", "nobody"), api.CodeApprovalDuplicate},
			{allow("nobody", "a2", "a2"), api.CodeApprovalNotPending},
			{allow("a2", "nobody", "a3"), api.CodeApprovalNotPending},
			{allow("a2", "a3", "é"), api.CodeApprovalNotPending},
			{allow("a2", "q1"), api.CodeApprovalNotPending},
		} {
			a.post(t, path, bad.batch).refused(bad.code).recorded("")
			require.Equal(t, before, a.get(t, "/v1/runs/"+run.run).text)
		}
		a.post(t, path, allow("a2", "a1")).refused(api.CodeApprovalNotPending).recorded(api.OutcomeAllowed)
	})
	parallel(t, "an edited input is held to its schema and carried whole", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"t","input":{"n":1},"input_schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"to":{"format":"email"}}}}]`)
		path := "/v1/runs/" + run.run + "/approvals"
		edited := func(input string) string {
			return `{"resolutions":[{"request_id":"a1","behavior":"allow","updated_input":` + input + `}]}`
		}
		bad := a.post(t, path, edited(`{"n":"two"}`), expecting(semantic)).refused(api.CodeInvalidRequest)
		bad.pointer("/resolutions/0/updated_input/n")
		a.post(t, path, edited(`[]`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolutions/0/updated_input")
		a.post(t, path, edited(`{"n":2,"to":"ada"}`), expecting(semantic)).refused(api.CodeInvalidRequest).pointer("/resolutions/0/updated_input/to")
		done := a.post(t, path, edited(`{"n":2,"list":[true,null,1.50,"é"]}`)).want(http.StatusAccepted)
		require.Contains(t, done.text, `"updated_input":{"n":2,"list":[true,null,1.50,"é"]}`)
	})
	parallel(t, "an input that may not be edited", func(t *testing.T) {
		input := `{"text":"x"}`
		run := a.waiting(t, `"approvals":[{"id":"a1","tool_call_id":"c","tool_name":"t","input":`+input+`,"input_schema":false}]`)
		path := "/v1/runs/" + run.run + "/approvals"
		for _, edited := range []string{input, `{"text":"y"}`} {
			refused := a.post(t, path, `{"resolutions":[{"request_id":"a1","behavior":"allow","updated_input":`+edited+`}]}`, expecting(semantic)).refused(api.CodeInvalidRequest)
			refused.pointer("/resolutions/0/updated_input")
			require.Equal(t, "is not allowed", refused.at("errors", 0, "detail"))
		}
		a.post(t, path, allow("a1")).want(http.StatusAccepted)
	})
	parallel(t, "too late", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		path := "/v1/runs/" + run.run + "/approvals"
		a.post(t, path, allow("a1")).want(http.StatusAccepted)
		for _, path := range []string{path, "/v1/sessions/" + run.session + "/approvals", "/v1/sessions/" + run.session + "/approval-runs"} {
			late := a.post(t, path, deny("a1")).refused(api.CodeApprovalStateConflict).recorded(api.OutcomeAllowed)
			require.Equal(t, "a1", late.at("recorded_decision", "request_id"))
			require.Equal(t, "user:local", late.at("recorded_decision", "resolved_by"))
		}
		a.post(t, path, allow()).refused(api.CodeApprovalStateConflict)
		a.post(t, "/v1/runs/"+run.run+"/cancel", "").want(http.StatusOK)
		a.post(t, path, deny("a1")).refused(api.CodeRunStateConflict).recorded(api.OutcomeAllowed)
		a.post(t, "/v1/sessions/"+run.session+"/approvals", deny("a1")).refused(api.CodeRunStateConflict)
		a.post(t, "/v1/sessions/"+run.session+"/approval-runs", deny("a1")).refused(api.CodeRunStateConflict)
		queued := a.post(t, "/v1/runs", `{"input":1}`).want(http.StatusAccepted)
		a.post(t, "/v1/runs/"+queued.textAt("run_id")+"/approvals", allow("a1")).refused(api.CodeApprovalStateConflict)
	})
	parallel(t, "too late about a call: what the call's route says", func(t *testing.T) {
		call := a.post(t, "/v1/runs", `{"kind":"call","input":1,"suspend":{"approvals":[`+approval("c1")+`]}}`).want(http.StatusAccepted)
		session, run := call.textAt("session_id"), call.textAt("run_id")
		a.post(t, "/v1/runs/"+run+"/approvals", allow("c1")).want(http.StatusAccepted)
		late := func(code api.Code) {
			t.Helper()
			want := a.post(t, "/v1/runs/"+run+"/approvals", deny("c1")).refused(code).recorded(api.OutcomeAllowed)
			for _, route := range []string{"/approvals", "/approval-runs"} {
				require.Equal(t, want.text, a.post(t, "/v1/sessions/"+session+route, deny("c1")).refused(code).text)
			}
		}
		late(api.CodeApprovalStateConflict)
		active := a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"suspend":{"approvals":[%s]}}`, session, approval("a1"))).want(http.StatusAccepted)
		late(api.CodeApprovalStateConflict)
		a.post(t, "/v1/runs/"+run+"/cancel", "").want(http.StatusOK)
		late(api.CodeRunStateConflict)
		a.post(t, "/v1/runs/"+active.textAt("run_id")+"/cancel", "").want(http.StatusOK)
		late(api.CodeRunStateConflict)
	})
	parallel(t, "expired is never shown as denied", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+expired+`,`+approval("a1")+`]`)
		path := "/v1/runs/" + run.run + "/approvals"
		a.post(t, path, allow("late")).refused(api.CodeApprovalNotPending).recorded(api.OutcomeExpired)
		done := a.post(t, path, allow("a1")).want(http.StatusAccepted)
		require.Equal(t, "expired", done.at("resume", "approvals", 0, "resolution", "outcome"))
		require.Equal(t, "deny", done.at("resume", "approvals", 0, "resolution", "behavior"))
		require.Equal(t, "clock", done.at("resume", "approvals", 0, "resolution", "via"))
		alone := a.waiting(t, `"approvals":[`+expired+`]`)
		a.post(t, "/v1/runs/"+alone.run+"/approvals", allow("late")).refused(api.CodeApprovalStateConflict).recorded(api.OutcomeExpired)
	})
	parallel(t, "who decides must be printable", func(t *testing.T) {
		run := a.waiting(t, `"approvals":[`+approval("a1")+`]`)
		for _, actor := range []string{" ", strings.Repeat("x", 201), "\xff", "a\tb"} {
			a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1"), header("X-Actor", actor), unchecked()).refused(api.CodeBadRequest)
		}
		a.post(t, "/v1/runs/"+run.run+"/approvals", allow("a1"), header("X-Actor", "a"), header("X-Actor", "b"), unchecked()).refused(api.CodeBadRequest)
	})
	parallel(t, "two identical calls are two requests", func(t *testing.T) {
		same := `{"id":"%s","tool_call_id":"same","tool_name":"bash","input":{"command":"ls"}}`
		run := a.waiting(t, `"approvals":[`+fmt.Sprintf(same, "one")+`,`+fmt.Sprintf(same, "two")+`]`)
		view := a.get(t, "/v1/runs/"+run.run)
		require.NotEqual(t, view.textAt("pending_approvals", 0, "handle"), view.textAt("pending_approvals", 1, "handle"))
		left := a.post(t, "/v1/runs/"+run.run+"/approvals", allow("two")).want(http.StatusAccepted)
		require.Equal(t, []any{"one"}, left.at("pending_approval_ids"))
	})
}

// A session's route says nothing of a call that the caller's token does not reach.
func TestLateDecisionOutOfReach(t *testing.T) {
	t.Parallel()
	a, keyring := closed(t, openSQLite(t), newContract(t))
	admin := ofRole(t, keyring, api.RoleAdmin)
	_, operator := token(t, keyring, api.CreateTokenBody{Name: "ours", Role: api.RoleOperator, AgentIDs: []string{"ours"}})
	a.post(t, "/v1/sessions", `{"session_id":"s","agent_id":"ours"}`, bearer(admin)).want(http.StatusCreated)
	a.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":"s","run_id":"their-call","agent_id":"theirs","kind":"call","input":1,"suspend":{"approvals":[%s,%s]}}`,
		approval("settled"), approval("open")), bearer(admin)).want(http.StatusAccepted)
	a.post(t, "/v1/runs/their-call/approvals", allow("settled"), bearer(admin)).want(http.StatusAccepted)
	for _, route := range []string{"/v1/sessions/s/approvals", "/v1/sessions/s/approval-runs"} {
		unknown := a.post(t, route, deny("unknown"), bearer(operator)).refused(api.CodeRunStateConflict)
		for _, id := range []string{"settled", "open"} {
			require.Equal(t, unknown.text, a.post(t, route, deny(id), bearer(operator)).text, id)
		}
	}
	left := a.get(t, "/v1/runs/their-call", bearer(admin)).want(http.StatusOK)
	require.Equal(t, []any{"open"}, left.at("pending_approval_ids"))
}
