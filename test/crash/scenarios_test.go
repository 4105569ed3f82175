//go:build faults

package crash

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// scenario is a kind of call. Its steps return an error if the result is wrong, at whatever point
// the program was killed.
type scenario struct {
	name string
	// prepare creates the rows that the call needs; nil for none. No point is armed yet.
	prepare step
	// call makes the call. nil means that it was acknowledged.
	call step
	// again repeats the call as a client would that had no reply; call when nil.
	again step
	// onlyUnacknowledged: a caller with a reply does not repeat the call.
	onlyUnacknowledged bool
	// inForce counts how often the call's effect is on record.
	inForce counter
	// finish completes everything as the users would, and checks what they get.
	finish step
	// events are the types of the run's events at the end, all of them.
	events []string
	// alone: without a second replica, which would do the same work.
	alone bool
}

// Outcomes and logs of the scenarios.
const (
	allowed = api.OutcomeAllowed
	denied  = api.OutcomeDenied
)

var (
	plainLog    = []string{"accepted", "started", "completed"}
	approvedLog = []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "started", "completed"}
	// approvedTwiceLog is the log of a run whose requests were settled by two calls.
	approvedTwiceLog = []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "approval_resolved", "started", "completed"}
	answeredLog      = []string{"accepted", "started", "waiting_for_user_question", "user_question_resolved", "started", "completed"}
	unansweredLog    = []string{"accepted", "started", "waiting_for_user_question", "user_question_resolved", "cancelled"}
	parkedLog        = []string{
		"accepted", "started", "parent_clarification_requested", "waiting_for_user_question", "user_question_resolved", "started", "completed",
	}
	unparkedLog = []string{"accepted", "started", "parent_clarification_requested", "user_question_resolved", "completed"}
)

// stopped is the log of a run that waited for approvals and was ended.
func stopped(by string) []string {
	return []string{"accepted", "started", "waiting_for_approval", "approval_resolved", by}
}

func approvals(count int) *api.Suspension {
	suspension := &api.Suspension{SuspensionID: "suspension"}
	for i := range count {
		suspension.Approvals = append(suspension.Approvals, rig.Approval(fmt.Sprintf("ask-%d", i+1)))
	}
	return suspension
}

func question() *api.Suspension {
	suspension := rig.Questions("way")
	suspension.SuspensionID = "suspension"
	return suspension
}

func allow(id string) api.ApprovalResolution { return rig.Allow(id) }
func deny(id string) api.ApprovalResolution  { return rig.Deny(id) }

