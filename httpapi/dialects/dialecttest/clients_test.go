// Requirements of the clients of all dialects.
package dialecttest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
	"github.com/holdpoint/holdpoint/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func allDialects(o *httpapi.Options) { o.Faces = dialects.All(dialects.Options{}) }

// withTokens serves all dialects with required tokens.
func withTokens(t *testing.T) (s *dialecttest.Service, token func(api.CreateTokenBody) dialecttest.Option) {
	t.Helper()
	store := dialecttest.SQLite(t)
	keyring := auth.NewKeyring(auth.Options{
		Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
	})
	s = dialecttest.Serve(t, store, nil, allDialects, func(o *httpapi.Options) { o.Keyring = keyring })
	return s, func(body api.CreateTokenBody) dialecttest.Option {
		made, _, err := keyring.Create(t.Context(), &body, "user:test", "")
		require.NoError(t, err)
		return dialecttest.Header("Authorization", "Bearer "+made.Secret)
	}
}

// The page of hermes' clients treats a 401 as the end of its own sign-in.
func TestMissingAndUnknownCredentials(t *testing.T) {
	t.Parallel()
	s, _ := withTokens(t)
	unknown := dialecttest.Header("Authorization", "Bearer holdpoint_nothing")
	for path, method := range map[string]string{
		"/api/approval/pending?session_id=s": http.MethodGet, "/api/approval/stream?session_id=s": http.MethodGet, "/api/approval/respond": http.MethodPost,
		"/api/clarify/pending?session_id=s": http.MethodGet, "/api/clarify/stream?session_id=s": http.MethodGet, "/api/clarify/respond": http.MethodPost,
	} {
		for _, options := range [][]dialecttest.Option{nil, {unknown}} {
			refused := s.Do(t, method, path, "", options...).Want(http.StatusForbidden)
			require.NotEmpty(t, refused.TextAt("error"), path)
			require.NotEmpty(t, refused.Header.Get("WWW-Authenticate"), path)
		}
	}
	for path, method := range map[string]string{
		"/api/sessions": http.MethodGet, "/api/approvals/x/decision": http.MethodPost, "/stream": http.MethodPost, "/run": http.MethodPost,
		"/chat": http.MethodPost, "/models": http.MethodGet, "/v1/sessions": http.MethodGet,
	} {
		s.Do(t, method, path, "").Want(http.StatusUnauthorized)
	}
}

// A chat client names no session, so its session is created within the token's scope.
func TestTokensOfSessionPrefixesStartRuns(t *testing.T) {
	t.Parallel()
	s, token := withTokens(t)
	bound := token(api.CreateTokenBody{Name: "bound", Role: api.RoleOperator, SessionPrefixes: []string{"web:", "other:"}})
	for path, body := range map[string]string{
		"/stream": `{"prompt":"go"}`, "/agents/coder/stream": `{"prompt":"go"}`, "/chat": `{"model":"m","messages":[{"role":"user","content":"go"}]}`,
	} {
		stream := s.Follow(t, http.MethodPost, path, body, bound)
		first := stream.Frame()
		require.Contains(t, []string{"", "connected"}, first.Event, first.Text)
		stream.Leave()
	}
	sessions := s.Get(t, "/v1/sessions", bound).Want(http.StatusOK)
	require.Equal(t, 3, sessions.Count())
	for i := range 3 {
		require.Regexp(t, "^web:session_", sessions.TextAt(i, "session_id"))
	}
	// The scope holds: a run of others cannot be a parent, and nothing is created in its session.
	admin := token(api.CreateTokenBody{Name: "all", Role: api.RoleAdmin})
	foreign := s.Post(t, "/v1/runs", `{"session_id":"foreign","input":{}}`, admin).Want(http.StatusAccepted).TextAt("run_id")
	s.Follow(t, http.MethodPost, "/stream", `{"prompt":"go","parent_id":"`+foreign+`"}`, bound).Frame()
	require.Equal(t, 1, s.Get(t, "/v1/runs?session_id=foreign", admin).Count())
	s.Post(t, "/stream", `{"parent_id":"`+foreign+`","resume":{}}`, bound).Want(http.StatusNotFound)
}

