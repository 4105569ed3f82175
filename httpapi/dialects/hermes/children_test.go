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
}
