package codex_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
)

// client is one client of the WebSocket.
type client struct {
	t    *testing.T
	conn *websocket.Conn
}

// connect opens a socket and reads its first message.
func (s *replica) connect(t *testing.T, threadID string) *client {
	t.Helper()
	query, shown := "", "null"
	if threadID != "" {
		query, shown = "?threadId="+threadID, fmt.Sprintf("%q", threadID)
	}
	conn, response, err := websocket.Dial(t.Context(), strings.Replace(s.Server.URL, "http", "ws", 1)+"/api/stream"+query, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, response.StatusCode)
	conn.SetReadLimit(4 << 20)
	t.Cleanup(func() { _ = conn.CloseNow() })
	c := &client{t: t, conn: conn}
	require.Equal(t, `{"type":"ready","threadId":`+shown+`}`, c.next())
	return c
}

// next returns the next message, skipping the runtime's signals, which precede messages about the
// same request.
func (c *client) next() string {
	c.t.Helper()
	for {
		if message := c.any(); !strings.HasPrefix(message, `{"type":"app_server.`) {
			return message
		}
	}
}

// any returns the next message.
func (c *client) any() string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	kind, message, err := c.conn.Read(ctx)
	require.NoError(c.t, err)
	require.Equal(c.t, websocket.MessageText, kind)
	return string(message)
}

// event reads the next message, which must have this type and thread, and returns its payload.
func (c *client) event(kind, threadID string) map[string]any {
	c.t.Helper()
	message := c.next()
	var tree map[string]any
	require.NoError(c.t, json.Unmarshal([]byte(message), &tree))
	require.Equal(c.t, kind, tree["type"], "%s", message)
	require.Equal(c.t, threadID, tree["threadId"], "%s", message)
	payload, ok := tree["payload"].(map[string]any)
	require.True(c.t, ok, "%s", message)
	return payload
}

func (c *client) send(message string) {
	c.t.Helper()
	require.NoError(c.t, c.conn.Write(context.Background(), websocket.MessageText, []byte(message)))
}

// settle waits until all commands so far have taken effect. No other message may arrive before.
func (c *client) settle() {
	c.t.Helper()
	c.send(`{"type":"ping"}`)
	require.Equal(c.t, `{"type":"pong"}`, c.next())
}

// untilPong returns the messages before the answer to a ping. A socket without a filter also gets
// messages of other tests.
func (c *client) untilPong() (before []string) {
	c.t.Helper()
	c.send(`{"type":"ping"}`)
	for {
		message := c.next()
		if message == `{"type":"pong"}` {
			return before
		}
		before = append(before, message)
	}
}

func (c *client) closed(status websocket.StatusCode) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, message, err := c.conn.Read(ctx)
	require.Error(c.t, err, "%s", message)
	require.Equal(c.t, status, websocket.CloseStatus(err), "%v", err)
}

const (
	typeApproval          = "approval"
	typeApprovalResolved  = "approval_resolved"
	typeToolInput         = "tool_user_input_requested"
	typeToolInputResolved = "tool_user_input_resolved"
	badCommand            = `{"type":"error","message":"invalid websocket command"}`
)