// A session below a chat's is not the chat's to see or decide where the token does not reach it.
func TestChildrenOutsideOfATokensScope(t *testing.T) {
	t.Parallel()
	s, token := withTokens(t)
	bound, admin := token(api.CreateTokenBody{Name: "bound", Role: api.RoleOperator, SessionPrefixes: []string{"web:"}}), token(api.CreateTokenBody{Name: "all", Role: api.RoleAdmin})
	child := func(parent, session string) (handle string) {
		s.Post(t, "/v1/sessions", `{"session_id":"`+session+`","parent_session_id":"`+parent+`"}`, admin).Want(http.StatusCreated)
		return s.Post(t, "/v1/runs", `{"session_id":"`+session+`","input":1,"suspend":{`+approval+`}}`, admin).TextAt("pending_approvals", 0, "handle")
	}
	run := s.Post(t, "/v1/runs", `{"session_id":"web:run","input":1,"suspend":{`+approval+`}}`, admin).TextAt("run_id")
	theirs, ours := child("web:run", "foreign"), child("web:run", "web:child")
	resume := func(handle string) string {
		stream := s.Follow(t, http.MethodPost, "/stream", `{"parent_id":"`+run+`","resume":{"`+handle+`":true}}`, bound)
		var all string
		for {
			frame, err := stream.Read()
			if err != nil {
				return all
			}
			all += frame.Text
		}
	}
	shown := resume("nothing")
	require.Contains(t, shown, ours)
	require.NotContains(t, shown, theirs)
	require.Contains(t, resume(theirs), "is unknown to this run")
	require.NotContains(t, resume(ours), "is unknown to this run")

	chat := s.Follow(t, http.MethodPost, "/chat", `{"model":"m","messages":[{"role":"user","content":"go"}]}`, bound)
	session := strings.Split(strings.SplitAfter(chat.Frame().Data, `"sessionId":"`)[1], `"`)[0]
	theirs, ours = child(session, "foreign2"), child(session, "web:child2")
	for handle, status := range map[string]int{theirs: http.StatusNotFound, ours: http.StatusOK} {
		s.Post(t, "/chat/relay/"+handle, `{"sessionId":"`+session+`","response":{"approved":true}}`, bound).Want(status)
	}
	require.Equal(t, 2, s.Get(t, "/v1/approvals?session_id=foreign", admin).Count()+s.Get(t, "/v1/approvals?session_id=foreign2", admin).Count())
}

// A token that reaches a run and not its session decides the run, and writes no rule of the session.
func TestRulesOutsideOfATokensScope(t *testing.T) {
	t.Parallel()
	s, token := withTokens(t)
	bound, admin := token(api.CreateTokenBody{Name: "bound", Role: api.RoleOperator, AgentIDs: []string{"coder"}}), token(api.CreateTokenBody{Name: "all", Role: api.RoleAdmin})
	s.Post(t, "/v1/sessions", `{"session_id":"shared","agent_id":"planner"}`, admin).Want(http.StatusCreated)
	run := s.Post(t, "/v1/runs", `{"session_id":"shared","agent_id":"coder","input":1,"suspend":{`+approval+`}}`, admin).Want(http.StatusAccepted)
	handle := run.TextAt("pending_approvals", 0, "handle")
	const refused = "does not reach the session shared"
	byHermes := s.Post(t, "/api/approval/respond", `{"session_id":"shared","approval_id":"`+handle+`","choice":"session"}`, bound).Want(http.StatusForbidden)
	require.Contains(t, byHermes.TextAt("error"), refused)
	byCodex := s.Post(t, "/api/approvals/"+handle+"/decision", `{"decision":"accept","scope":"session"}`, bound).Want(http.StatusForbidden)
	require.Contains(t, byCodex.Text, refused)
	require.Empty(t, s.Get(t, "/v1/rules?session_id=shared", admin).Want(http.StatusOK).Body)
	s.Post(t, "/api/approvals/"+handle+"/decision", `{"decision":"accept"}`, bound).Want(http.StatusOK)
}

