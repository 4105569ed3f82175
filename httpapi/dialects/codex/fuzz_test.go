package codex_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

// FuzzBodies sends any body to both decision routes: the answer is one of the contract,
// and never a failure of the service.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"decision":"accept"}`, `{"decision":"accept","scope":"session"}`, `{"decision":"cancel","response":null}`,
		`{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["x"]}}}`,
		`{"decision":"accept","answers":{"":{"answers":["\u0000"]},"how":{"answers":[1e400]}}}`,
		`{"decision":"accept","response":{"a":[1,{"b":null}]}}`, `{"decision":"decline","answers":{"a~1b/c":{}}}`,
		`{"decision":"accept","response":9007199254740993}`, "{\"decision\":\"accept\",\"response\":\"\xff\"}", `[`, ``,
	} {
		f.Add(body, false)
		f.Add(body, true)
	}
	service := serve(f, dialecttest.SQLite(f))
	handler := service.API.Handler()
	f.Fuzz(func(t *testing.T, body string, typed bool) {
		asked := question("q1", "")
		if typed {
			asked = `{"id":"q1","tool_call_id":"c","questions":[],"response_schema":{"type":["object","null"]}}`
		}
		r := service.waiting(t, approvals(approval("a1", ""))+","+questions(asked))
		for route, pending := range map[string]func(*testing.T, run) string{
			"/api/approvals/%s/decision": service.approvalID, "/api/tool-input/%s/decision": service.requestID,
		} {
			if service.get(t, "/v1/runs/"+r.id).At("status") == "cancelled" {
				return
			}
			request := (&http.Request{
				Method: http.MethodPost, URL: &url.URL{Path: fmt.Sprintf(route, pending(t, r))}, Host: "localhost",
				Header: http.Header{"Content-Type": {"application/json"}}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
				Body: readCloser{strings.NewReader(body)}, ContentLength: int64(len(body)),
			}).WithContext(t.Context())
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			require.Contains(t, []int{200, 400, 413}, recorder.Code, "%s", recorder.Body)
			var reply struct {
				Status string `json:"status"`
				Code   string `json:"code"`
			}
			require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &reply))
			if recorder.Code != http.StatusOK {
				require.Equal(t, "error", reply.Status)
				require.Contains(t, []string{"invalid_request", "request_failed"}, reply.Code)
				pending(t, r) // it stays open
			}
		}
		service.get(t, "/api/sessions/"+r.session+"/transcript").Want(http.StatusOK)
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// FuzzCommands sends any message to a socket: it is obeyed or refused in one message,
// and the socket lives.
func FuzzCommands(f *testing.F) {
	for _, message := range []string{
		`{"type":"ping"}`, `{"type":"subscribe","threadId":"t"}`, `{"type":"unsubscribe"}`, `{"type":"x"}`, ``, `{`, "\x00", `"ping"`,
		`{"type":"subscribe","threadId":{}}`, strings.Repeat("[", 100),
	} {
		f.Add([]byte(message), false)
		f.Add([]byte(message), true)
	}
	service := serve(f, dialecttest.SQLite(f))
	conn, _, err := websocket.Dial(context.Background(), strings.Replace(service.Server.URL, "http", "ws", 1)+"/api/stream", nil)
	require.NoError(f, err)
	f.Cleanup(func() { _ = conn.CloseNow() })
	_, _, err = conn.Read(context.Background())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, message []byte, binary bool) {
		if len(message) > 4<<10 {
			return // it ends the socket
		}
		kind := websocket.MessageText
		if binary {
			kind = websocket.MessageBinary
		}
		c := &client{t: t, conn: conn}
		require.NoError(t, conn.Write(t.Context(), kind, message))
		c.send(`{"type":"ping"}`)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for answers := 0; answers < 2; answers++ {
			_, answer, err := conn.Read(ctx)
			require.NoError(t, err)
			if string(answer) == `{"type":"pong"}` {
				if answers == 0 && strings.Contains(string(message), "ping") {
					// It may be the answer to the message itself.
					var command struct {
						Type string `json:"type"`
					}
					if !binary && json.Unmarshal(message, &command) == nil && command.Type == "ping" {
						continue
					}
				}
				return
			}
			require.Equal(t, badCommand, string(answer))
		}
	})
}
