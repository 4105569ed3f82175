package serve

import (
	"bufio"
	"context"
	"io"
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
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	testfaces "github.com/holdpoint/holdpoint/test/faces"
)

// faces is a service with all faces that requires tokens.
type faces struct {
	t       *testing.T
	server  *httptest.Server
	keyring *auth.Keyring
}

func newFaces(t *testing.T) *faces {
	t.Helper()
	store := dialecttest.SQLite(t)
	tokens, ok := store.(auth.Tokens)
	require.True(t, ok)
	f := &faces{t: t, keyring: auth.NewKeyring(auth.Options{Tokens: tokens, Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return 1 }})}
	served := (&Command{Dialects: dialects.Names(), DefaultAgent: "default", RelayAlways: "exact"}).faces(nil)
	f.server = dialecttest.Serve(t, store, nil, func(o *httpapi.Options) { o.Keyring, o.Faces = f.keyring, served }).Server
	return f
}

func (f *faces) token(body api.CreateTokenBody) string {
	f.t.Helper()
	made, _, err := f.keyring.Create(f.t.Context(), &body, "user:test", "")
	require.NoError(f.t, err)
	return made.Secret
}

func (f *faces) open(ctx context.Context, secret, route, body string) *http.Response {
	f.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	r, err := http.NewRequestWithContext(ctx, method, f.server.URL+path, strings.NewReader(body))
	require.NoError(f.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+secret)
	reply, err := f.server.Client().Do(r)
	require.NoError(f.t, err)
	return reply
}

func (f *faces) call(secret, route, body string) (status int, text string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	reply := f.open(ctx, secret, route, body)
	defer reply.Body.Close()
	read, err := io.ReadAll(reply.Body)
	require.NoError(f.t, err, "%s: %s", route, read)
	return reply.StatusCode, string(read)
}

// must makes a call that succeeds, and returns the reply.
func (f *faces) must(secret, route, body string) string {
	f.t.Helper()
	status, text := f.call(secret, route, body)
	require.Less(f.t, status, 300, "%s: %s", route, text)
	return text
}

