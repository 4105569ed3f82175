package runs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

const messageOfQ = "parent-clarification-answer-q"

// A parked run continues with the answer, which its claim acknowledges. The members match
// docs/spec/v1.md#delivery exactly.
func TestAnswerForAParkedRun(t *testing.T) {
	h := parallelHouse(t)
	runID := h.parked()
	h.nowMs += 10
	given := answer(runID, "q", "south")
	given.Resolution.Justification = "shorter"
	given.Resolution.Answers[0].FreeformAnswer = "by the river"
	h.must(given)
	h.nowMs += 10
	require.Equal(t, 1, h.carryOut())

	run := h.run("r")
	require.Equal(t, api.StatusRunning, run.Status)
	require.Equal(t, h.nowMs, run.ClaimableAtMs)
	require.Nil(t, (&model.RunRecord{Run: *run}).View().WaitingOn)
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "parent_clarification_requested", "waiting_for_user_question", "user_question_resolved", "started",
	}, h.eventTypes("r"))
	require.JSONEq(t, `{"type":"user_question_resolved","resolution":{"request_id":"q","outcome":"answered","declined":false,
		"answers":[{"question_id":"route","selected_option_ids":["south"],"freeform_answer":"by the river"}],"justification":"shorter",
		"resolved_by":"api-user","resolved_at_ms":1000010,"via":"api"}}`, h.lastEvent("r", api.EventUserQuestionResolved))
	request := h.request("r", "q")
	require.Equal(t, h.nowMs, request.SettledAtMs)
	require.Equal(t, h.nowMs-10, request.Recorded().ResolvedAtMs, "the moment of the decision, not of its delivery")

	const members = `"request_id":"q","declined":false,"summary":"Which route?: South",
		"answers":[{"question_id":"route","header":"Route","question":"Which route?","selected_option_ids":["south"],
			"selected_options":[{"id":"south","label":"South"}],"freeform_answer":"by the river"}],"justification":"shorter"`
	message := *h.message("s", messageOfQ)
	require.JSONEq(t, `{"type":"parent_clarification_answer",`+members+`}`, string(message.Payload))
	require.Equal(t, model.Message{
		SessionID: "s", MessageID: messageOfQ, RunID: "r", FromSessionID: "p", State: api.MessagePending,
		Subject: "clarification_answer", Payload: message.Payload, CreatedAtMs: h.nowMs,
	}, message)

	h.nowMs += 10
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	requireJSON(t, `{"suspension_id":"`+run.SuspensionID+`","approvals":[],"questions":[],"clarification":{`+members+`}}`, claim.Resume)
	require.Equal(t, int64(1), claim.Attempt)
	message = *h.message("s", messageOfQ)
	require.Equal(t, api.MessageAcknowledged, message.State)
	require.Equal(t, h.nowMs, message.AcknowledgedAtMs)
	require.Empty(t, h.read(false))

	// When a worker dies, the next one gets the answer.
	h.nowMs += api.DefaultLeaseMs
	again := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w2"}).Claim
	require.Equal(t, claim.Resume, again.Resume)
	// Its next suspension starts a new Resume.
	h.must(suspend("r", 3, approval("a")))
	h.must(allow("r", "a"))
	require.Nil(t, h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w3"}).Claim.Resume.Clarification)
}

// A run that did not park finds the answer only in its mailbox.
func TestAnswerForARunThatWentOn(t *testing.T) {
	h := parallelHouse(t)
	runID := h.unparked()
	before := *h.run("r")
	h.nowMs += 10
	h.must(answer(runID, "q", "south"))
	h.carryOut()
	run := h.run("r")
	require.Equal(t, api.StatusRunning, run.Status)
	require.Equal(t, before.Fence, run.Fence)
	require.Equal(t, before.LeaseExpiresAtMs, run.LeaseExpiresAtMs)
	require.Equal(t, before.ClaimableAtMs, run.ClaimableAtMs)
	require.Equal(t, before.Attempt, run.Attempt)
	require.Nil(t, h.record("r").View().Resume)
	require.Equal(t, []api.EventType{
		"accepted", "queued", "started", "parent_clarification_requested", "user_question_resolved",
	}, h.eventTypes("r"))
	require.Equal(t, []string{messageOfQ}, h.read(false))

	// Its next claim neither includes nor acknowledges the answer.
	h.nowMs += api.DefaultLeaseMs
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	require.Nil(t, claim.Resume)
	require.Equal(t, api.MessagePending, h.message("s", messageOfQ).State)
}

