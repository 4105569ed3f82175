package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// ofRoles are the roles that may call each route of a dialect. It is written from the
// purpose of the roles, independently of the actions in the tables of routes.
var ofRoles = map[string]string{
	"GET /api/approval/pending": "oAOR", "GET /api/clarify/pending": "oAOR",
	"POST /api/approval/respond": "OR", "POST /api/clarify/respond": "OR",
	"GET /api/sessions": "oAOR", "GET /api/models": "oAOR", "GET /api/capabilities": "oAOR",
	"GET /api/sessions/s/approvals": "oAOR", "GET /api/sessions/s/tool-input": "oAOR", "GET /api/sessions/s/transcript": "oAOR",
	"POST /api/approvals/a/decision": "OR", "POST /api/tool-input/a/decision": "OR",
	"POST /stream": "AOR", "POST /run": "AOR", "POST /agents/a/stream": "AOR", "POST /agents/a/run": "AOR",
	"GET /runs/r/events": "oAOR", "GET /agents/a/runs/r/events": "oAOR",
	"POST /cancel/r": "AOR", "POST /agents/a/cancel/r": "AOR", "GET /healthcheck": "oAOR", "GET /agents/a/healthcheck": "oAOR",
	"GET /models": "oAOR", "POST /chat": "AOR", "POST /chat/relay/r": "OR",
	"POST /mcp": "AOR", "POST /mcp?for=agents": "AR", "POST /mcp?for=people": "OR", "POST /mcp?for=both": "R",
}

// requireRoles calls the routes of the dialects with a credential of every role, and the
// less obvious routes that write.
func requireRoles(t *testing.T, router http.Handler, keyring, other *auth.Keyring) {
	t.Helper()
	secrets := map[rune]string{}
	for letter, role := range map[rune]api.Role{'o': api.RoleObserver, 'A': api.RoleAgent, 'O': api.RoleOperator, 'R': api.RoleAdmin} {
		made, _, err := keyring.Create(t.Context(), &api.CreateTokenBody{Name: string(role), Role: role}, "user:test", "")
		require.NoError(t, err)
		secrets[letter] = made.Secret
	}
	call := func(letter rune, route, body string) *httptest.ResponseRecorder {
		method, path, _ := strings.Cut(route, " ")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+secrets[letter])
		answer := httptest.NewRecorder()
		router.ServeHTTP(&endless{answer, cancel}, r)
		require.NotContains(t, answer.Body.String(), secrets[letter])
		return answer
	}
	for route, allowed := range ofRoles {
		for letter := range secrets {
			answer := call(letter, route, "[]")
			require.Less(t, answer.Code, 500, "%c %s: %s", letter, route, answer.Body)
			require.Equal(t, !strings.ContainsRune(allowed, letter), answer.Code == http.StatusForbidden, "%c %s: %d %s", letter, route, answer.Code, answer.Body)
		}
	}

	// A run that waits for an approval, as a worker creates it.
	body := `{"run_id":"waits","session_id":"s","agent_id":"default","input":{},"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"command":"ls"}}]}}`
	require.Equal(t, http.StatusAccepted, call('A', "POST /v1/runs", body).Code)
	waits := func() bool {
		return strings.Contains(call('o', "GET /v1/runs/waits", "").Body.String(), "waiting_for_approval")
	}
	handle := regexp.MustCompile(`"handle":"([^"]+)"`).FindStringSubmatch(call('o', "GET /v1/runs/waits", "").Body.String())[1]
	resume := `{"parent_id":"waits","resume":{"` + handle + `":true},"context":{"parent_id":"waits"}}`
	for _, hidden := range []struct{ route, body string }{
		{"POST /run", resume},
		{"POST /agents/default/run", resume},
		{"POST /chat", `{"messages":[{"role":"user","content":"x"}],"prompt":"x","permissions":{"allow":["bash"]}}`},
	} {
		answer := call('A', hidden.route, hidden.body)
		require.GreaterOrEqual(t, answer.Code, 400, "%s: %s", hidden.route, answer.Body)
		require.True(t, waits(), "an agent decides nothing, whatever the words: %s: %s %s", hidden.route, answer.Body, call('R', "GET /v1/runs/waits", "").Body)
		require.Equal(t, "[]\n", call('o', "GET /v1/rules", "").Body.String())
	}
	// An operator's decision must not be remembered for all sessions.
	always := `{"session_id":"s","approval_id":"` + handle + `","choice":"always"}`
	require.Equal(t, http.StatusForbidden, call('O', "POST /api/approval/respond", always).Code)
	require.True(t, waits())
	// A token revoked after its call has arrived decides nothing on any face; no time
	// passes here.
	made, _, err := keyring.Create(t.Context(), &api.CreateTokenBody{Name: "revoked", Role: api.RoleOperator}, "user:test", "")
	require.NoError(t, err)
	secrets['X'] = made.Secret
	require.Equal(t, http.StatusOK, call('X', "GET /v1/me", "").Code)
	require.NoError(t, other.Revoke(t.Context(), made.Token.TokenID, true))
	for _, late := range []struct{ route, body string }{
		{"POST /api/approval/respond", strings.Replace(always, "always", "once", 1)},
		{"POST /api/approvals/" + handle + "/decision", `{"decision":"accept"}`},
		{"POST /run", resume},
		{"POST /cancel/waits", ""},
	} {
		answer := call('X', late.route, late.body)
		require.Equal(t, withoutCredential(late.route), answer.Code, "%s: %s", late.route, answer.Body)
		require.Equal(t, `Bearer realm="holdpoint", error="invalid_token"`, answer.Header().Get("WWW-Authenticate"), late.route)
		require.True(t, waits())
	}
	require.Equal(t, http.StatusOK, call('O', "POST /api/approval/respond", strings.Replace(always, "always", "once", 1)).Code)
	require.False(t, waits())
}