// TestWhoAskedAllowsOnNoFace: on every face the requester cannot allow their own request.
// The face answers with one error in its own format, not with a continued stream, and the
// request stays open for others.
func TestWhoAskedAllowsOnNoFace(t *testing.T) {
	t.Parallel()
	f := newFaces(t)
	works := f.token(api.CreateTokenBody{Name: "mara-works", Role: api.RoleAgent, Principal: "user:mara"})
	mara := f.token(api.CreateTokenBody{Name: "mara", Role: api.RoleOperator})
	ada := f.token(api.CreateTokenBody{Name: "ada", Role: api.RoleOperator})
	const excluding = `"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"command":"ls"},"exclude_requester":true}]`
	member := func(text, name string) string {
		return regexp.MustCompile(`"` + name + `":"([^"]+)"`).FindStringSubmatch(text)[1]
	}

	asked := func(name string) (prompt testfaces.Prompt) {
		run := "run-" + regexp.MustCompile(`\W+`).ReplaceAllString(name, "-")
		f.must(works, "POST /v1/runs", `{"run_id":"`+run+`","session_id":"s-`+run+`","agent_id":"default","input":{},"suspend":{`+excluding+`}}`)
		handle := member(f.must(works, "GET /v1/runs/"+run, ""), "handle")
		return testfaces.Prompt{Kind: testfaces.Approval, SessionID: "s-" + run, RunID: run, RequestID: "a", Handle: handle}
	}
	refused := func(name string, prompt testfaces.Prompt, status int, text string) {
		require.Equal(t, http.StatusForbidden, status, "%s: %s", name, text)
		require.Contains(t, text, "request a excludes", name)
		require.Contains(t, text, "user:mara asked for it", name)
		require.Contains(t, f.must(works, "GET /v1/runs/"+prompt.RunID, ""), `"waiting_for_approval"`, name)
	}
	service := &testfaces.Service{URL: f.server.URL, HTTP: f.server.Client()}
	for _, face := range testfaces.All() {
		if face.Traits().InChat {
			continue // below
		}
		prompt := asked(face.Name())
		allow := func(secret string) testfaces.Reply {
			reply, err := face.Decide(t.Context(), service, prompt, testfaces.Decision{Verb: testfaces.AllowOnce}, func(r *http.Request) {
				r.Header.Set("Authorization", "Bearer "+secret)
			})
			require.NoError(t, err)
			return reply
		}
		reply := allow(mara)
		refused(face.Name(), prompt, reply.Status, reply.Body)
		require.True(t, face.Took(allow(ada)), face.Name())
	}
	for name, call := range map[string]struct{ route, body string }{
		"v1, remembered": {"POST /v1/sessions/SESSION/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","remember":"session"}]}`},
		"kheish":         {"POST /kheish/v1/runs/RUN/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow"}]}`},
		"hermes, yolo":   {"POST /api/approval/respond", `{"session_id":"SESSION","choice":"once","yolo":true}`},
		"timbal, run":    {"POST /run", `{"parent_id":"RUN","resume":{"HANDLE":true},"context":{"parent_id":"RUN"}}`},
	} {
		prompt := asked(name)
		ids := strings.NewReplacer("RUN", prompt.RunID, "SESSION", prompt.SessionID, "HANDLE", prompt.Handle)
		status, text := f.call(mara, ids.Replace(call.route), ids.Replace(call.body))
		refused(name, prompt, status, text)
	}

	// An assistant gets the refusal in the tool result.
	f.must(works, "POST /v1/runs", `{"run_id":"run-mcp","session_id":"s-run-mcp","agent_id":"default","input":{},"suspend":{`+excluding+`}}`)
	digest := member(f.must(works, "GET /v1/runs/run-mcp", ""), "input_digest")
	resolve := func(secret string) string {
		return f.must(secret, "POST /mcp?for=people", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"resolve","arguments":{"run_id":"run-mcp","request_id":"a","behavior":"allow","input_digest":"`+digest+`"}}}`)
	}
	result := resolve(mara)
	require.Contains(t, result, `"isError":true`)
	require.Contains(t, result, "user:mara asked for it")
	require.NotContains(t, resolve(ada), `"isError":true`)

	// In a chat, the person who started the run is excluded, along with everything they
	// allowed in it.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	chat := f.open(ctx, mara, "POST /chat", `{"model":"m","messages":[{"role":"user","content":"x"}],"permissions":{"allowlist":["bash"]},"detached":true}`)
	defer chat.Body.Close()
	require.Equal(t, http.StatusOK, chat.StatusCode)
	frames := bufio.NewScanner(chat.Body)
	next := func(wanted string) string {
		for frames.Scan() {
			if strings.Contains(frames.Text(), wanted) {
				return frames.Text()
			}
		}
		require.Fail(t, "the chat has ended", "%v", frames.Err())
		return ""
	}
	session := member(next(`"sessionId"`), "sessionId")
	run := member(f.must(mara, "GET /v1/sessions/"+session, ""), "run_id")
	claim := f.must(works, "POST /v1/runs/"+run+"/claim", `{"worker_id":"w"}`)
	f.must(works, "POST /v1/runs/"+run+"/suspend", `{"fence":"`+member(claim, "fence")+`","hold":true,`+excluding+`}`)
	relay := member(next(`"type":"relay"`), "id")
	answer := func(secret string) (int, string) {
		return f.call(secret, "POST /chat/relay/"+relay, `{"sessionId":"`+session+`","response":{"approved":true}}`)
	}
	status, text := answer(mara)
	require.Equal(t, http.StatusForbidden, status, text)
	require.Contains(t, text, `request a excludes`)
	status, text = answer(ada)
	require.Equal(t, http.StatusOK, status, text)
	next(`"type":"relay_resolved"`)
}
