package timbal_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// childOf makes a session below another one, with a run that waits for one approval, and returns the
// approval's handle.
func (s *service) childOf(t *testing.T, parent string) (session, runID, handle string) {
	t.Helper()
	session = runs.NewID("child")
	_, err := s.Store.Do(t.Context(), &runs.CreateSession{SessionID: session, ParentSessionID: parent})
	require.NoError(t, err)
	reply, err := s.Store.Do(t.Context(), &runs.CreateRun{
		SessionID: session, SessionGiven: true, AgentID: "help.er", Input: api.JSON(`1`),
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}},
	})
	require.NoError(t, err)
	return session, reply.Run.Run.RunID, reply.Run.Requests[0].Handle
}

// An approval of a session below the run's is shown while the run works, as one of a runnable nested in
// it, marked with the session that asks. A resume of the run decides it, and the run goes on.
func testApprovalsOfChildren(t *testing.T, s *service) {
	first := s.open(t, "/stream", `{"prompt":"x"}`)
	require.Equal(t, "START", first.next().kind())
	w := s.claim(t, first.runID)
	child, childRun, handle := s.childOf(t, w.sessionID())
	_, grandchildRun, below := s.childOf(t, child)
	asks := map[any]*event{}
	for range 2 {
		one := first.next()
		require.Equal(t, "APPROVAL", one.kind(), one.text)
		require.Zero(t, one.seq, "it is not in the log of the run")
		asks[one.at("approval_id")] = one
	}
	asked := asks[handle]
	require.NotNil(t, asked)
	require.Contains(t, asks, below)
	require.Equal(t, "assistant.help_er.send_email", asked.at("path"))
	require.Equal(t, asked.at("path"), asked.at("runnable_path"))
	require.Equal(t, childRun, asked.at("parent_call_id"))
	require.Equal(t, child, asked.at("metadata", "requested_by"))
	require.Equal(t, map[string]any{"to": "a@example.com", "subject": "hi"}, asked.at("input"))

	body := resumeBody(t, w.runID, handle, `{"approved":true,"override_input":{"to":"b@example.com"}}`, below, `{"approved":false,"reason":"no"}`)
	second := s.open(t, "/stream", body, actor("ann"), key("k"))
	require.Equal(t, "START", second.next().kind())
	outcome, recorded := s.settled(t, handle)
	require.Equal(t, api.OutcomeAllowed, outcome)
	require.Equal(t, "timbal", recorded.Via)
	require.Equal(t, "ann", recorded.ResolvedBy)
	require.JSONEq(t, `{"to":"b@example.com","subject":"hi"}`, string(recorded.UpdatedInput))
	outcome, recorded = s.settled(t, below)
	require.Equal(t, api.OutcomeDenied, outcome)
	require.Equal(t, "no", recorded.Reason)
	record := s.record(t, grandchildRun)
	require.Equal(t, api.StatusRunning, record.Run.Status)

	// The same call again with its key is a replay; another decision comes too late.
	again := s.open(t, "/stream", body, key("k"))
	require.Equal(t, "true", again.Response.Header.Get("Idempotency-Replayed"))
	late := s.show(t, resumeBody(t, w.runID, handle, `false`))
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(late))
	require.Equal(t, map[string]any{"approval_id": handle, "status": "approval_already_claimed"}, late[1].at("output"))

	w.complete(`"done"`)
	require.Equal(t, []string{"OUTPUT"}, kinds(first.rest()))
	for _, one := range []*shown{second, again} {
		all := one.rest()
		require.Equal(t, "success", all[len(all)-1].at("status", "code"))
	}
	list := s.events(t, first.runID, "")
	require.Equal(t, 2, list.Count("events"), "%s", list.Text)
}

// A paused run shows the approvals of sessions below with its own, and a map may answer both. Sessions that are not
// below the run's, and values that are none, decide nothing.
func testChildrenAndAPausedRun(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	own := ids(first)[0]
	_, _, handle := s.childOf(t, w.sessionID())
	_, other, foreign := s.childOf(t, "")
	all := s.show(t, resumeBody(t, w.runID))
	require.Equal(t, []string{"START", "APPROVAL", "APPROVAL", "OUTPUT"}, kinds(all))
	require.Equal(t, []string{own, handle}, ids(all))

	for _, value := range []string{`"yes"`, `{"approved":null}`, `{"approved":true,"override_input":{"to":7}}`} {
		failed := s.show(t, resumeBody(t, w.runID, handle, value))
		require.Equal(t, "error", failed[len(failed)-1].at("status", "code"), value)
	}
	ignored := s.show(t, resumeBody(t, w.runID, foreign, `true`))
	require.Contains(t, fmt.Sprint(ignored[len(ignored)-1].at("metadata", "warnings")), "unknown to this run")
	require.Equal(t, http.StatusUnprocessableEntity, s.do(t, http.MethodPost, "/stream", resumeBody(t, w.runID, handle, `{"type":"timbal.cancel","reason":1}`)).Status)
	for _, id := range []string{handle, foreign} {
		outcome, _ := s.settled(t, id)
		require.Empty(t, outcome)
	}

	events, _ := s.gone(t, w, resumeBody(t, w.runID, own, `true`, handle, `true`))
	require.Equal(t, "success", events[len(events)-1].at("status", "code"))
	outcome, _ := s.settled(t, handle)
	require.Equal(t, api.OutcomeAllowed, outcome)

	// A child's cancel ends the child's run only.
	cancelled := s.show(t, resumeBody(t, other, foreign, `{"type":"timbal.cancel"}`))
	require.Equal(t, "cancelled", cancelled[len(cancelled)-1].at("status", "reason"))
}