// scenarios are the rows of the matrix: calls of creators, workers and deciders, the clock, and
// children that ask their parent's session.
var scenarios = []scenario{
	{
		name: "create a run",
		// Only the key distinguishes a repeated call from a call for a second run.
		call: func(t *trial) error {
			params := t.params(nil, nil)
			params.RunID, params.IdempotencyKey = "", "create"
			created, err := t.client.CreateRun(t.ctx, params)
			if err == nil {
				t.runID = created.RunID
			}
			return err
		},
		inForce: runsMade, finish: steps(claimedByID(0, handed{}), complete),
		events: []string{"accepted", "queued", "started", "completed"},
	},
	{
		name: "create and claim", call: held, inForce: runsMade,
		finish: steps(func(t *trial) error {
			if t.fence != "1" {
				return fmt.Errorf("the fence is %s", t.fence)
			}
			return nil
		}, complete),
		events: plainLog,
	},
	{
		name: "create, claim and suspend",
		call: does(func(t *trial) (*client.CreatedRun, error) {
			return t.client.CreateRun(t.ctx, t.params(approvals(2), &api.ClaimOptions{WorkerID: workerID}))
		}),
		inForce: runsMade, finish: steps(resolve(allow("ask-1"), deny("ask-2")), resumed("2", allowed, denied)),
		events: approvedLog,
	},
	{
		name: "suspend", prepare: held, call: suspend(approvals(2)), inForce: logged("waiting_for_approval"),
		finish: steps(resolve(allow("ask-1"), deny("ask-2")), resumed("2", allowed, denied)),
		events: approvedLog,
	},
	{
		name: "suspend and stay attached", prepare: held, call: suspend(attached(approvals(2))), inForce: logged("waiting_for_approval"),
		finish: steps(resolve(deny("ask-2"), allow("ask-1")), settled(denied, allowed), complete),
		events: approvedLog,
	},
	{
		name: "resolve for an attached worker", prepare: steps(held, suspend(attached(approvals(1)))),
		call: resolve(allow("ask-1")), inForce: recorded(map[string]api.Outcome{"ask-1": allowed}),
		finish: steps(settled(allowed), complete), events: approvedLog,
	},
	{
		name: "withdraw a request", prepare: steps(held, suspend(attached(approvals(2)))),
		call: does(func(t *trial) (*api.RunView, error) {
			return t.client.Withdraw(t.ctx, t.runID, "ask-1", t.fence, "not needed")
		}),
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeCancelled}),
		finish:  steps(resolve(allow("ask-2")), settled(api.OutcomeCancelled, allowed), complete),
		events:  approvedTwiceLog,
	},
	{
		name: "claim what there is", prepare: decidedRun, call: claimed(shortLeaseMs, handed{outcomes: []api.Outcome{allowed}}),
		onlyUnacknowledged: true, inForce: leases, finish: finishLeased, events: approvedLog,
	},
	{
		name: "claim by id", prepare: decidedRun, call: claimedByID(shortLeaseMs, handed{outcomes: []api.Outcome{allowed}}),
		// A caller without a reply waits until the run can be claimed again, if it was
		// leased.
		again:              claimed(longLeaseMs, handed{outcomes: []api.Outcome{allowed}}),
		onlyUnacknowledged: true, inForce: leases, finish: finishLeased, events: approvedLog,
	},
	{
		name: "heartbeat with a checkpoint", prepare: held,
		call: does(func(t *trial) (*api.HeartbeatReply, error) {
			return t.client.Heartbeat(t.ctx, t.runID, client.HeartbeatParams{Fence: t.fence, LeaseMs: longLeaseMs, Checkpoint: api.JSON(`{"step":2}`)})
		}),
		// The lease was one of half a minute.
		inForce: func(t *trial) (int, error) {
			run, err := t.client.GetRun(t.ctx, t.runID)
			switch {
			case err != nil || run.Lease == nil:
				return 0, errors.Join(err, errors.New("the lease is gone"))
			case run.Lease.ExpiresAtMs-run.SubmittedAtMs < longLeaseMs:
				return 0, nil
			}
			return 1, nil
		},
		finish: steps(release(nil), claimed(longLeaseMs, handed{fence: "2", checkpoint: `{"step":2}`}), complete),
		events: plainLog,
	},
	{
		// As many as one call takes.
		name: "append many events", prepare: held, call: appendMany, inForce: appendedMany, finish: complete,
		events: slices.Concat([]string{"accepted", "started"}, slices.Repeat([]string{"step"}, api.MaxEventsPerCall), []string{"completed"}),
	},
	{name: "complete", prepare: held, call: complete, inForce: logged("completed"), finish: ended(api.StatusCompleted), events: plainLog},
	{
		name: "complete with a request open", prepare: steps(held, suspend(attached(approvals(1)))), call: complete,
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeExpired}), finish: ended(api.StatusCompleted),
		events: stopped("completed"),
	},
	{
		name: "fail", prepare: held,
		call:    does(func(t *trial) (*api.RunView, error) { return t.client.FailRun(t.ctx, t.runID, t.fence, "no luck") }),
		inForce: logged("failed"), finish: ended(api.StatusFailed), events: []string{"accepted", "started", "failed"},
	},
	{
		name: "release", prepare: held, call: release(api.JSON(`{"step":3}`)),
		inForce: func(t *trial) (int, error) {
			leases, err := leases(t)
			return 1 - leases, err
		},
		finish: steps(claimed(longLeaseMs, handed{fence: "2", attempt: 1, checkpoint: `{"step":3}`}), complete), events: plainLog,
	},

	{
		name: "resolve one", prepare: waitingFor(approvals(1)), call: resolve(allow("ask-1")),
		inForce: recorded(map[string]api.Outcome{"ask-1": allowed}), finish: resumed("1", allowed), events: approvedLog,
	},
	{
		name: "resolve a batch of three", prepare: waitingFor(approvals(3)), call: resolve(allow("ask-1"), deny("ask-2"), allow("ask-3")),
		inForce: recorded(map[string]api.Outcome{"ask-1": allowed, "ask-2": denied, "ask-3": allowed}),
		finish:  resumed("1", allowed, denied, allowed), events: approvedLog,
	},
	{
		name: "resolve two of three", prepare: waitingFor(approvals(3)), call: resolve(allow("ask-1"), deny("ask-3")),
		inForce: recorded(map[string]api.Outcome{"ask-1": allowed, "ask-3": denied}),
		finish: steps(func(t *trial) error {
			run, err := t.client.GetRun(t.ctx, t.runID)
			if err == nil && (run.Status != api.StatusWaitingForApproval || len(run.PendingApprovalIDs) != 1 || run.PendingApprovalIDs[0] != "ask-2") {
				err = fmt.Errorf("after a part of the batch the run is %s with %v open", run.Status, run.PendingApprovalIDs)
			}
			return err
		}, resolve(allow("ask-2")), resumed("1", allowed, denied, allowed)), // in the order of the decisions
		events: approvedTwiceLog,
	},
	{
		name: "answer a question", prepare: waitingFor(question()), call: answer("left"),
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeAnswered}), finish: resumed("1", api.OutcomeAnswered), events: answeredLog,
	},
	{
		name: "decline a question", prepare: waitingFor(question()), call: answer(""),
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeDeclined}), finish: resumed("1", api.OutcomeDeclined), events: answeredLog,
	},
	{
		name: "cancel a question", prepare: waitingFor(question()), call: cancelQuestion(func(t *trial) string { return t.runID }),
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeCancelled}), finish: ended(api.StatusCancelled), events: unansweredLog,
	},
	{
		name: "expire, by the sweep",
		prepare: func(t *trial) error {
			suspension, soon := approvals(1), t.soon(200)
			suspension.Approvals[0].ExpiresAfterMs = &soon
			return waitingFor(suspension)(t)
		},
		// No call triggers it; callers that wait for the run see it.
		call: awaitDecided, inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeExpired}),
		finish: resumed("1", api.OutcomeExpired), events: approvedLog, alone: true,
	},
	{
		name: "expire, by a late answer",
		prepare: func(t *trial) error {
			suspension := question()
			t.dueAtMs = time.Now().UnixMilli() + t.soon(100)
			suspension.Questions[0].ExpiresAtMs = &t.dueAtMs
			return waitingFor(suspension)(t)
		},
		// The refusal is the acknowledgement: it contains the recorded decision.
		call: steps(untilDue, func(t *trial) error {
			err := answer("left")(t)
			switch {
			case err == nil:
				return errors.New("an answer after the deadline was accepted")
			case errors.Is(err, client.ErrExpired):
				return nil
			}
			return err
		}),
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeExpired}), finish: ended(api.StatusCancelled),
		events: unansweredLog, alone: true,
	},
	{
		name: "cancel a waiting run", prepare: waitingFor(approvals(2)),
		call:    does(func(t *trial) (*api.RunView, error) { return t.client.CancelRun(t.ctx, t.runID, "") }),
		inForce: logged("cancelled"), finish: ended(api.StatusCancelled), events: stopped("cancelled"),
	},
	{
		name: "interrupt a session", prepare: waitingFor(approvals(2)), call: interrupt(func(t *trial) string { return t.sessionID }),
		inForce: logged("interrupted"), finish: ended(api.StatusInterrupted), events: stopped("interrupted"),
	},
	{
		name: "end a session",
		prepare: steps(waitingFor(approvals(1)), does(func(t *trial) (*client.CreatedRun, error) {
			second := t.params(nil, nil)
			second.RunID = queuedID(t)
			return t.client.CreateRun(t.ctx, second)
		})),
		call:    does(func(t *trial) (*api.SessionView, error) { return t.client.EndSession(t.ctx, t.sessionID, "") }),
		inForce: logged("cancelled"),
		finish: steps(func(t *trial) error {
			session, err := t.client.GetSession(t.ctx, t.sessionID)
			if err == nil && session.Status != api.SessionEnded {
				err = fmt.Errorf("the session is %s", session.Status)
			}
			return err
		}, hasLog(queuedID, []string{"accepted", "queued", "cancelled"}), ended(api.StatusCancelled)),
		events: stopped("cancelled"),
	},

	{
		name: "ask the parent", prepare: child, call: askParent(false), inForce: runsIn(parentID),
		finish: steps(answerChild, readAnswer), events: unparkedLog,
	},
	{
		name: "ask the parent and park", prepare: child, call: askParent(true), inForce: runsIn(parentID),
		finish: steps(answerChild, resumedByAnswer(false)), events: parkedLog,
	},
	{
		name: "answer a clarification", prepare: asking(true), call: answerChild, inForce: concluded,
		finish: resumedByAnswer(false), events: parkedLog,
	},
	{
		name: "cancel a clarification", prepare: asking(true), call: cancelQuestion(clarificationID), inForce: concluded,
		finish: resumedByAnswer(true), events: parkedLog,
	},
	{
		name: "interrupt the parent", prepare: asking(true), call: interrupt(parentID), inForce: concluded,
		finish: resumedByAnswer(true), events: parkedLog,
	},
	{
		name: "effect: the answer resumes a parked child", prepare: asking(true),
		call: steps(answerChild, awaitDecided, carriedOut), again: steps(answerChild, carriedOut), inForce: delivered,
		finish: resumedByAnswer(false), events: parkedLog,
	},
	{
		name: "effect: the answer reaches a mailbox", prepare: asking(false),
		call: steps(answerChild, carriedOut), inForce: delivered,
		finish: readAnswer, events: unparkedLog,
	},
	{
		name: "effect: a clarification expires",
		prepare: func(t *trial) error {
			t.dueAtMs = time.Now().UnixMilli() + t.soon(400)
			return asking(true)(t)
		},
		// No caller triggers it; the waiting child observes it.
		call: awaitDecided,
		again: steps(untilDue, func(t *trial) error {
			run, err := t.client.AwaitRun(t.ctx, t.clarificationID, client.UntilTerminal, rig.Patience/2)
			if err != nil || run.Status != api.StatusCompleted {
				return errors.Join(err, errors.New("the clarification did not expire"))
			}
			return nil
		}, carriedOut),
		inForce: delivered, finish: resumedByAnswer(true), events: parkedLog, alone: true,
	},
	{
		name: "acknowledge a message", prepare: steps(asking(false), answerChild, carriedOut, messages(1)), call: acknowledge,
		// Reading does not tell a message that was read from one that was acknowledged; only the
		// latter is unknown to a replay.
		inForce: func(t *trial) (int, error) {
			_, err := t.client.ReplayMessage(t.ctx, t.sessionID, answerMessage)
			if errors.Is(err, client.ErrNotFound) {
				return 1, nil
			}
			return 0, err
		},
		finish: steps(messages(0), complete), events: unparkedLog,
	},
	{
		name: "replay a dead letter", prepare: deadLetter,
		call: does(func(t *trial) (*api.MessageView, error) {
			return t.client.ReplayMessage(t.ctx, t.sessionID, answerMessage)
		}),
		inForce: func(t *trial) (int, error) {
			dead, err := t.client.DeadLetters(t.ctx, t.sessionID)
			return 1 - len(dead), err
		},
		finish: steps(messages(1), complete), events: plainLog,
	},
}

