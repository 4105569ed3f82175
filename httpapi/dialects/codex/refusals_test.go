package codex_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// failed checks that the reply is a request_failed.
func (a *answer) failed(status int) *answer {
	a.T.Helper()
	a.Want(status)
	require.Equal(a.T, "error", a.At("status"))
	require.Equal(a.T, "request_failed", a.At("code"))
	require.NotEmpty(a.T, a.At("message"))
	require.Nil(a.T, a.At("issues"))
	return a
}

func testRefusals(t *testing.T, service, _ *replica) {
	r := service.waiting(t, approvals(approval("a1", ""))+","+questions(question("q1", "")))
	routes := []string{
		"/api/approvals/nobody/decision", "/api/approvals/" + service.approvalID(t, r) + "/decision",
		"/api/tool-input/nobody/decision", "/api/tool-input/" + service.requestID(t, r) + "/decision",
	}

	t.Run("a body is looked at before anything is looked up", func(t *testing.T) {
		for _, route := range routes {
			service.post(t, route, `{}`).invalid("decision")
			service.post(t, route, `{"decision":null}`).invalid("decision")
			service.post(t, route, `{"decision":"Accept"}`).invalid("decision")
			service.post(t, route, `{"decision":["accept"]}`).invalid("decision")
			service.post(t, route, `{"desicion":"accept"}`).invalid("decision")
			service.post(t, route, `[]`).invalid()
			service.post(t, route, `"accept"`).invalid()
			service.post(t, route, `{"decision":"accept","deep":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`}`).Want(http.StatusBadRequest)
			service.do(t, http.MethodPost, route, "").invalid()
			service.post(t, route, `{"decision":`).failed(http.StatusBadRequest)
			service.post(t, route, `{"decision":"accept"} {}`).failed(http.StatusBadRequest)
			service.post(t, route, `{"decision":"accept","decision":"decline"}`).failed(http.StatusBadRequest)
			service.post(t, route, "{\"decision\":\"accept\",\"x\":\"\\ud800\"}").failed(http.StatusBadRequest)
			service.do(t, http.MethodPost, route, "", dialecttest.Header("Content-Type", "application/json")).failed(http.StatusBadRequest)
			service.post(t, route, `{"decision":"accept"}`, dialecttest.Header("Content-Type", "text/plain")).failed(http.StatusUnsupportedMediaType)
			service.post(t, route, `{"decision":"accept"}`, dialecttest.Header("Content-Encoding", "gzip")).failed(http.StatusUnsupportedMediaType)
			service.post(t, route, `{"decision":"accept","x":"`+strings.Repeat("x", 1<<20)+`"}`).failed(http.StatusRequestEntityTooLarge)
			service.post(t, route, `{"decision":"accept"}`, dialecttest.Header("X-Actor", " ")).failed(http.StatusBadRequest)
		}
		for _, route := range routes[:2] {
			service.post(t, route, `{"decision":"accept","scope":"always"}`).invalid("scope")
			service.post(t, route, `{"decision":"accept","scope":null}`).invalid("scope")
			service.post(t, route, `{"decision":"accept","updated_input":{"command":"ls"}}`).invalid("updated_input")
			service.post(t, route, `{"decision":"accept","overrideInput":{"command":"ls"}}`).invalid("overrideInput")
			service.post(t, route, `{"decision":"accept","update_input":{"command":"ls"}}`).invalid("update_input")
			both := service.post(t, route, `{"decision":"x","scope":1}`).invalid("decision")
			require.Equal(t, []any{"scope"}, both.At("issues", 1, "path"))
		}
		for _, route := range routes[2:] {
			service.post(t, route, `{"decision":"accept","answers":null}`).invalid("answers")
			service.post(t, route, `{"decision":"accept","answers":[]}`).invalid("answers")
			service.post(t, route, `{"decision":"decline","answers":{"q1":"yes"}}`).invalid("answers", "q1")
			service.post(t, route, `{"decision":"accept","answers":{"q1":{}}}`).invalid("answers", "q1", "answers")
			service.post(t, route, `{"decision":"accept","answers":{"q1":{"answers":"yes"}}}`).invalid("answers", "q1", "answers")
			service.post(t, route, `{"decision":"accept","answers":{"q1":{"answers":["yes",2]}}}`).invalid("answers", "q1", "answers", 1)
		}
		require.Equal(t, 2, service.get(t, "/v1/sessions/"+r.session).Count("pending_approvals")+service.get(t, "/v1/sessions/"+r.session).Count("pending_questions"))
	})

	t.Run("an issue says what was expected", func(t *testing.T) {
		service.post(t, routes[0], `{"decision":"maybe"}`).Is(http.StatusBadRequest,
			`{"status":"error","code":"invalid_request","message":"request validation failed","issues":[{"code":"invalid_enum_value","path":["decision"],`+
				`"message":"Invalid enum value. Expected 'accept' | 'decline' | 'cancel', received 'maybe'"}]}`)
		service.post(t, routes[0], `{}`).Is(http.StatusBadRequest,
			`{"status":"error","code":"invalid_request","message":"request validation failed","issues":[{"code":"invalid_type","path":["decision"],"message":"Required"}]}`)
	})

	t.Run("an id that is nobody's", func(t *testing.T) {
		for _, id := range []string{"nobody", "17", "%00", "a%20b", "%2e%2e", strings.Repeat("x", 300)} {
			service.decide(t, id, `{"decision":"accept"}`).Want(http.StatusNotFound)
			service.reply(t, id, `{"decision":"accept"}`).Want(http.StatusNotFound)
		}
		service.decide(t, "17", `{"decision":"accept"}`).Is(http.StatusNotFound, `{"status":"not_found","approvalId":"17"}`)
		service.reply(t, "18", `{"decision":"accept"}`).Is(http.StatusNotFound, `{"status":"not_found","requestId":"18"}`)
		// The one is never the other, nor is a request's own id its handle.
		service.decide(t, service.requestID(t, r), `{"decision":"accept"}`).Want(http.StatusNotFound)
		service.reply(t, service.approvalID(t, r), `{"decision":"decline"}`).Want(http.StatusNotFound)
		service.decide(t, "a1", `{"decision":"accept"}`).Want(http.StatusNotFound)
	})

	t.Run("a page of another origin", func(t *testing.T) {
		service.get(t, "/api/sessions/x/approvals", dialecttest.Header("Origin", "https://evil.example")).Want(http.StatusForbidden)
		service.get(t, "/api/stream", dialecttest.Header("Origin", "https://evil.example")).Want(http.StatusForbidden)
	})
}

// broken is a store whose database does not answer.
type broken struct {
	runs.Store
	doing, reading error
}

func (b *broken) Within(reads.Scope) reads.Reader { return b }

func (b *broken) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if b.doing != nil {
		return runs.Reply{}, b.doing
	}
	return b.Store.Do(ctx, command)
}

func (b *broken) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	if b.reading != nil {
		return nil, b.reading
	}
	return b.Store.SessionHead(ctx, sessionID)
}

// TestFailures checks the reply to a failure of the service, and that the request stays open.
func TestFailures(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	service := serve(t, store)
	down := serve(t, &broken{Store: store, doing: fmt.Errorf("%w: secret", runs.ErrUnavailable), reading: errors.New("secret")})
	r := service.waiting(t, approvals(approval("a1", ""))+","+questions(question("q1", "")))
	approvalID, requestID := service.approvalID(t, r), service.requestID(t, r)

	for _, decision := range []string{"accept", "decline", "cancel"} {
		down.decide(t, approvalID, `{"decision":"`+decision+`"}`).Is(http.StatusInternalServerError, fmt.Sprintf(`{"status":"error","approvalId":%q}`, approvalID))
		down.reply(t, requestID, `{"decision":"`+decision+`","answers":{"where":{"answers":["x"]},"how":{"answers":["x"]}}}`).
			Is(http.StatusInternalServerError, fmt.Sprintf(`{"status":"error","requestId":%q}`, requestID))
	}
	for _, list := range []string{"approvals", "tool-input", "transcript"} {
		down.get(t, "/api/sessions/"+r.session+"/"+list).Is(http.StatusInternalServerError,
			`{"status":"error","code":"internal_error","message":"internal server error"}`)
	}
	require.Equal(t, approvalID, service.approvalID(t, r))
	require.Equal(t, requestID, service.requestID(t, r))
}

// TestNoRoomForARule checks that a full list of rules is not answered as a failure of the service, which
// clients retry.
func TestNoRoomForARule(t *testing.T) {
	t.Parallel()
	store := dialecttest.SQLite(t)
	full := serve(t, &broken{Store: store, doing: refusal.New(api.CodeTooManyRules, "the session would have 1001 rules in force")})
	service := serve(t, store)
	r := service.waiting(t, approvals(approval("a1", "")))
	approvalID := service.approvalID(t, r)
	refused := full.decide(t, approvalID, `{"decision":"accept","scope":"session"}`).invalid("scope")
	require.Equal(t, "the session would have 1001 rules in force", refused.At("issues", 0, "message"))
	require.Equal(t, approvalID, service.approvalID(t, r), "it stays open")
	service.decide(t, approvalID, `{"decision":"accept"}`).Want(http.StatusOK)
}