// withoutCredential returns the status of a call whose credential is missing or invalid.
// Clients of hermes take a 401 as the end of their own sign-in.
func withoutCredential(route string) int {
	if strings.Contains(route, "/api/approval/") || strings.Contains(route, "/api/clarify/") {
		return http.StatusForbidden
	}
	return http.StatusUnauthorized
}

// Every route of every face names an action that some role may do, and no other face has it. Each
// route that is not public refuses a call without a credential.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	keyring := auth.NewKeyring(auth.Options{Tokens: store, Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return 1 }})
	command := Command{Dialects: dialects.Names(), DefaultAgent: "default", RelayAlways: "exact", ReviewHook: "http://127.0.0.1:1"}
	whole := httpapi.New(httpapi.Options{Store: store, Hub: watch.NewHub(), Keyring: keyring, Faces: command.faces(nil), Hosts: []string{"*"}})
	defer whole.Drain()
	other := auth.NewKeyring(auth.Options{Tokens: store, Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return 1 }})
	requireRoles(t, whole.Handler(), keyring, other)
	requireReach(t, whole.Handler(), keyring)
	admin, _, err := keyring.Create(t.Context(), &api.CreateTokenBody{Name: "root", Role: api.RoleAdmin}, "user:test", "")
	require.NoError(t, err)
	of := map[string]string{}
	for _, face := range whole.Faces() {
		require.Equal(t, face.Over == nil, len(face.Routes) > 0, face.Name)
		for _, route := range face.Routes {
			require.NotEqual(t, "no role", auth.RolesFor(route.Action), route.Path)
			for _, method := range route.Methods {
				name := method + " " + route.Path
				require.Empty(t, of[name], "%s has %s, and so has %s", face.Name, name, of[name])
				of[name] = face.Name
				if route.Action == auth.Public {
					continue
				}
				require.NoError(t, refusesStrangers(t.Context(), whole.Handler(), method, route.Path))
				if name == "POST /api/approval/respond" {
					require.Error(t, refusesStrangers(t.Context(), signsIn{whole.Handler(), admin.Secret}, method, route.Path), "a planted defect is found")
				}
			}
		}
	}
	require.NotEmpty(t, of["POST /api/approval/respond"])
}

// refusesStrangers returns an error unless a route refuses a call without a credential.
func refusesStrangers(ctx context.Context, handler http.Handler, method, route string) error {
	answer := httptest.NewRecorder()
	path := strings.NewReplacer("{", "", "}", "").Replace(route)
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader("{}")))
	if answer.Code != withoutCredential(route) || answer.Header().Get("WWW-Authenticate") != `Bearer realm="holdpoint"` {
		return fmt.Errorf("%s %s: %d %s", method, route, answer.Code, answer.Body)
	}
	return nil
}

// signsIn is a handler that takes a caller without a credential for the owner of a token.
type signsIn struct {
	http.Handler
	secret string
}

func (s signsIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+s.secret)
	}
	s.Handler.ServeHTTP(w, r)
}