func testSockets(t *testing.T, service, other *replica) {
	t.Run("what comes and goes, on both replicas", func(t *testing.T) {
		session := name()
		here, there := service.connect(t, session), other.connect(t, session)
		r := service.waitingIn(t, session, approvals(approval("a1", ""))+","+questions(question("q1", "")))
		listed := service.get(t, "/api/sessions/"+session+"/approvals")
		asked := service.get(t, "/api/sessions/"+session+"/tool-input")
		approvalID, requestID := listed.TextAt("data", 0, "approvalId"), asked.TextAt("data", 0, "requestId")
		for _, c := range []*client{here, there} {
			require.Equal(t, asked.At("data", 0), any(c.event(typeToolInput, session)))
			require.Equal(t, listed.At("data", 0), any(c.event(typeApproval, session)))
		}
		other.decide(t, approvalID, `{"decision":"decline","scope":"session"}`).Want(http.StatusOK)
		service.reply(t, requestID, `{"decision":"accept","response":null}`).Want(http.StatusOK)
		for _, c := range []*client{here, there} {
			require.Equal(t, fmt.Sprintf(`{"type":"approval_resolved","threadId":%q,"payload":{"approvalId":%q,"status":"resolved","decision":"decline","scope":"session"}}`, session, approvalID), c.next())
			require.Equal(t, fmt.Sprintf(`{"type":"tool_user_input_resolved","threadId":%q,"payload":{"requestId":%q,"status":"resolved","decision":"accept"}}`, session, requestID), c.next())
			c.settle()
		}
		require.Equal(t, "running", service.get(t, "/v1/runs/"+r.id).At("status"))
	})

	t.Run("a person who sees a prompt can decide it at once", func(t *testing.T) {
		c := other.connect(t, "")
		for range 20 {
			session := name()
			service.waitingIn(t, session, approvals(approval("a1", "")))
			for {
				var tree map[string]any
				message := c.next()
				require.NoError(t, json.Unmarshal([]byte(message), &tree))
				if tree["threadId"] == session {
					require.Equal(t, typeApproval, tree["type"])
					other.decide(t, dialecttest.At(tree, "payload", "approvalId").(string), `{"decision":"accept"}`).Want(http.StatusOK)
					break
				}
			}
		}
	})

	t.Run("expired when the turn or the session is over", func(t *testing.T) {
		for end, path := range map[string]string{
			"complete": "/v1/runs/%s/complete", "fail": "/v1/runs/%s/fail", "cancel": "/v1/runs/%s/cancel",
			"end": "/v1/sessions/%s/end", "interrupt": "/v1/sessions/%s/interrupt",
		} {
			c, session := other.connect(t, ""), name()
			c.send(fmt.Sprintf(`{"type":"subscribe","threadId":%q}`, session))
			c.untilPong()
			r := service.attachedIn(t, session, approvals(approval("a1", ""))+","+questions(question("q1", "")))
			c.event(typeToolInput, r.session)
			c.event(typeApproval, r.session)
			approvalID, requestID := service.approvalID(t, r), service.requestID(t, r)
			id, body := r.id, fmt.Sprintf(`{"fence":%q,"error":"x"}`, r.fence)
			if strings.Contains(path, "sessions") {
				id = r.session
			}
			require.Less(t, service.post(t, fmt.Sprintf(path, id), body).Status, 300, end)
			require.Equal(t, fmt.Sprintf(`{"type":"approval_resolved","threadId":%q,"payload":{"approvalId":%q,"status":"expired"}}`, r.session, approvalID), c.next())
			require.Equal(t, fmt.Sprintf(`{"type":"tool_user_input_resolved","threadId":%q,"payload":{"requestId":%q,"status":"expired"}}`, r.session, requestID), c.next())
			c.settle()
		}
	})

	t.Run("what was raised before anybody listened", func(t *testing.T) {
		r := service.attached(t, approvals(approval("a1", ""))+","+questions(question("q1", "")))
		approvalID, requestID := service.approvalID(t, r), service.requestID(t, r)
		c := serve(t, other.Store).connect(t, r.session)
		service.reply(t, requestID, `{"decision":"decline"}`).Want(http.StatusOK)
		service.decide(t, approvalID, `{"decision":"accept"}`).Want(http.StatusOK)
		for {
			// The replica may have heard of the requests only now.
			payload := c.next()
			if strings.Contains(payload, `"status":"pending"`) {
				continue
			}
			require.Equal(t, fmt.Sprintf(`{"type":"tool_user_input_resolved","threadId":%q,"payload":{"requestId":%q,"status":"resolved","decision":"decline"}}`, r.session, requestID), payload)
			break
		}
		require.Equal(t, approvalID, c.event(typeApprovalResolved, r.session)["approvalId"])
	})

	t.Run("the runtime's signals", func(t *testing.T) {
		session := name()
		c := service.connect(t, session)
		r := service.waitingIn(t, session, approvals(approval("a1", `"metadata":{"method":"applyPatchApproval","turnId":"turn-3"}`), approval("a2", ""))+","+questions(question("q1", "")))
		shown := map[string]string{}
		for _, list := range []string{"approvals", "tool-input"} {
			for _, one := range service.get(t, "/api/sessions/"+session+"/"+list).At("data").([]any) {
				item := one.(map[string]any)
				id, _ := item["approvalId"].(string)
				if id == "" {
					id = item["requestId"].(string)
				}
				shown[item["method"].(string)] = id
			}
		}
		for _, want := range []struct{ method, signal, kind, turn string }{
			{"item/tool/requestUserInput", "item.tool.request_user_input", typeToolInput, r.id},
			{"applyPatchApproval", "apply_patch_approval", typeApproval, "turn-3"},
			{"item/commandExecution/requestApproval", "item.command_execution.request_approval", typeApproval, r.id},
		} {
			var signal, announced map[string]any
			require.NoError(t, json.Unmarshal([]byte(c.any()), &signal))
			require.Equal(t, "app_server.request."+want.signal, signal["type"])
			require.Equal(t, session, signal["threadId"])
			payload := signal["payload"].(map[string]any)
			require.Equal(t, map[string]any{"threadId": session, "turnId": want.turn}, payload["context"])
			require.Equal(t, []any{"app_server", "request", signal["type"], want.method, shown[want.method], nil},
				[]any{payload["source"], payload["signalType"], payload["eventType"], payload["method"], payload["requestId"], payload["session"]})
			require.NoError(t, json.Unmarshal([]byte(c.any()), &announced))
			require.Equal(t, want.kind, announced["type"])
			require.Equal(t, announced["payload"].(map[string]any)["details"], payload["params"])
			require.Equal(t, announced["payload"].(map[string]any)["createdAt"], payload["receivedAt"])
		}
		c.settle()
	})

	t.Run("a filter, and none", func(t *testing.T) {
		mine, theirs := name(), name()
		c := service.connect(t, mine)
		service.waitingIn(t, theirs, approvals(approval("a1", "")))
		service.waitingIn(t, mine, approvals(approval("a2", "")))
		require.Equal(t, "call-a2", c.event(typeApproval, mine)["itemId"])

		c.send(fmt.Sprintf(`{"type":"subscribe","threadId":%q}`, theirs))
		c.settle()
		service.post(t, "/v1/sessions/"+mine+"/end", `{}`).Want(http.StatusOK)
		service.post(t, "/v1/sessions/"+theirs+"/end", `{}`).Want(http.StatusOK)
		c.event(typeApprovalResolved, theirs)

		c.send(`{"type":"unsubscribe"}`)
		c.settle()
		third := name()
		service.waitingIn(t, third, approvals(approval("a3", "")))
		require.Equal(t, "call-a3", c.event(typeApproval, third)["itemId"])
	})

	t.Run("the system's sessions go to those who ask for them", func(t *testing.T) {
		session, plain := service.session(t, `{"system":true}`), name()
		all, exact := service.connect(t, ""), other.connect(t, session)
		service.waitingIn(t, session, approvals(approval("a1", "")))
		exact.event(typeApproval, session)
		service.waitingIn(t, plain, approvals(approval("a2", "")))
		// A socket without a filter also gets messages of other tests.
		for {
			message := all.next()
			require.NotContains(t, message, session)
			if strings.Contains(message, plain) {
				require.Contains(t, message, `"itemId":"call-a2"`)
				break
			}
		}
		for _, message := range all.untilPong() {
			require.NotContains(t, message, session)
		}
		exact.settle()
	})

	t.Run("commands that are none", func(t *testing.T) {
		c := service.connect(t, name())
		for _, message := range []string{
			``, `{`, `null`, `"ping"`, `[]`, `{}`, `{"type":1}`, `{"type":"pong"}`, `{"type":"Ping"}`, `{"type":"subscribe"}`,
			`{"type":"subscribe","threadId":null}`, `{"type":"subscribe","threadId":""}`, `{"type":"subscribe","threadId":7}`,
			`{"type":"ping"} {"type":"ping"}`, `{"type":"ping","type":"ping"}`, "{\"type\":\"ping\",\"x\":\"\xff\"}",
		} {
			require.NoError(t, c.conn.Write(t.Context(), websocket.MessageText, []byte(message)))
			require.Equal(t, badCommand, c.next(), "%q", message)
		}
		require.NoError(t, c.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"type":"ping"}`)))
		require.Equal(t, badCommand, c.next())
		c.send(`{"type":"ping","more":{"is":"fine"}}`)
		require.Equal(t, `{"type":"pong"}`, c.next())
		require.NoError(t, c.conn.Ping(c.reading(t)))
	})

	t.Run("a message that is too large", func(t *testing.T) {
		c := service.connect(t, "")
		c.send(`{"type":"` + strings.Repeat("x", 5_000) + `"}`)
		c.closed(websocket.StatusMessageTooBig)
	})

	t.Run("an empty thread is not every thread", func(t *testing.T) {
		refused := service.get(t, "/api/stream?threadId=", dialecttest.Header("Connection", "Upgrade"), dialecttest.Header("Upgrade", "websocket"),
			dialecttest.Header("Sec-WebSocket-Version", "13"), dialecttest.Header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="))
		refused.Want(http.StatusBadRequest)
		require.Contains(t, refused.Text, "must not be empty")
		c := service.connect(t, "")
		c.send(`{"type":"subscribe","threadId":""}`)
		require.Equal(t, badCommand, c.next())
	})

	t.Run("requests that are not a handshake", func(t *testing.T) {
		service.get(t, "/api/stream").failed(http.StatusUpgradeRequired)
		service.get(t, "/api/stream", dialecttest.Header("Connection", "Upgrade"), dialecttest.Header("Upgrade", "websocket"), dialecttest.Header("Sec-WebSocket-Version", "12")).failed(http.StatusBadRequest)
		service.get(t, "/api/stream", dialecttest.Header("Connection", "Upgrade"), dialecttest.Header("Upgrade", "websocket"), dialecttest.Header("Sec-WebSocket-Version", "13")).failed(http.StatusBadRequest)
	})
}

// reading reads on in the background, which is when pongs arrive.
func (c *client) reading(t *testing.T) context.Context {
	t.Helper()
	return c.conn.CloseRead(t.Context())
}

// TestDrain checks that sockets are closed with "going away", and that no new one is accepted.
func TestDrain(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t))
	clients := []*client{service.connect(t, ""), service.connect(t, name())}
	service.API.Drain()
	for _, c := range clients {
		c.closed(websocket.StatusGoingAway)
	}
	service.get(t, "/api/stream").failed(http.StatusServiceUnavailable)
}

// TestTooManySockets checks that sockets count as streams.
func TestTooManySockets(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t), func(o *httpapi.Options) { o.Limits.MaxStreams = 1 })
	service.connect(t, "").settle()
	service.get(t, "/api/stream").failed(http.StatusServiceUnavailable)
}

// TestKeepAlive checks that a quiet socket is pinged, and that a client too busy to answer misses
// nothing.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	service := serve(t, dialecttest.SQLite(t), func(o *httpapi.Options) {
		o.KeepAlive, o.StreamWriteTimeout = 20*time.Millisecond, 200*time.Millisecond
		o.Faces = []kit.Mount{codex.Mount}
	})
	pings := make(chan struct{}, 100)
	dial := func(answering bool, pings chan<- struct{}) *websocket.Conn {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(service.Server.URL, "http", "ws", 1)+"/api/stream", &websocket.DialOptions{
			OnPingReceived: func(context.Context, []byte) bool {
				pings <- struct{}{}
				return answering
			},
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		return conn
	}
	unanswered := make(chan struct{}, 100)
	busy := &client{t: t, conn: dial(false, unanswered)}
	busy.next()
	messages := make(chan string, 100)
	go func() {
		for {
			_, message, err := busy.conn.Read(context.Background())
			if err != nil {
				close(messages)
				return
			}
			messages <- string(message)
		}
	}()
	<-unanswered

	alive := &client{t: t, conn: dial(true, pings)}
	alive.next()
	reading := alive.conn.CloseRead(t.Context())
	for range 40 { // longer than a write may take
		<-pings
	}
	require.NoError(t, reading.Err())
	require.NoError(t, alive.conn.Close(websocket.StatusNormalClosure, ""))

	r := service.waiting(t, approvals(approval("a1", "")))
	for message := range messages {
		if strings.Contains(message, `"type":"approval"`) {
			require.Contains(t, message, r.session)
			return
		}
	}
	require.Fail(t, "the socket was dropped")
}
