package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/runs"
)

// child raises one approval of a command in a new session below another one.
type child struct{ session, run, handle string }

func (s *service) child(t *testing.T, parent, id, command string) child {
	t.Helper()
	made := child{session: runs.NewID("child")}
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, made.session, parent)).Want(http.StatusCreated)
	var run api.RunView
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"agent_id":"helper","input":1,"suspend":{%s}}`, made.session, approvals(bash(id, command)))).Into(&run)
	require.Len(t, run.PendingApprovals, 1)
	made.run, made.handle = run.RunID, run.PendingApprovals[0].Handle
	return made
}

// asksOfChild reads the relay of a child's approval.
func (c *chat) asksOfChild(of child, id, command string) {
	c.T.Helper()
	frame := c.Frame()
	require.Equal(c.T, "relay", frame.Event, "%s", frame.Data)
	require.Contains(c.T, frame.Data, fmt.Sprintf(`{"type":"relay","runId":%q,"agentId":"helper","parentId":%q,%s,"always":"Allow`, of.run, c.run, relayMembers(id, of.handle, command)))
	require.Contains(c.T, frame.Data, "in session "+of.session)
	require.Contains(c.T, frame.Data, fmt.Sprintf(`,"requestedBy":%q}`, of.session))
}

// The approvals of sessions below a chat's are relays of the chat, marked with who asks. They are
// decided there as well, and what is decided elsewhere is shown.
func TestRelaysOfChildren(t *testing.T) {
	dialecttest.OnEngines(t, func(t *testing.T, database *dialecttest.Database) {
		s := serve(t, database.Open(t), relay.Options{}, func(o *httpapi.Options) { o.KeepAlive = 50 * time.Millisecond })
		c := s.chat(t)
		w := c.started()
		first := s.child(t, c.session, "a", "ls")
		c.asksOfChild(first, "a", "ls")
		below := s.child(t, first.session, "b", "rm -rf x")
		c.asksOfChild(below, "b", "rm -rf x")
		own := w.raisesOne("a", "pwd")

		s.answer(t, c.session, first.handle, `{"approved":true}`).accepted()
		require.Equal(t, "relay", c.settles("relay_resolved", first.handle).Via)
		s.answer(t, c.session, first.handle, `{"approved":true}`).refused(http.StatusNotFound, noRelay)

		// Elsewhere.
		s.post(t, "/v1/runs/"+below.run+"/approvals", `{"resolutions":[{"request_id":"b","behavior":"deny","reason":"no"}]}`).Want(http.StatusAccepted)
		require.Equal(t, api.OutcomeDenied, c.settles("relay_resolved", below.handle).Outcome)
		c.tellsOf(below.run, "helper", c.run, "tool_result", `"id":"call-b","name":"bash","output":{"status":"denied","reason":"no"}`)
		s.answer(t, c.session, below.handle, `{"approved":true}`).refused(http.StatusNotFound, noRelay)

		// A session that is not below the chat's is not the chat's to decide, and neither is a chat its child's.
		stranger := s.child(t, runs.NewID("not"), "c", "ls")
		s.answer(t, c.session, stranger.handle, `{"approved":true}`).refused(http.StatusNotFound, noRelay)
		s.answer(t, first.session, own, `{"approved":true}`).refused(http.StatusNotFound, noSession)

		// The relays of a chat end with its run. The child's stay open elsewhere.
		open := s.child(t, c.session, "d", "ls")
		c.asksOfChild(open, "d", "ls")
		s.answer(t, c.session, own, `{"approved":true}`).accepted()
		c.settles("relay_resolved", own)
		w.completes()
		c.tells("harness_end", "")
		c.Ends()
		s.answer(t, c.session, open.handle, `{"approved":true}`).refused(http.StatusNotFound, noSession)
		var view api.RunView
		s.get(t, "/v1/runs/"+open.run).Into(&view)
		require.Len(t, view.PendingApprovals, 1)
	})
}

// A client that lost its stream learns what became of a child's relay from the reply.
func TestLostRelaysOfChildren(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t, `"detached":true`)
		c.started()
		asked, other := s.child(t, c.session, "a", "ls"), s.child(t, c.session, "a", "ls")
		c.Leave()
		s.post(t, "/v1/runs/"+asked.run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"deny","reason":"no"}]}`).Want(http.StatusAccepted)
		require.Eventually(t, func() bool {
			reply := s.answer(t, c.session, asked.handle, `{"approved":true}`)
			return reply.Status == http.StatusOK && reply.TextAt("resolution", "reason") == "no"
		}, time.Minute, 10*time.Millisecond)
		s.answer(t, c.session, other.handle, `{"approved":false}`).accepted()
	})
}

// A token that reaches a child's run but not its session may decide the relay, and is neither offered nor given a rule of
// the session.
func TestARelayOfAnUnreachedSession(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	keyring := auth.NewKeyring(auth.Options{
		Tokens: store.(auth.Tokens), Mode: auth.Required, NewID: runs.NewID, NowMs: func() int64 { return time.Now().UnixMilli() },
	})
	s := serve(t, store, relay.Options{}, func(o *httpapi.Options) { o.Keyring, o.KeepAlive = keyring, 50*time.Millisecond })
	token := func(body api.CreateTokenBody) dialecttest.Option {
		made, _, err := keyring.Create(t.Context(), &body, "user:test", "")
		require.NoError(t, err)
		return dialecttest.Header("Authorization", "Bearer "+made.Secret)
	}
	admin, bound := token(api.CreateTokenBody{Name: "all", Role: api.RoleAdmin}), token(api.CreateTokenBody{Name: "bound", Role: api.RoleOperator, AgentIDs: []string{"default"}})
	chat := s.Follow(t, http.MethodPost, "/chat", `{`+hello+`}`, bound)
	above := strings.Split(strings.SplitAfter(chat.Frame().Data, `"sessionId":"`)[1], `"`)[0]
	for _, of := range []struct {
		session, agentID, always string
		status                   int
	}{{"reached", "default", `"always":"Allow the tool bash`, http.StatusOK}, {"unreached", "planner", `"always":"",`, http.StatusForbidden}} {
		s.Post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q,"agent_id":%q}`, of.session, above, of.agentID), admin).Want(http.StatusCreated)
		handle := s.Post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"agent_id":"default","input":1,"suspend":{%s}}`, of.session, approvals(bash("a", "ls"))), admin).
			Want(http.StatusAccepted).TextAt("pending_approvals", 0, "handle")
		frame := chat.Frame()
		for frame.Event != "relay" {
			frame = chat.Frame()
		}
		require.Contains(t, frame.Data, of.always)
		answer := func(response string) *dialecttest.Reply {
			return s.Post(t, "/chat/relay/"+handle, fmt.Sprintf(`{"sessionId":%q,"response":%s}`, above, response), bound)
		}
		answer(`{"approved":true,"always":true}`).Want(of.status)
		if of.status == http.StatusForbidden {
			require.Empty(t, s.Get(t, "/v1/rules?session_id="+of.session, admin).Want(http.StatusOK).Body)
			answer(`{"approved":true}`).Want(http.StatusOK)
		}
	}
}