const mark = "\xef\xbb\xbf"

func TestBodiesWithAByteOrderMark(t *testing.T) {
	t.Parallel()
	s := dialecttest.Serve(t, dialecttest.SQLite(t), nil, allDialects)
	for _, face := range []struct{ path, body string }{
		{"/api/approval/respond", `{"session_id":"HERE","choice":"once","approval_id":"HANDLE"}`},
		{"/api/approvals/HANDLE/decision", `{"decision":"accept"}`},
		{"/run", `{"parent_id":"RUN","resume":{"HANDLE":{"type":"timbal.cancel"}}}`},
	} {
		run, handle := asks(t, s, "s-"+runs.NewID("x"), approval)
		view := s.Get(t, "/v1/runs/"+run)
		fill := replacer("HERE", view.TextAt("session_id"), "HANDLE", handle, "RUN", run)
		reply := s.Post(t, fill(face.path), mark+fill(face.body))
		require.Less(t, reply.Status, 300, "%s: %s", face.path, reply.Text)
		require.NotEqual(t, "waiting_for_approval", s.Get(t, "/v1/runs/"+run).At("status"), face.path)
	}
	s.Post(t, "/chat", mark+`{"model":"m"}`).Is(http.StatusBadRequest, `{"error":"model and messages are required"}`)
	s.Post(t, "/v1/runs", mark).Want(http.StatusBadRequest)
}

