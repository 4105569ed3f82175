package hermes_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// testChildren checks that a client of a session sees and decides the requests of the sessions below it,
// marked with the session that asks.
func testChildren(t *testing.T, s *service) {
	parent, child, grandchild := runs.NewID("parent"), runs.NewID("child"), runs.NewID("grandchild")
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, parent)).Want(http.StatusCreated)
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).Want(http.StatusCreated)
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, grandchild, child)).Want(http.StatusCreated)
	stream := s.follow(t, "/api/approval/stream", parent)
	require.Contains(t, stream.next(), "event: initial")
	made := s.waitingIn(t, child, `"approvals":[`+approval("a1")+`]`)
	handle := made.PendingApprovals[0].Handle
	frame := stream.Frame()
	require.Equal(t, "approval", frame.Event)
	require.Contains(t, frame.Data, handle)

	below := s.waitingIn(t, grandchild, `"approvals":[`+approval("a2")+`]`)
	own := below.PendingApprovals[0].Handle
	shown := s.pendingApproval(t, parent).Want(http.StatusOK)
	require.Equal(t, handle, shown.TextAt("pending", "approval_id"))
	require.Equal(t, child, shown.TextAt("pending", "requested_by"))
	require.Contains(t, shown.TextAt("pending", "description"), "Asked by session "+child)
	require.EqualValues(t, 2, shown.At("pending_count"))
	require.NotContains(t, s.pendingApproval(t, child).Want(http.StatusOK).TextAt("pending", "description"), "Asked by")
	require.Equal(t, own, s.pendingApproval(t, grandchild).Want(http.StatusOK).TextAt("pending", "approval_id"))

	// A session decides for none above it.
	s.respond(t, grandchild, fmt.Sprintf(`"choice":"once","approval_id":%q`, handle)).is(http.StatusOK, other("once"))
	require.Len(t, s.now(t, made).PendingApprovals, 1)

	s.respond(t, parent, fmt.Sprintf(`"choice":"once","approval_id":%q`, handle)).is(http.StatusOK, chose("once"))
	require.Equal(t, api.OutcomeAllowed, s.now(t, made).Resume.Approvals[0].Resolution.Outcome)
	s.respond(t, parent, `"choice":"deny"`).is(http.StatusOK, chose("deny"))
	require.Equal(t, api.OutcomeDenied, s.now(t, below).Resume.Approvals[0].Resolution.Outcome)
	s.pendingApproval(t, parent).is(http.StatusOK, noApproval)

	t.Run("a question", func(t *testing.T) {
		child := child + "-asks"
		s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).Want(http.StatusCreated)
		made := s.waitingIn(t, child, questions(free("q1")))
		shown := s.pendingClarification(t, parent).Want(http.StatusOK)
		require.Equal(t, made.handle(t, "q1"), shown.TextAt("pending", "clarify_id"))
		require.Equal(t, parent, shown.TextAt("pending", "session_id"))
		require.Equal(t, child, shown.TextAt("pending", "requested_by"))
		require.Equal(t, "Asked by session "+child+": Why q1?", shown.TextAt("pending", "question"))
		s.clarify(t, parent, `"response":"because","clarify_id":"`+made.handle(t, "q1")+`"`).is(http.StatusOK, took("because"))
		s.pendingClarification(t, parent).is(http.StatusOK, noClarification)
	})
	for kind, settle := range map[string]func(t *testing.T, parent, handle string){
		"approval": func(t *testing.T, parent, handle string) {
			s.respond(t, parent, fmt.Sprintf(`"choice":"once","approval_id":%q`, handle)).is(http.StatusOK, chose("once"))
		},
		"clarify": func(t *testing.T, parent, handle string) {
			s.clarify(t, parent, fmt.Sprintf(`"response":"because","clarify_id":%q`, handle)).is(http.StatusOK, took("because"))
		},
	} {
		t.Run("open when the stream begins, and settled before the next look: "+kind, func(t *testing.T) {
			parent, child := runs.NewID("parent"), runs.NewID("child")
			s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, parent)).Want(http.StatusCreated)
			s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).Want(http.StatusCreated)
			made := s.waitingIn(t, child, approvals("a1")+","+questions(free("q1")))
			handle := made.handle(t, map[string]string{"approval": "a1", "clarify": "q1"}[kind])
			route := "/api/" + kind + "/stream"
			stream := s.follow(t, route, parent)
			stream.shows("initial", handle, 1)
			settle(t, parent, handle)
			stream.shows(kind, "", 0)
			s.follow(t, route, parent).shows("initial", "", 0)
		})
	}
}
