package codex_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// iso is a moment of the domain as the dialect writes it.
func iso(atMs any) string {
	number, _ := atMs.(float64)
	return time.UnixMilli(int64(number)).UTC().Format("2006-01-02T15:04:05.000Z")
}

func testLists(t *testing.T, service, other *replica) {
	t.Run("an approval of any worker", func(t *testing.T) {
		r := service.waiting(t, approvals(approval("a1", "")))
		shown := service.get(t, "/v1/runs/"+r.id).Want(http.StatusOK)
		handle, created := shown.TextAt("pending_approvals", 0, "handle"), iso(shown.At("pending_approvals", 0, "created_at_ms"))
		want := fmt.Sprintf(`{"data":[{"approvalId":%q,"method":"item/commandExecution/requestApproval","threadId":%q,"turnId":%q,"itemId":"call-a1",`+
			`"summary":"Command approval required: npm test","details":{"threadId":%q,"turnId":%q,"itemId":"call-a1","command":"npm test"},`+
			`"createdAt":%q,"status":"pending","toolName":"bash"}]}`, handle, r.session, r.id, r.session, r.id, created)
		service.get(t, "/api/sessions/"+r.session+"/approvals").Is(http.StatusOK, want)
		other.get(t, "/api/sessions/"+r.session+"/approvals").Is(http.StatusOK, want)
		service.get(t, "/api/sessions/"+r.session+"/tool-input").Is(http.StatusOK, `{"data":[]}`)
		service.do(t, http.MethodHead, "/api/sessions/"+r.session+"/approvals", "").Is(http.StatusOK, "")
	})

	t.Run("an approval of a child", func(t *testing.T) {
		r := service.waiting(t, approvals(approval("a1", "")))
		child, system := r.session+"-child", r.session+"-system"
		service.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, r.session)).Want(http.StatusCreated)
		service.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q,"metadata":{"system":true}}`, system, r.session)).Want(http.StatusCreated)
		for _, session := range []string{child, system} {
			service.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"suspend":{%s}}`, session, approvals(approval("b1", "")))).Want(http.StatusAccepted)
		}
		shown := other.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK)
		require.Equal(t, 2, shown.Count("data"), "what a system session asks stays hidden")
		require.Equal(t, child, shown.TextAt("data", 1, "requestedBy"))
		require.Equal(t, 1, service.get(t, "/api/sessions/"+child+"/approvals").Want(http.StatusOK).Count("data"))
	})

	t.Run("a question of any worker", func(t *testing.T) {
		r := service.waiting(t, questions(question("q1", "")))
		shown := service.get(t, "/v1/runs/"+r.id).Want(http.StatusOK)
		handle, created := shown.TextAt("pending_questions", 0, "handle"), iso(shown.At("pending_questions", 0, "created_at_ms"))
		asked := `[{"id":"where","header":"Env","question":"Deploy where?","options":[{"label":"prod","description":"live"},{"label":"staging","description":""}],"isOther":true,"isSecret":false},` +
			`{"id":"how","header":"Way","question":"How?","options":null,"isOther":false,"isSecret":false}]`
		service.get(t, "/api/sessions/"+r.session+"/tool-input").Is(http.StatusOK, fmt.Sprintf(
			`{"data":[{"requestId":%q,"method":"item/tool/requestUserInput","threadId":%q,"turnId":%q,"itemId":"call-q1","summary":"Tool input required (2 questions)",`+
				`"questions":%s,"details":{"threadId":%q,"turnId":%q,"itemId":"call-q1","questions":%s},"createdAt":%q,"status":"pending"}]}`,
			handle, r.session, r.id, asked, r.session, r.id, asked, created))
		service.get(t, "/api/sessions/"+r.session+"/approvals").Is(http.StatusOK, `{"data":[]}`)
	})

	t.Run("the oldest first, and only what is open", func(t *testing.T) {
		r := service.attached(t, approvals(approval("z", ""), approval("y", "")))
		service.post(t, "/v1/runs/"+r.id+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,%s}`, r.fence, approvals(approval("a", ""), approval("b", "")))).Want(http.StatusOK)
		shown := service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK)
		require.Equal(t, 4, shown.Count("data"))
		for i, id := range []string{"call-z", "call-y", "call-a", "call-b"} {
			require.Equal(t, id, shown.At("data", i, "itemId"))
		}
		service.decide(t, shown.TextAt("data", 1, "approvalId"), `{"decision":"accept"}`).Want(http.StatusOK)
		shown = service.get(t, "/api/sessions/"+r.session+"/approvals").Want(http.StatusOK)
		require.Equal(t, 3, shown.Count("data"))
		require.Equal(t, "call-a", shown.At("data", 1, "itemId"))
	})

	t.Run("a clarification that a child asks", func(t *testing.T) {
		r := service.clarifying(t)
		requestID := service.requestID(t, r)
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["slowly"]}}}`).
			Is(http.StatusOK, fmt.Sprintf(`{"status":"ok","requestId":%q,"threadId":%q}`, requestID, r.session))
		shown := service.get(t, "/v1/runs/"+r.id).Want(http.StatusOK)
		require.Equal(t, "completed", shown.At("status"))
		// /v1 would treat the same answer as a retry, but here it is too late.
		service.reply(t, requestID, `{"decision":"accept","answers":{"where":{"answers":["prod"]},"how":{"answers":["slowly"]}}}`).
			Is(http.StatusNotFound, fmt.Sprintf(`{"status":"not_found","requestId":%q}`, requestID))
	})
}

