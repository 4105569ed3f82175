package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
)

// requireReach checks the dialects with limited tokens: requests for anything out of reach
// get exactly the answer for something that does not exist, and change nothing.
func requireReach(t *testing.T, router http.Handler, keyring *auth.Keyring) {
	t.Helper()
	secret := func(body api.CreateTokenBody) string {
		made, _, err := keyring.Create(t.Context(), &body, "user:test", "")
		require.NoError(t, err)
		return made.Secret
	}
	admin := secret(api.CreateTokenBody{Name: "reaches-all", Role: api.RoleAdmin})
	call := func(secret, route, body string) *httptest.ResponseRecorder {
		method, path, _ := strings.Cut(route, " ")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secret)
		answer := httptest.NewRecorder()
		router.ServeHTTP(&endless{answer, cancel}, r)
		return answer
	}
	handleOf := func(sessionID, runID, asked string) string {
		body := `{"run_id":"` + runID + `","session_id":"` + sessionID + `","agent_id":"default","input":{},"suspend":{` + asked + `}}`
		require.Equal(t, http.StatusAccepted, call(admin, "POST /v1/runs", body).Code)
		return regexp.MustCompile(`"handle":"([^"]+)"`).FindStringSubmatch(call(admin, "GET /v1/runs/"+runID, "").Body.String())[1]
	}
	approval := `"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"command":"ls"}}]`
	question := `"questions":[{"id":"q","tool_call_id":"c","questions":[{"id":"x","header":"h","question":"which?","options":[{"id":"l","label":"l"},{"id":"r","label":"r"}]}]}]`
	their := map[string]string{
		"SESSION": "theirs:1", "RUN": "their-run", "APPROVAL": handleOf("theirs:1", "their-run", approval),
		"QUESTION": handleOf("theirs:2", "their-asks", question),
	}
	nothing := map[string]string{"SESSION": "theirs:0", "RUN": "nowhere-x", "APPROVAL": "handle-of-no-approval", "QUESTION": "handle-of-no-question"}
	handleOf("ours:1", "our-run", approval)
	put := func(text string, ids map[string]string) string {
		for name, id := range ids {
			text = strings.ReplaceAll(text, name, id)
		}
		return text
	}
	resume := `{"parent_id":"RUN","resume":{"APPROVAL":true},"context":{"parent_id":"RUN"}}`
	for bound, body := range map[string]api.CreateTokenBody{
		"sessions": {SessionPrefixes: []string{"ours:"}}, "agents": {AgentIDs: []string{"nobody"}},
	} {
		body.Name, body.Role = "bound-to-"+bound, api.RoleOperator
		operator := secret(body)
		for _, one := range []struct{ route, body string }{
			{"GET /api/approval/pending?session_id=SESSION", ""},
			{"GET /api/clarify/pending?session_id=SESSION", ""},
			{"POST /api/approval/respond", `{"session_id":"SESSION","approval_id":"APPROVAL","choice":"once"}`},
			{"POST /api/approval/respond", `{"session_id":"SESSION","approval_id":"APPROVAL","choice":"session"}`},
			{"POST /api/approval/respond", `{"session_id":"SESSION","choice":"once"}`},
			{"POST /api/clarify/respond", `{"session_id":"SESSION","clarify_id":"QUESTION","response":"l"}`},
			{"GET /api/sessions/SESSION", ""},
			{"GET /api/sessions/SESSION/approvals", ""},
			{"GET /api/sessions/SESSION/tool-input", ""},
			{"GET /api/sessions/SESSION/transcript", ""},
			{"POST /api/approvals/APPROVAL/decision", `{"decision":"accept"}`},
			{"POST /api/approvals/APPROVAL/decision", `{"decision":"acceptForSession"}`},
			{"POST /api/tool-input/QUESTION/decision", `{"decision":"accept","answers":{"x":{"answers":["l"]}}}`},
			{"POST /run", resume},
			{"POST /agents/default/run", resume},
			{"GET /runs/RUN/events", ""},
			{"GET /agents/default/runs/RUN/events", ""},
			{"POST /cancel/RUN", ""},
			{"POST /agents/default/cancel/RUN", ""},
			{"POST /chat/relay/APPROVAL", `{"sessionId":"SESSION","id":"APPROVAL","approved":true,"result":"x","decision":"allow"}`},
		} {
			got := call(operator, put(one.route, their), put(one.body, their))
			want := call(operator, put(one.route, nothing), put(one.body, nothing))
			require.Equal(t, want.Code, got.Code, "%s %s: %s", bound, one.route, got.Body)
			wanted := want.Body.String()
			for name, id := range nothing {
				wanted = strings.ReplaceAll(wanted, id, their[name])
			}
			require.Equal(t, wanted, got.Body.String(), "%s %s", bound, one.route)
		}
		require.NotContains(t, call(operator, "GET /api/sessions", "").Body.String(), "their")
	}
	for runID, status := range map[string]string{"their-run": "waiting_for_approval", "their-asks": "waiting_for_user_question"} {
		require.Contains(t, call(admin, "GET /v1/runs/"+runID, "").Body.String(), status)
	}
	// A token may reach a run without its session: the log of the run is there to its end.
	require.Equal(t, http.StatusCreated, call(admin, "POST /v1/sessions", `{"session_id":"theirs:3","agent_id":"planner"}`).Code)
	require.Equal(t, http.StatusAccepted, call(admin, "POST /v1/runs", `{"run_id":"our-part","session_id":"theirs:3","agent_id":"coder","input":{}}`).Code)
	require.Equal(t, http.StatusOK, call(admin, "POST /v1/runs/our-part/cancel", "").Code)
	coders := secret(api.CreateTokenBody{Name: "reaches-a-run", Role: api.RoleObserver, AgentIDs: []string{"coder"}})
	require.Equal(t, http.StatusNotFound, call(coders, "GET /v1/sessions/theirs:3", "").Code)
	log := call(coders, "GET /runs/our-part/events", "")
	require.Equal(t, http.StatusOK, log.Code, log.Body)
	require.Contains(t, log.Body.String(), `"done":true,"expired":false`)
	reaches := secret(api.CreateTokenBody{Name: "reaches", Role: api.RoleOperator, SessionPrefixes: []string{"ours:"}})
	require.Contains(t, call(reaches, "GET /api/sessions", "").Body.String(), "ours:1")
	require.Contains(t, call(reaches, "GET /api/approval/pending?session_id=ours:1", "").Body.String(), `"command": "ls"`)
	require.Equal(t, http.StatusOK, call(reaches, "POST /api/approval/respond", `{"session_id":"ours:1","choice":"once"}`).Code)
}
