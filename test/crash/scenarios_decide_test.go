package crash

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/test/rig"
)

// The logs of runs that waited and went on.
var (
	approvedLog = []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "started", "completed"}
	// approvedTwiceLog is that of a run whose requests were settled by two calls.
	approvedTwiceLog = []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "approval_resolved", "started", "completed"}
	answeredLog      = []string{"accepted", "started", "waiting_for_user_question", "user_question_resolved", "started", "completed"}
)

// deciding are the calls of those who decide, and of the clock.
var deciding = []scenario{
	{
		name:    "resolve one",
		prepare: func(a *attempt) error { return a.makeWaiting(approvals(1)) },
		call:    func(a *attempt) error { return a.resolve(allow("ask-1")) },
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeAllowed}),
		finish:  func(a *attempt) error { return a.resume("1", api.OutcomeAllowed) },
		events:  approvedLog,
	},
	{
		name:    "resolve a batch of three",
		prepare: func(a *attempt) error { return a.makeWaiting(approvals(3)) },
		call:    func(a *attempt) error { return a.resolve(allow("ask-1"), deny("ask-2"), allow("ask-3")) },
		inForce: recorded(map[string]api.Outcome{
			"ask-1": api.OutcomeAllowed, "ask-2": api.OutcomeDenied, "ask-3": api.OutcomeAllowed,
		}),
		finish: func(a *attempt) error {
			return a.resume("1", api.OutcomeAllowed, api.OutcomeDenied, api.OutcomeAllowed)
		},
		events: approvedLog,
	},
	{
		name:    "resolve two of three",
		prepare: func(a *attempt) error { return a.makeWaiting(approvals(3)) },
		call:    func(a *attempt) error { return a.resolve(allow("ask-1"), deny("ask-3")) },
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeAllowed, "ask-3": api.OutcomeDenied}),
		finish: func(a *attempt) error {
			run, err := a.client.GetRun(a.ctx, a.runID)
			if err != nil {
				return err
			}
			if run.Status != api.StatusWaitingForApproval || len(run.PendingApprovalIDs) != 1 || run.PendingApprovalIDs[0] != "ask-2" {
				return fmt.Errorf("after a part of the batch the run is %s with %v open", run.Status, run.PendingApprovalIDs)
			}
			if err := a.resolve(allow("ask-2")); err != nil {
				return err
			}
			// In the order of the decisions.
			return a.resume("1", api.OutcomeAllowed, api.OutcomeDenied, api.OutcomeAllowed)
		},
		events: approvedTwiceLog,
	},
	{
		name:    "answer a question",
		prepare: func(a *attempt) error { return a.makeWaiting(question()) },
		call:    func(a *attempt) error { return a.answer(left) },
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeAnswered}),
		finish:  func(a *attempt) error { return a.resume("1", api.OutcomeAnswered) },
		events:  answeredLog,
	},
	{
		name:    "decline a question",
		prepare: func(a *attempt) error { return a.makeWaiting(question()) },
		call:    func(a *attempt) error { return a.answer() },
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeDeclined}),
		finish:  func(a *attempt) error { return a.resume("1", api.OutcomeDeclined) },
		events:  answeredLog,
	},
	{
		name:    "cancel a question",
		prepare: func(a *attempt) error { return a.makeWaiting(question()) },
		call: func(a *attempt) error {
			_, err := a.client.CancelQuestion(a.ctx, a.runID, "way", client.CancelQuestionParams{IdempotencyKey: "cancel"})
			return err
		},
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeCancelled}),
		finish:  func(a *attempt) error { return a.ended(api.StatusCancelled) },
		events:  []string{"accepted", "started", "waiting_for_user_question", "user_question_resolved", "cancelled"},
	},
	{
		name: "expire, by the sweep",
		prepare: func(a *attempt) error {
			suspension, soon := approvals(1), int64(200)
			suspension.Approvals[0].ExpiresAfterMs = &soon
			return a.makeWaiting(suspension)
		},
		// Nobody calls for it; whoever waits for the run learns of it.
		call: func(a *attempt) error {
			run, err := a.client.AwaitRun(a.ctx, a.runID, client.UntilDecided, rig.Patience/2)
			if err == nil && model.Waiting(run.Status) {
				err = errors.New("the request did not expire")
			}
			return err
		},
		inForce: recorded(map[string]api.Outcome{"ask-1": api.OutcomeExpired}),
		finish:  func(a *attempt) error { return a.resume("1", api.OutcomeExpired) },
		events:  approvedLog,
		alone:   true,
	},
	{
		name: "expire, by a late answer",
		prepare: func(a *attempt) error {
			suspension, soon := question(), time.Now().Add(100*time.Millisecond).UnixMilli()
			suspension.Questions[0].ExpiresAtMs = &soon
			a.dueAtMs = soon
			return a.makeWaiting(suspension)
		},
		// The refusal is the acknowledgement: it says what was recorded.
		call: func(a *attempt) error {
			if err := a.wait(a.dueAtMs); err != nil {
				return err
			}
			err := a.answer(left)
			switch {
			case err == nil:
				return errors.New("an answer after the deadline was taken")
			case errors.Is(err, client.ErrExpired):
				return nil
			}
			return err
		},
		inForce: recorded(map[string]api.Outcome{"way": api.OutcomeExpired}),
		finish:  func(a *attempt) error { return a.ended(api.StatusCancelled) },
		events:  []string{"accepted", "started", "waiting_for_user_question", "user_question_resolved", "cancelled"},
		alone:   true,
	},
	{
		name:    "cancel a waiting run",
		prepare: func(a *attempt) error { return a.makeWaiting(approvals(2)) },
		call: func(a *attempt) error {
			_, err := a.client.CancelRun(a.ctx, a.runID, "")
			return err
		},
		inForce: logged("cancelled"),
		finish:  func(a *attempt) error { return a.ended(api.StatusCancelled) },
		events:  []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "cancelled"},
	},
	{
		name:    "interrupt a session",
		prepare: func(a *attempt) error { return a.makeWaiting(approvals(2)) },
		call: func(a *attempt) error {
			_, err := a.client.InterruptSession(a.ctx, a.sessionID, "")
			return err
		},
		inForce: logged("interrupted"),
		finish:  func(a *attempt) error { return a.ended(api.StatusInterrupted) },
		events:  []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "interrupted"},
	},
	{
		name: "end a session",
		prepare: func(a *attempt) error {
			if err := a.makeWaiting(approvals(1)); err != nil {
				return err
			}
			second := a.params(nil, nil)
			second.RunID += "-queued"
			_, err := a.client.CreateRun(a.ctx, second)
			return err
		},
		call: func(a *attempt) error {
			_, err := a.client.EndSession(a.ctx, a.sessionID, "")
			return err
		},
		inForce: logged("cancelled"),
		finish: func(a *attempt) error {
			session, err := a.client.GetSession(a.ctx, a.sessionID)
			if err != nil {
				return err
			}
			types, _, err := a.log(a.runID + "-queued")
			if err != nil {
				return err
			}
			if session.Status != api.SessionEnded || len(types) != 3 || types[2] != "cancelled" {
				return fmt.Errorf("the session is %s, and the log of its queued run %v", session.Status, types)
			}
			return a.ended(api.StatusCancelled)
		},
		events: []string{"accepted", "started", "waiting_for_approval", "approval_resolved", "cancelled"},
	},
}

// ended checks that the run is over and that nobody can be handed it.
func (a *attempt) ended(status api.Status) error {
	run, err := a.client.GetRun(a.ctx, a.runID)
	if err != nil {
		return err
	}
	if run.Status != status || len(run.PendingApprovalIDs)+len(run.PendingQuestionIDs) != 0 {
		return fmt.Errorf("the run is %s with %v%v open", run.Status, run.PendingApprovalIDs, run.PendingQuestionIDs)
	}
	if _, err := a.client.ClaimRun(a.ctx, a.runID, api.ClaimOptions{WorkerID: "thief"}); !errors.Is(err, client.ErrRunNotClaimable) {
		return fmt.Errorf("claim of a run that is over: %w", err)
	}
	return nil
}
