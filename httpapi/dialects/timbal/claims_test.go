package timbal_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// The first committed decision wins, on whatever face (docs/spec/timbal.md#late-resume).
func testTooLate(t *testing.T, s *service) {
	w, first := s.paused(t, question("q"), approval("a"))
	q, a := ids(first)[0], ids(first)[1]
	w.do(&runs.ResolveApprovals{RunID: w.runID, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: "deny"}}})
	claimed := func(id, value string) map[string]any {
		events := s.show(t, resumeBody(t, w.runID, id, value))
		require.Equal(t, []string{"START", "OUTPUT"}, kinds(events))
		require.Equal(t, map[string]any{
			"code": "cancelled", "reason": "approval_already_claimed", "message": "Approval was already claimed by another resume run.",
		}, events[1].at("status"))
		require.Nil(t, events[1].at("error"))
		output, _ := events[1].at("output").(map[string]any)
		return output
	}
	want := map[string]any{"approval_id": a, "status": "approval_already_claimed"}
	require.Equal(t, want, claimed(a, `true`))
	require.Equal(t, want, claimed(a, `false`), "the same decision without a key too")
	require.Equal(t, want, claimed(a, `{"type":"timbal.cancel"}`))
	// One entry that is late refuses the whole map.
	both := s.show(t, resumeBody(t, w.runID, q, `"mysql"`, a, `true`))
	require.Equal(t, "approval_already_claimed", both[1].at("status", "reason"))
	outcome, _ := s.settled(t, q)
	require.Empty(t, outcome)

	w.do(&runs.AnswerQuestion{RunID: w.runID, Resolution: runs.QuestionAnswer{RequestID: "q", Declined: true}})
	want = map[string]any{"suspension_id": q, "status": "approval_already_claimed"}
	require.Equal(t, want, claimed(q, `"mysql"`))
	require.Equal(t, want, claimed(q, `{"type":"timbal.cancel"}`))
	w.goOn()
	require.Equal(t, want, claimed(q, `"mysql"`), "even if the run is over")
	_, resolution := s.settled(t, a)
	require.Equal(t, api.OutcomeDenied, resolution.Outcome)
	require.Equal(t, "api", resolution.Via)
	_, resolution = s.settled(t, q)
	require.Equal(t, api.OutcomeDeclined, resolution.Outcome)
}

// If a request expired or was cancelled meanwhile, the answer is a cancelled OUTPUT.
func testTooLateForTheClock(t *testing.T, s *service) {
	after := int64(1)
	due, dueQuestion := approval("a"), question("q")
	due.ExpiresAfterMs, dueQuestion.ExpiresAfterMs = &after, &after
	w, first := s.paused(t, due, approval("b"))
	s.passed(t, first[1].at("t0").(float64)+2)
	a, b := ids(first)[0], ids(first)[1]
	late := s.show(t, resumeBody(t, w.runID, a, `true`))
	require.Equal(t, map[string]any{"code": "cancelled", "reason": "cancelled", "message": late[1].at("output", "reason")}, late[1].at("status"))
	require.Equal(t, a, late[1].at("output", "approval_id"))
	require.Contains(t, late[1].at("output", "reason"), "expired at")
	outcome, _ := s.settled(t, a)
	require.Equal(t, api.OutcomeExpired, outcome, "and not allowed")
	events, _ := s.gone(t, w, resumeBody(t, w.runID, b, `true`))
	require.Equal(t, "success", events[1].at("status", "code"), "the run itself goes on")

	w, first = s.paused(t, dueQuestion)
	s.passed(t, first[1].at("t0").(float64)+2)
	late = s.show(t, resumeBody(t, w.runID, ids(first)[0], `"mysql"`))
	require.Equal(t, "cancelled", late[1].at("status", "reason"))
	require.Equal(t, "cancelled", late[1].at("output", "status"))

	w, first = s.paused(t, approval("a"))
	cancelled := s.do(t, http.MethodPost, "/cancel/"+w.runID, "")
	require.Equal(t, http.StatusNoContent, cancelled.Status)
	late = s.show(t, resumeBody(t, w.runID, ids(first)[0], `true`))
	require.Equal(t, map[string]any{"approval_id": ids(first)[0], "status": "cancelled", "reason": nil}, late[1].at("output"))
	attached := s.show(t, resumeBody(t, w.runID))
	require.Equal(t, late[1].at("output"), attached[1].at("output"))
	s.sameInLog(t, attached)
}

