package hermes_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
)

const noSession = "session_id is required"

// testBodies checks how bodies are read (docs/spec/hermes.md#conventions), and that a value of any
// type is an answer and never a failure.
func testBodies(t *testing.T, s *service) {
	responds := []string{"/api/approval/respond", "/api/clarify/respond"}
	parallel(t, "what has no session", func(t *testing.T) {
		for _, route := range responds {
			for _, body := range []string{
				"", " ", "{", "hello", "null", "[]", `[{"session_id":"s"}]`, `"s"`, "5", "\xff", `{"session_id":"s"} x`, `{"session_id":"s"`,
				"{}", `{"session_id":null}`, `{"session_id":""}`, `{"session_id":0}`, `{"session_id":0.0}`, `{"session_id":-0e5}`,
				`{"session_id":false}`, `{"session_id":[ ]}`, `{"session_id":{}}`, `{"SESSION_ID":"s"}`,
				strings.Repeat(`[`, 20_000), "{\"session_id\":\"\xff\"}",
			} {
				s.post(t, route, body).is(http.StatusBadRequest, failed(noSession))
			}
		}
	})
	parallel(t, "sessions that cannot be", func(t *testing.T) {
		for _, id := range []string{"5", "true", "[1]", `{"a":1}`, `"\u0000"`, `"a/b"`, `" "`, `"` + strings.Repeat("s", 300) + `"`, "1e999"} {
			body := `{"session_id":` + id + `,"choice":"once","response":"x"`
			s.post(t, responds[0], body+"}").is(http.StatusOK, chose("once"))
			s.post(t, responds[0], body+`,"approval_id":"a"}`).is(http.StatusOK, cleared("once"))
			s.post(t, responds[1], body+"}").is(http.StatusConflict, stale)
			s.post(t, responds[1], body+`,"clarify_id":"a"}`).is(http.StatusConflict, stale)
		}
	})
	parallel(t, "the media type does not matter, nor do other members", func(t *testing.T) {
		for _, mediaType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
			s.post(t, responds[0], `{"session_id":"nobody","choice":"deny","run_id":[],"mirror_token":1,"yolo":1}`, dialecttest.Header("Content-Type", mediaType)).
				is(http.StatusOK, chose("deny"))
		}
	})
	parallel(t, "a member that is given twice is refused", func(t *testing.T) {
		made := s.waiting(t, approvals("a1"))
		for _, body := range []string{`"choice":"deny","choice":"once"`, `"choice":"once","choice":"once"`, `"choice":"once","x":{"a":1,"a":1}`} {
			s.respond(t, made.SessionID, body).is(http.StatusBadRequest, failed("a member is given twice"))
		}
		s.clarify(t, made.SessionID, `"response":"x","response":"y"`).is(http.StatusBadRequest, failed("a member is given twice"))
		require.Len(t, s.now(t, made).PendingApprovals, 1)
	})
	parallel(t, "an edit does not allow the original input", func(t *testing.T) {
		made := s.waiting(t, approvals("a1"))
		for _, edit := range []string{"updated_input", "updatedInput", "override_input", "overrideInput", "update_input", "edited_args", "newCommand", "edit"} {
			for _, choice := range []string{"once", "session", "always"} {
				s.respond(t, made.SessionID, `"choice":"`+choice+`","`+edit+`":{"command":"ls"}`).
					is(http.StatusBadRequest, failed(edit+": this contract has no edit, so nothing was allowed; decide in the inbox or with /v1"))
			}
		}
		require.Len(t, s.now(t, made).PendingApprovals, 1)
		s.respond(t, made.SessionID, `"choice":"deny","updated_input":{}`).is(http.StatusOK, chose("deny"))
		made = s.waiting(t, approvals("a1"))
		s.respond(t, made.SessionID, `"choice":"once","updated_input":null`).is(http.StatusOK, chose("once"))
	})
	parallel(t, "who decides", func(t *testing.T) {
		for _, route := range responds {
			got := s.post(t, route, `{"session_id":"s","choice":"once"}`, dialecttest.Header("X-Actor", strings.Repeat("x", 201)))
			require.Equal(t, http.StatusBadRequest, got.Status, "%s", got.Text)
			require.Contains(t, got.Text, "{\n  \"error\": \"the X-Actor header")
		}
	})
	parallel(t, "a body that is too large", func(t *testing.T) {
		tooLarge := fmt.Sprintf("the body must have at most %d bytes", hermes.MaxBodyBytes)
		for _, route := range responds {
			fits := `{"session_id":"","ignored":"` + strings.Repeat("x", hermes.MaxBodyBytes-30) + `"}`
			require.LessOrEqual(t, len(fits), hermes.MaxBodyBytes)
			s.post(t, route, fits).is(http.StatusBadRequest, failed(noSession))
			body := strings.Repeat(" ", hermes.MaxBodyBytes+1)
			s.post(t, route, body).is(http.StatusRequestEntityTooLarge, failed(tooLarge))
			chunked := func(r *http.Request) { r.ContentLength = -1 }
			s.post(t, route, fits[:hermes.MaxChunkedBytes], chunked).is(http.StatusBadRequest, failed(noSession))
			s.post(t, route, fits[:hermes.MaxChunkedBytes+1], chunked).is(http.StatusRequestEntityTooLarge, failed(fmt.Sprintf("a body without a Content-Length must have at most %d bytes", hermes.MaxChunkedBytes)))
		}
		long := strings.Repeat("x", hermes.MaxResponseBytes)
		s.clarify(t, "nobody", `"response":"`+long+`"`).is(http.StatusConflict, stale)
		s.clarify(t, "nobody", `"response":"`+long+`x"`).
			is(http.StatusRequestEntityTooLarge, failed(fmt.Sprintf("the response must have at most %d bytes", hermes.MaxResponseBytes)))
	})
	parallel(t, "a Content-Length that is none", func(t *testing.T) {
		for _, length := range []string{"-1", "x", "1.5", "99999999999999999999"} {
			connection, err := net.Dial("tcp", s.Server.Listener.Addr().String())
			require.NoError(t, err)
			defer connection.Close()
			_, err = fmt.Fprintf(connection, "POST /api/approval/respond HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n{}", length)
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, response.Body)
			require.Equal(t, http.StatusBadRequest, response.StatusCode, length)
		}
	})
}