func testGuards(t *testing.T, service, _ *replica) {
	lists := []string{"approvals", "tool-input", "transcript"}

	t.Run("an unknown session has nothing", func(t *testing.T) {
		for _, list := range lists {
			service.get(t, "/api/sessions/"+name()+"/"+list).Is(http.StatusOK, `{"data":[]}`)
			service.get(t, "/api/sessions/%00%20no%2Fid/"+list).Is(http.StatusOK, `{"data":[]}`)
		}
	})

	t.Run("a system session is reserved", func(t *testing.T) {
		session := service.session(t, `{"system":true}`)
		service.waitingIn(t, session, approvals(approval("a1", "")))
		for _, list := range lists {
			service.get(t, "/api/sessions/"+session+"/"+list).Is(http.StatusForbidden, fmt.Sprintf(
				`{"status":"error","code":"system_session","sessionId":%q,"message":"system-owned sessions are reserved for orchestrator workers"}`, session))
		}
		// Nothing in it is declined automatically.
		require.Equal(t, 1, service.get(t, "/v1/sessions/"+session).Want(http.StatusOK).Count("pending_approvals"))
	})

	t.Run("only true is true", func(t *testing.T) {
		for _, value := range []string{`"true"`, `1`, `false`, `null`, `{}`} {
			session := service.session(t, `{"system":`+value+`}`)
			service.get(t, "/api/sessions/"+session+"/approvals").Is(http.StatusOK, `{"data":[]}`)
		}
	})

	t.Run("a session that has ended is gone before it is anything else", func(t *testing.T) {
		for metadata, title := range map[string]string{
			`{"system":true,"title":"Deploy"}`: `"title":"Deploy",`,
			`{"title":7}`:                      "",
			`{}`:                               "",
		} {
			session := service.session(t, metadata)
			r := service.waitingIn(t, session, approvals(approval("a1", "")))
			approvalID := service.get(t, "/v1/runs/"+r.id).TextAt("pending_approvals", 0, "handle")
			service.post(t, "/v1/sessions/"+session+"/end", `{}`).Want(http.StatusOK)
			head, err := service.Store.SessionHead(t.Context(), session)
			require.NoError(t, err)
			for _, list := range lists {
				service.get(t, "/api/sessions/"+session+"/"+list).Is(http.StatusGone, fmt.Sprintf(
					`{"status":"deleted","sessionId":%q,%s"message":"This chat was permanently deleted and is no longer available.","deletedAt":%q}`,
					session, title, iso(float64(head.EndedAtMs))))
			}
			service.decide(t, approvalID, `{"decision":"accept"}`).Want(http.StatusNotFound)
		}
	})
}