// A typed question is answered with one value.
func TestTypedClarification(t *testing.T) {
	h := parallelHouse(t).family()
	command := park("q")
	command.Request = api.UserQuestionRequest{ID: "q", Kind: "count", Payload: api.JSON(`{"question":"How many?"}`), ResponseSchema: api.JSON(`{"type":"integer"}`)}
	runID := h.asked(command)
	value := func(text string) *runs.AnswerQuestion {
		return &runs.AnswerQuestion{RunID: runID, Resolution: runs.QuestionAnswer{RequestID: "q", Value: api.JSON(text)}}
	}
	require.Equal(t, []string{"/resolution/value"}, pointersOf(h.refused(api.CodeInvalidRequest, value(`"seven"`))))
	h.must(value(`7`))
	h.requireUnchanged(value(` 7.0 `))
	h.refused(api.CodeQuestionResolutionConflict, value(`8`))
	h.carryOut()
	claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
	const members = `"request_id":"q","declined":false,"summary":"7","answers":[],"value":7,"justification":null`
	requireJSON(t, `{`+members+`}`, claim.Resume.Clarification)
	require.JSONEq(t, `{"type":"parent_clarification_answer",`+members+`}`, string(h.message("s", messageOfQ).Payload))
}

// The child also waits for approvals: it continues when the last request is settled, in
// either order.
func TestAnswerBesideOpenApprovals(t *testing.T) {
	t.Parallel()
	for _, answerFirst := range []bool{true, false} {
		h := newHouse(t).family()
		h.must(hold("r", 1, approval("a")))
		runID := h.asked(park("q"))
		h.must(answer(runID, "q", "north"))
		if answerFirst {
			h.carryOut()
			require.Equal(t, api.StatusWaitingForApproval, h.run("r").Status)
			h.must(allow("r", "a"))
		} else {
			h.must(allow("r", "a"))
			require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)
			h.carryOut()
		}
		require.Equal(t, api.StatusRunning, h.run("r").Status)
		resume := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim.Resume
		require.Len(t, resume.Approvals, 1)
		require.NotNil(t, resume.Clarification)
	}

	// The same for an approval that expires while the answer is being delivered.
	h := newHouse(t).family()
	h.must(hold("r", 1, expiringApproval("a", startMs+5)))
	runID := h.asked(park("q"))
	h.must(answer(runID, "q", "north"))
	h.nowMs += 5
	h.carryOut()
	require.Equal(t, api.StatusRunning, h.run("r").Status)
	require.Equal(t, api.OutcomeExpired, h.request("r", "a").Outcome)
}

// The message's id makes repeated deliveries idempotent.
func TestAnswerIsDeliveredOnce(t *testing.T) {
	h := parallelHouse(t)
	runID := h.parked()
	h.must(answer(runID, "q", "north"))
	deliver := func() runs.Command { return commandOf(h.effect("deliver_answer:" + runID)) }
	reply := h.must(deliver())
	require.False(t, reply.Existing)
	require.Equal(t, []model.Message{*h.message("s", messageOfQ)}, reply.Messages)
	h.requireUnchanged(deliver())
	h.claim("r")
	require.Equal(t, api.MessageAcknowledged, h.requireUnchanged(deliver()).Messages[0].State)
	h.must(&runs.Complete{RunID: "r", Fence: 2})
	h.requireUnchanged(deliver())
	h.must(&runs.EndSession{SessionID: "s"})
	h.requireUnchanged(deliver())
	h.carryOut()
	require.Len(t, h.states["s"].Messages, 1)

	lost := *deliver().(*runs.DeliverAnswer)
	lost.SessionID = "nobody"
	h.refused(api.CodeSessionNotFound, &lost)
	stray := *deliver().(*runs.DeliverAnswer)
	stray.RunID, stray.RequestID = "nobody", "other"
	h.refused(api.CodeRunNotFound, &stray)
	require.Len(t, h.states["s"].Messages, 1)
}