// FuzzBodies checks that no body causes an internal error, and that every reply belongs to the
// dialect.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"session_id":"s"}`, `{"session_id":"s","choice":null}`, `{"session_id":[],"choice":"once"}`,
		`{"session_id":"s","choice":"once","approval_id":"request_0"}`, `{"session_id":"s","response":0,"answer":"x"}`,
		`{"session_id":1e400,"choice":"\ud800"}`, `{"session_id":"s","response":true,"clarify_id":"a:b"}`, "{\"a\":\"\xff\"}",
	} {
		f.Add(seed)
	}
	store := dialecttest.SQLite(f)
	s := serve(f, store)
	made := struct{ approvals, questions string }{
		approvals: `{"session_id":"s","input":1,"suspend":{"approvals":[` + approval("a1") + `],"questions":[` + free("q1") + `]}}`,
	}
	f.Fuzz(func(t *testing.T, body string) {
		s.post(t, "/v1/runs", made.approvals) // refused while the last one waits
		for route, statuses := range map[string][]int{
			"/api/approval/respond": {200, 400},
			"/api/clarify/respond":  {200, 400, 409},
		} {
			got := s.post(t, route, body)
			require.Contains(t, statuses, got.Status, "%s: %s", body, got.Text)
			require.Equal(t, "application/json; charset=utf-8", got.Header.Get("Content-Type"))
			require.True(t, strings.HasPrefix(got.Text, "{\n  \""), "%s", got.Text)
		}
	})
}