// passed waits until the clock that decides has passed a moment.
func (s *service) passed(t *testing.T, moment float64) {
	t.Helper()
	require.Eventually(t, func() bool {
		nowMs, err := s.Store.NowMs(t.Context())
		return err == nil && float64(nowMs) >= moment
	}, time.Minute, time.Millisecond)
}

// A resume that is sent again with its key, because its reply was lost, shows the run
// that it started.
func testResumeAgainWithItsKey(t *testing.T, s *service) {
	w, first := s.paused(t, question("q"), approval("a"), approval("b"))
	q, a, b := ids(first)[0], ids(first)[1], ids(first)[2]
	body := resumeBody(t, w.runID, q, `"mysql"`, a, `{"approved":true,"override_input":{"to":"b@example.com"},"reason":"ok"}`)
	lost := s.open(t, "/stream", body, key("k"))
	lost.Leave()
	again := s.show(t, body, key("k"))
	require.Equal(t, lost.runID, again[0].at("run_id"))
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(again))
	s.sameInLog(t, again)
	// The same in another order is the same.
	turned := s.show(t, resumeBody(t, w.runID, a, `{"approved":true,"override_input":{"to":"b@example.com"},"reason":"ok"}`, q, `"mysql"`), key("k"))
	require.Equal(t, lost.runID, turned[0].at("run_id"))
	conflict := s.do(t, http.MethodPost, "/stream", resumeBody(t, w.runID, q, `"mysql"`, a, `true`), key("k"))
	require.Equal(t, http.StatusConflict, conflict.Status)
	require.Contains(t, conflict.body, "detail")
	without := s.show(t, body)
	require.Equal(t, "approval_already_claimed", without[1].at("status", "reason"))

	// The client continues from there, and the key still shows the first one.
	soon := resumeBody(t, lost.runID, b, `{"approved":true,"expires_at":9000000000000}`)
	last, _ := s.gone(t, w, soon, key("k2"))
	require.Equal(t, "success", last[1].at("status", "code"))
	require.Equal(t, last[0].at("run_id"), s.show(t, soon, key("k2"))[0].at("run_id"))
	reply := s.do(t, http.MethodPost, "/run", soon, key("k2"))
	require.Equal(t, "true", reply.Header.Get("Idempotency-Replayed"))
	require.Equal(t, last[1].text, reply.Text)
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(s.show(t, body, key("k"))))

	w, first = s.paused(t, approval("a"))
	body = resumeBody(t, w.runID, ids(first)[0], `{"type":"timbal.cancel","reason":"no"}`)
	cancelled := s.show(t, body, key("k"))
	require.Equal(t, cancelled, s.show(t, body, key("k")))
}

// A refused resume leaves no record: the key may be used again with better values.
func testKeyOfARefusedResume(t *testing.T, s *service) {
	w, first := s.paused(t, typed("t"))
	id := ids(first)[0]
	require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, kinds(s.show(t, resumeBody(t, w.runID, id, `7`), key("k"))))
	events, _ := s.gone(t, w, resumeBody(t, w.runID, id, `true`), key("k"))
	require.Equal(t, "success", events[1].at("status", "code"))
}

// This face follows a decision made elsewhere: a resume without answers follows the run.
func testFollowWhatWasDecidedElsewhere(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"))
	w.do(&runs.ResolveApprovals{RunID: w.runID, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: "allow"}}})
	stream := s.open(t, "/stream", resumeBody(t, w.runID))
	require.Equal(t, "START", stream.next().kind())
	w.again()
	w.wait(typed("t"))
	rest := stream.rest()
	require.Equal(t, []string{"INTERACTION", "OUTPUT"}, kinds(rest))
	require.Equal(t, "approval_already_claimed", s.show(t, resumeBody(t, w.runID, ids(first)[0], `true`))[1].at("status", "reason"))
	last, _ := s.gone(t, w, resumeBody(t, stream.runID, ids(rest)[0], `true`))
	require.Equal(t, "success", last[1].at("status", "code"))
}