// A child is finished when its session has ended, or its run has finished and its session has
// no active run. The parent can still answer the clarification.
func TestAnswerForAChildThatIsOver(t *testing.T) {
	t.Parallel()
	const closed = "parent clarification answer could not be delivered because the child agent is closed"
	for _, test := range []struct {
		name  string
		end   []runs.Command
		state api.MessageState
		// settled is the outcome of the child's request before the answer arrived.
		settled api.Outcome
		via     string
	}{
		{"session ended", []runs.Command{&runs.EndSession{SessionID: "s"}}, api.MessageDeadLetter, api.OutcomeCancelled, api.ViaEnd},
		{"run completed", []runs.Command{&runs.Complete{RunID: "r", Fence: 1}}, api.MessageDeadLetter, api.OutcomeExpired, api.ViaRunEnded},
		{"run failed", []runs.Command{&runs.Fail{RunID: "r", Fence: 1, Error: "e"}}, api.MessageDeadLetter, api.OutcomeExpired, api.ViaRunEnded},
		{"run cancelled", []runs.Command{&runs.CancelRun{RunID: "r"}}, api.MessageDeadLetter, api.OutcomeCancelled, api.ViaCancel},
		{"run interrupted", []runs.Command{&runs.InterruptSession{SessionID: "s"}}, api.MessageDeadLetter, api.OutcomeCancelled, api.ViaInterrupt},
		{
			"another is queued",
			[]runs.Command{&runs.CancelRun{RunID: "r"}, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "next", Input: api.JSON(`1`)}},
			api.MessageDeadLetter, api.OutcomeCancelled, api.ViaCancel,
		},
		{
			"another is active",
			[]runs.Command{
				&runs.CancelRun{RunID: "r"},
				&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "next", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}},
			},
			api.MessagePending, api.OutcomeCancelled, api.ViaCancel,
		},
	} {
		inHouse(t, test.name, func(t *testing.T, h *house) {
			runID := h.unparked()
			for _, command := range test.end {
				h.must(command)
			}
			require.Equal(t, api.StatusWaitingForUserQuestion, h.run(runID).Status)
			recorded := h.request("r", "q").Recorded()
			require.Equal(t, test.settled, recorded.Outcome)
			require.Equal(t, test.via, recorded.Via)
			require.False(t, *recorded.Declined)
			before := *h.run("r")

			h.must(answer(runID, "q", "north"))
			h.carryOut()
			require.Equal(t, api.StatusCompleted, h.run(runID).Status, "the parent's run completes all the same")
			require.Equal(t, before, *h.run("r"))
			require.Equal(t, recorded, h.request("r", "q").Recorded())
			message := h.message("s", messageOfQ)
			require.Equal(t, test.state, message.State)
			if test.state == api.MessageDeadLetter {
				require.Equal(t, closed, message.LastError)
				require.Equal(t, []string{messageOfQ}, h.read(true))
				// Replay to a closed child dead-letters again.
				reply := h.must(&runs.ReplayMessage{SessionID: "s", MessageID: messageOfQ})
				require.Equal(t, api.MessageDeadLetter, reply.Messages[0].State)
				require.Equal(t, closed, reply.Messages[0].LastError)
				require.Empty(t, h.read(false))
			}
		})
	}
}

// A parked run that was stopped is not resumed by the answer.
func TestAnswerForAParkedRunThatWasStopped(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]runs.Command{
		"cancelled": &runs.CancelRun{RunID: "r"}, "interrupted": &runs.InterruptSession{SessionID: "s"}, "ended": &runs.EndSession{SessionID: "s"},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			runID := h.parked()
			h.must(stop)
			status := h.run("r").Status
			require.True(t, model.Terminal(status))
			require.Equal(t, api.OutcomeCancelled, h.request("r", "q").Outcome)
			require.Equal(t, 1, strings.Count(strings.Join(typesOf(h, "r"), " "), "user_question_resolved"))
			h.must(answer(runID, "q", "north"))
			h.carryOut()
			require.Equal(t, status, h.run("r").Status)
			require.Equal(t, api.MessageDeadLetter, h.message("s", messageOfQ).State)
		})
	}
}

func typesOf(h *house, runID string) []string {
	var texts []string
	for _, eventType := range h.eventTypes(runID) {
		texts = append(texts, string(eventType))
	}
	return texts
}