func appendMany(t *trial) error {
	_, err := t.client.AppendEventsWithKey(t.ctx, t.runID, t.fence, "append",
		slices.Repeat([]api.JSON{api.JSON(`{"type":"step"}`)}, api.MaxEventsPerCall))
	return err
}

// appendedMany returns how often all of these events are in the log.
func appendedMany(t *trial) (int, error) {
	count, err := logged("step")(t)
	if err == nil && count%api.MaxEventsPerCall != 0 {
		err = fmt.Errorf("%d of %d events are there", count, api.MaxEventsPerCall)
	}
	return count / api.MaxEventsPerCall, err
}

// decidedRun creates a run that waited, was allowed, and is claimable.
var decidedRun = steps(waitingFor(approvals(1)), resolve(allow("ask-1")))

func queuedID(t *trial) string { return t.runID + "-queued" }

func cancelQuestion(runID func(*trial) string) step {
	return does(func(t *trial) (*client.RunResult, error) {
		return t.client.CancelQuestion(t.ctx, runID(t), "way", client.CancelQuestionParams{IdempotencyKey: "cancel"})
	})
}

func interrupt(sessionID func(*trial) string) step {
	return does(func(t *trial) (*api.InterruptReply, error) {
		return t.client.InterruptSession(t.ctx, sessionID(t), "")
	})
}

// finishLeased completes a run whose claim was in question. A lease that was taken and never
// acknowledged has lapsed, and its fence is refused.
func finishLeased(t *trial) error {
	run, err := t.client.GetRun(t.ctx, t.runID)
	if err != nil {
		return err
	}
	switch {
	case t.fence == "1" && run.Attempt == 1:
	case t.fence == "2" && run.Attempt == 2:
		if _, err := t.client.CompleteRun(t.ctx, t.runID, "1", nil); !errors.Is(err, client.ErrLeaseLost) {
			return fmt.Errorf("completed with the fence before: %w", err)
		}
	default:
		return fmt.Errorf("handed over with fence %s, and the run is at attempt %d", t.fence, run.Attempt)
	}
	return complete(t)
}