// A digest is accepted with and without its prefix wherever a caller can give one.
func TestDigestsWithoutTheirPrefix(t *testing.T) {
	t.Parallel()
	s := dialecttest.Serve(t, dialecttest.SQLite(t), nil, allDialects)
	run, _ := asks(t, s, "s", approval)
	digest := s.Get(t, "/v1/runs/"+run).TextAt("pending_approvals", 0, "input_digest")
	bare := digest[len("sha256:"):]
	resolve := func(digest string) *dialecttest.Reply {
		return s.Post(t, "/v1/runs/"+run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow","input_digest":"`+digest+`"}]}`)
	}
	require.Equal(t, "approval_changed", resolve("0000"+bare[4:]).TextAt("code"))
	resolve(bare).Want(http.StatusAccepted)
	rule := s.Post(t, "/v1/rules", `{"tool_name":"bash","match":{"input_digest":"`+bare+`"}}`).Want(http.StatusCreated)
	require.Equal(t, digest, rule.TextAt("match", "input_digest"))
	for _, wrong := range []string{bare[1:], "sha512:" + bare, "sha256:" + bare[1:] + "g"} {
		s.Post(t, "/v1/rules", `{"tool_name":"bash","match":{"input_digest":"`+wrong+`"}}`).Want(http.StatusUnprocessableEntity)
	}
}

// Pages of other origins can read the run in a reply, and the decision of a call without an id.
func TestHeadersOfDialectsAreReadByPages(t *testing.T) {
	t.Parallel()
	const inbox = "https://inbox.example"
	s := dialecttest.Serve(t, dialecttest.SQLite(t), nil, allDialects, func(o *httpapi.Options) { o.Origins = []string{inbox} })
	origin := dialecttest.Header("Origin", inbox)
	_, _ = asks(t, s, "approves", approval)
	_, _ = asks(t, s, "answers", `"questions":[{"id":"q","questions":[{"id":"x","question":"X?"}]}]`)
	run, _ := asks(t, s, "paused", approval)
	for header, call := range map[string][2]string{
		hermes.ApprovalIDHeader: {"/api/approval/respond", `{"session_id":"approves","choice":"once"}`},
		hermes.ClarifyIDHeader:  {"/api/clarify/respond", `{"session_id":"answers","response":"yes"}`},
		timbal.RunIDHeader:      {"/run", `{"parent_id":"` + run + `","resume":{}}`},
	} {
		reply := s.Post(t, call[0], call[1], origin).Want(http.StatusOK)
		require.NotEmpty(t, reply.Header.Get(header))
		require.Contains(t, reply.Header.Get("Access-Control-Expose-Headers"), header)
	}
}

// The loser of a race learns who decided, even if the client only shows the problem's text.
func TestLosersReadWhoDecided(t *testing.T) {
	t.Parallel()
	s := dialecttest.Serve(t, dialecttest.SQLite(t), nil, allDialects)
	run, _ := asks(t, s, "s", approval)
	question, _ := asks(t, s, "q", `"questions":[{"id":"a","questions":[{"id":"x","question":"X?"}]}]`)
	allow, answer := `{"resolutions":[{"request_id":"a","behavior":"allow"}]}`, `{"resolution":{"request_id":"a","declined":true}}`
	for path, body := range map[string]string{"/v1/runs/" + run + "/approvals": allow, "/v1/runs/" + question + "/questions": answer} {
		s.Post(t, path, body, dialecttest.Header("X-Actor", "mara"), dialecttest.Header("X-Via", "inbox")).Want(http.StatusAccepted)
		for _, at := range []string{path, "/kheish" + path} {
			late := s.Post(t, at, body).Want(http.StatusConflict)
			require.Regexp(t, `; a was (allowed|declined) by mara at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, via api:inbox$`, late.TextAt("detail"))
		}
	}
}

// A client that lost its stream keeps a prompt until an answer is a 200.
func TestRelaysOfALostStream(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	first, second := dialecttest.Serve(t, store, nil, allDialects), dialecttest.Serve(t, store, nil, allDialects)
	chat := first.Follow(t, http.MethodPost, "/chat", `{"model":"m","messages":[1]}`)
	session := sessionOf(t, chat)
	run := first.Get(t, "/v1/runs?session_id="+session).TextAt(0, "run_id")
	fence := first.Post(t, "/v1/runs/"+run+"/claim", `{"worker_id":"w"}`).Want(http.StatusOK).TextAt("lease", "fence")
	waiting := first.Post(t, "/v1/runs/"+run+"/suspend", `{"fence":"`+fence+`",`+
		`"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":{}},{"id":"b","tool_call_id":"d","tool_name":"bash","input":{}}]}`).Want(http.StatusOK)
	handle := waiting.TextAt("run", "pending_approvals", 0, "handle")
	other := waiting.TextAt("run", "pending_approvals", 1, "handle")
	first.Post(t, "/v1/runs/"+run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"deny"}]}`).Want(http.StatusAccepted)
	answer := func(s *dialecttest.Service, relay string) *dialecttest.Reply {
		return s.Post(t, "/chat/relay/"+relay, `{"sessionId":"`+session+`","response":{"approved":true}}`)
	}
	answer(first, handle).Is(http.StatusNotFound, `{"error":"Relay not found"}`)

	late := answer(second, handle).Want(http.StatusOK)
	require.Equal(t, false, late.At("success"))
	require.Equal(t, "denied", late.At("resolution", "outcome"))
	second.Post(t, "/chat/relay/"+handle, `{"sessionId":"other","response":{"approved":true}}`).Is(http.StatusNotFound, `{"error":"Session not found"}`)
	answer(second, other).Is(http.StatusOK, `{"success":true}`)
	answer(second, other).Is(http.StatusNotFound, `{"error":"Relay not found"}`)
	chat.Leave()
	require.Eventually(t, func() bool { return answer(first, handle).Status == http.StatusOK }, time.Minute, 10*time.Millisecond)
	require.Len(t, first.Get(t, "/v1/decisions").Want(http.StatusOK).Body, 2)
}
