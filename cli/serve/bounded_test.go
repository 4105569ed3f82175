package serve

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

// TestWhatIsOutOfReachIsOnNoStream: a token limited to sessions or agents, and an agent's
// token limited to its own runs, gets no other frames on the sockets and streams of the
// dialects, and reads no other mailboxes. Sessions out of its reach look like unknown ones.
func TestWhatIsOutOfReachIsOnNoStream(t *testing.T) {
	t.Parallel()
	f := newFaces(t)
	admin := f.token(api.CreateTokenBody{Name: "admin", Role: api.RoleAdmin})
	ours := f.token(api.CreateTokenBody{Name: "ours", Role: api.RoleAgent})
	raise := func(secret, session, agent, run string) {
		f.must(secret, "POST /v1/runs", `{"run_id":"`+run+`","session_id":"`+session+`","agent_id":"`+agent+`","input":{},"suspend":{
			"approvals":[{"id":"a","tool_call_id":"c","tool_name":"bash","input":{"command":"`+run+`"}}],
			"questions":[{"id":"q","tool_call_id":"c","questions":[{"id":"x","header":"h","question":"`+run+`?"}]}]}}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, body := range map[string]api.CreateTokenBody{
		"sessions": {Role: api.RoleOperator, SessionPrefixes: []string{"ours-sessions"}}, "agents": {Role: api.RoleObserver, AgentIDs: []string{"ours"}},
		"own": {Role: api.RoleAgent, Principal: "agent:ours"},
	} {
		body.Name = "reaches-" + name
		bound := f.token(body)
		theirs, mine := "theirs-"+name, "ours-"+name
		f.must(ours, "POST /v1/sessions", `{"session_id":"`+mine+`","agent_id":"ours"}`)
		f.must(admin, "POST /v1/sessions", `{"session_id":"`+theirs+`","agent_id":"theirs"}`)

		dial := func(path string) *websocket.Conn {
			conn, _, err := websocket.Dial(ctx, strings.Replace(f.server.URL, "http:", "ws:", 1)+path, &websocket.DialOptions{
				HTTPHeader: http.Header{"Authorization": {"Bearer " + bound}},
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.CloseNow() })
			_, ready, err := conn.Read(ctx)
			require.NoError(t, err)
			require.Contains(t, string(ready), `"ready"`)
			return conn
		}
		all, one := dial("/api/stream"), dial("/api/stream?threadId="+theirs)
		raise(admin, theirs, "theirs", "secret-"+name)
		raise(ours, mine, "ours", "shown-"+name)
		// Frames arrive in order, so a frame of the other session would have come first.
		until := func(conn *websocket.Conn, wanted string) {
			for {
				_, text, err := conn.Read(ctx)
				require.NoError(t, err)
				require.NotContains(t, string(text), "secret-", name)
				require.NotContains(t, string(text), theirs, name)
				if strings.Contains(string(text), wanted) {
					return
				}
			}
		}
		until(all, "shown-"+name)
		require.NoError(t, one.Write(ctx, websocket.MessageText, []byte(`{"type":"subscribe","threadId":"`+mine+`"}`)))
		require.NoError(t, one.Write(ctx, websocket.MessageText, []byte(`{"type":"ping"}`)))
		until(one, "pong")
		f.must(admin, "POST /v1/runs/secret-"+name+"/cancel", `{}`)
		f.must(admin, "POST /v1/runs/shown-"+name+"/cancel", `{}`)
		until(all, "resolved")
		until(one, "resolved")

		raise(admin, theirs, "theirs", "secret-2-"+name)
		raise(ours, mine, "ours", "shown-2-"+name)
		for _, queue := range []string{"approval", "clarify"} {
			initial := func(session string) string {
				stream := f.open(ctx, bound, "GET /api/"+queue+"/stream?session_id="+session, "")
				defer stream.Body.Close()
				require.Equal(t, http.StatusOK, stream.StatusCode)
				for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
					if text, is := strings.CutPrefix(lines.Text(), "data:"); is {
						return text
					}
				}
				require.Fail(t, "no first frame")
				return ""
			}
			require.Equal(t, initial("nowhere-"+name), initial(theirs), "%s by %s", queue, name)
			require.Contains(t, initial(mine), "shown-2-"+name, "%s by %s", queue, name)
		}

		if body.Role == api.RoleAgent {
			status, text := f.call(bound, "GET /v1/sessions/"+theirs+"/mailbox", "")
			unknown, wanted := f.call(bound, "GET /v1/sessions/nowhere/mailbox", "")
			require.Equal(t, http.StatusNotFound, status)
			require.Equal(t, unknown, status)
			require.Equal(t, strings.ReplaceAll(wanted, "nowhere", theirs), text)
			f.must(bound, "GET /v1/sessions/"+mine+"/mailbox", "")
		}
	}
	// Limited agents cannot read other mailboxes, either.
	for name, body := range map[string]api.CreateTokenBody{"sessions": {SessionPrefixes: []string{"ours-"}}, "agents": {AgentIDs: []string{"ours"}}} {
		body.Name, body.Role = "works-in-"+name, api.RoleAgent
		bound := f.token(body)
		status, text := f.call(bound, "GET /v1/sessions/theirs-own/mailbox", "")
		require.Equal(t, http.StatusNotFound, status, text)
		f.must(bound, "GET /v1/sessions/ours-own/mailbox", "")
	}
}