// A run that ends with an open clarification settles it in the same decision, even if the run is
// failed after too many attempts.
func TestEndWithAClarificationOpen(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*house){
		"complete": func(h *house) { h.must(&runs.Complete{RunID: "r", Fence: 1}) },
		"fail":     func(h *house) { h.must(&runs.Fail{RunID: "r", Fence: 1, Error: "e"}) },
		"given up": func(h *house) {
			h.nowMs += api.DefaultLeaseMs
			h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 1})
			h.nowMs += api.DefaultLeaseMs
			h.refused(api.CodeRunNotClaimable, &runs.ClaimRun{RunID: "r", WorkerID: "w", MaxAttempts: 1})
		},
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.unparked()
			end(h)
			require.True(t, model.Terminal(h.run("r").Status))
			recorded := h.request("r", "q").Recorded()
			require.Equal(t, api.OutcomeExpired, recorded.Outcome)
			require.Equal(t, api.ViaRunEnded, recorded.Via)
			require.Equal(t, "the run ended", recorded.Reason)
			types := h.eventTypes("r")
			require.Equal(t, api.EventUserQuestionResolved, types[len(types)-2])
		})
	}
}

// A worker may withdraw its question. The parent may still answer it, and the answer goes to
// the mailbox.
func TestWithdrawClarification(t *testing.T) {
	h := parallelHouse(t)
	runID := h.unparked()
	withdraw := func() *runs.Withdraw {
		return &runs.Withdraw{RunID: "r", RequestID: "q", Fence: 1, Reason: "found out"}
	}
	reply := h.must(withdraw())
	require.Equal(t, api.StatusRunning, reply.Run.Run.Status)
	recorded := h.request("r", "q").Recorded()
	require.Equal(t, api.OutcomeCancelled, recorded.Outcome)
	require.Equal(t, api.ViaWorker, recorded.Via)
	require.Nil(t, h.record("r").View().Resume, "what it took back is not handed to it")
	require.True(t, h.must(withdraw()).Existing)
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run(runID).Status)
	h.must(answer(runID, "q", "north"))
	h.carryOut()
	require.Equal(t, recorded, h.request("r", "q").Recorded())
	require.Equal(t, []string{messageOfQ}, h.read(false))

	h = newHouse(t)
	runID = h.unparked()
	h.must(answer(runID, "q", "north"))
	h.carryOut()
	requireRecorded(t, h.refused(api.CodeQuestionStateConflict, withdraw()), "q", api.OutcomeAnswered, api.ViaAPI)
}

// Three generations: the child's own run does not wait for a question that the grandchild asks
// the child's session, and vice versa.
func TestThreeGenerations(t *testing.T) {
	h := parallelHouse(t).family()
	h.must(&runs.CreateSession{SessionID: "g", AgentID: "mole", ParentSessionID: "s"})
	h.must(&runs.CreateRun{SessionID: "g", SessionGiven: true, RunID: "deep", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	below := park("q")
	below.RunID = "deep"
	inChild := h.asked(below)
	inParentSession := h.asked(park("q"))
	require.Equal(t, "s", h.run(inChild).SessionID)
	require.Equal(t, "p", h.run(inParentSession).SessionID)
	require.Equal(t, "mole", h.run(inChild).RequesterOf().RequesterAgentID)
	require.Equal(t, "r", h.states["s"].Session.ActiveRunID)

	// In the middle session the id names only the grandchild's question. The question of its own
	// run is open in the parent's session.
	reply := h.must(answerInSession(answer("", "q", "north")))
	require.Equal(t, inChild, reply.Run.Run.RunID)
	h.carryOut()
	require.Equal(t, api.StatusRunning, h.run("deep").Status)
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run("r").Status)
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run(inParentSession).Status)

	// Interrupting the middle session declines the questions asked there and stops its run. Its own
	// question stays open in the parent's session.
	again := park("q-2")
	again.RunID, again.Fence = "deep", h.claim("deep")
	second := h.asked(again)
	h.must(&runs.InterruptSession{SessionID: "s"})
	h.carryOut()
	require.Equal(t, api.StatusCompleted, h.run(second).Status)
	require.Equal(t, api.StatusRunning, h.run("deep").Status)
	require.Equal(t, api.StatusInterrupted, h.run("r").Status)
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run(inParentSession).Status)
	h.must(answer(inParentSession, "q", "south"))
	h.carryOut()
	require.Equal(t, api.MessageDeadLetter, h.message("s", messageOfQ).State)
}
