package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

const (
	// leaseMs is enough to raise a request or to end a run; a process that is killed
	// meanwhile holds the others up for no longer.
	leaseMs = 5_000
	// held is how long one read waits for a decision.
	held = 50 * time.Second
	// turn is how often a call that waits for others of its session looks again.
	turn = 5 * time.Second
	// pause is the least time between two reads that brought nothing new.
	pause = 200 * time.Millisecond
)

// Await waits at most for wait, or until ctx ends when wait is negative, and returns what
// was decided. When nobody has decided by then, the Outcome is empty and the call stays
// open. Errors: [ErrForeign], the context's, and those of [client.Client.AwaitRun], among
// them [client.ErrUnavailable] after Patience.
func (a *Asker) Await(ctx context.Context, runID string, wait time.Duration) (*Answer, error) {
	until := time.Now().Add(wait)
	patience := time.Now().Add(a.patience())
	away := false
	for {
		left := held
		if wait >= 0 {
			left = max(0, min(held, time.Until(until)))
		}
		asked := time.Now()
		answer, err := a.look(ctx, runID, left, away)
		away = false
		switch {
		case err == nil && answer.settled():
			return answer, nil
		case err == nil:
			patience = time.Now().Add(a.patience())
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !transient(err) || time.Now().After(patience):
			return nil, err
		default:
			away = true
		}
		if wait >= 0 && !time.Now().Before(until) {
			return answer, err
		}
		if err := sleep(ctx, pause-time.Since(asked)); err != nil {
			return nil, err
		}
	}
}

// settled reports whether there is nothing more to wait for.
func (a *Answer) settled() bool { return a.Outcome != "" || a.Ended != "" }

func (a *Asker) patience() time.Duration { return cmp.Or(a.Patience, 10*time.Minute) }

// look reads the run, held at most for hold, and takes it one step on. After an outage
// the read is not held, so that the end of it shows at once.
func (a *Asker) look(ctx context.Context, runID string, hold time.Duration, away bool) (*Answer, error) {
	if away {
		hold = 0
	}
	run, err := a.Client.AwaitRun(ctx, runID, client.UntilDecided, hold)
	if err != nil {
		return nil, err
	}
	if identityOf(run).MadeBy == "" {
		return nil, fmt.Errorf("%w: run %s was not made by an agent's call", ErrForeign, runID)
	}
	answer := &Answer{Run: run, RunID: runID}
	switch {
	case run.Status == api.StatusWaitingForApproval || run.Status == api.StatusWaitingForUserQuestion:
		answer.RequestID = firstOf(run)
		return answer, nil
	case run.Status == api.StatusQueued:
		return answer, a.help(ctx, run.SessionID, hold)
	}
	if err := a.recorded(ctx, run, answer); err != nil {
		return nil, err
	}
	switch {
	case over(run.Status):
		if answer.Outcome == "" {
			answer.Ended = run.Status
		}
		return answer, nil
	default:
		// With a decision this ends the run; before it was asked, it asks.
		err = a.carryOn(ctx, runID)
		if answer.Outcome != "" {
			err = nil // the decision stands, and whoever comes next ends the run
		}
		return answer, err
	}
}

// firstOf returns the open request of a run that waits.
func firstOf(run *api.RunView) string {
	for _, id := range append(run.PendingApprovalIDs, run.PendingQuestionIDs...) {
		return id
	}
	return ""
}

func over(status api.Status) bool {
	return status == api.StatusCompleted || status == api.StatusFailed || status == api.StatusInterrupted || status == api.StatusCancelled
}

// recorded fills in what the log of the session says was asked and decided. A worker
// cannot write these events.
func (a *Asker) recorded(ctx context.Context, run *api.RunView, answer *Answer) error {
	for entry, err := range a.Client.AllRunEvents(ctx, run.RunID, client.EventListParams{}) {
		if err != nil {
			return err
		}
		var event struct {
			Type api.EventType `json:"type"`
		}
		if err := json.Unmarshal(entry.Event, &event); err != nil {
			return fmt.Errorf("event %s of run %s: %w", entry.ID, run.RunID, err)
		}
		if err := answer.take(event.Type, entry.Event); err != nil {
			return err
		}
		if answer.Outcome != "" {
			break
		}
	}
	if answer.Outcome == "" {
		return nil
	}
	var approvals []api.ApprovalRequest
	var questions []api.UserQuestionRequest
	if answer.Approval != nil {
		approvals = append(approvals, *answer.Approval)
	}
	if answer.Question != nil {
		questions = append(questions, *answer.Question)
	}
	digest, err := digestOf(approvals, questions)
	if err != nil || digest != identityOf(run).Digest {
		return fmt.Errorf("%w: run %s", ErrForeign, run.RunID)
	}
	return nil
}

// take reads one event of the service.
func (a *Answer) take(kind api.EventType, text api.JSON) error {
	var err error
	switch {
	case kind == api.EventWaitingForApproval:
		var event struct {
			Requests []api.ApprovalRequest `json:"requests"`
		}
		if err = json.Unmarshal(text, &event); err == nil && len(event.Requests) > 0 {
			a.Approval, a.RequestID = &event.Requests[0], event.Requests[0].ID
		}
	case kind == api.EventWaitingForUserQuestion:
		var event struct {
			Requests []api.UserQuestionRequest `json:"requests"`
		}
		if err = json.Unmarshal(text, &event); err == nil && len(event.Requests) > 0 {
			a.Question, a.RequestID = &event.Requests[0], event.Requests[0].ID
		}
	case kind == api.EventApprovalResolved:
		var event struct {
			Resolutions []api.Resolution `json:"resolutions"`
		}
		if err = json.Unmarshal(text, &event); err == nil {
			a.settle(event.Resolutions)
		}
	case kind == api.EventUserQuestionResolved:
		var event struct {
			Resolution api.Resolution `json:"resolution"`
		}
		if err = json.Unmarshal(text, &event); err == nil {
			a.settle([]api.Resolution{event.Resolution})
		}
	}
	if err != nil {
		return fmt.Errorf("event %s: %w", kind, err)
	}
	return nil
}

// settle takes the resolution of the request.
func (a *Answer) settle(resolutions []api.Resolution) {
	for _, resolution := range resolutions {
		if resolution.RequestID == a.RequestID {
			a.Outcome, a.Resolution = resolution.Outcome, resolution
		}
	}
}

// help waits for the run whose turn it is in the session, and carries it on if it is a
// call: the process of one that waits in vain may have died, and nobody else would ever
// end it. That may be the caller's own call.
func (a *Asker) help(ctx context.Context, sessionID string, hold time.Duration) error {
	session, err := a.Client.GetSession(ctx, sessionID)
	if err != nil {
		return err
	}
	var next string
	switch {
	case session.ActiveRun != nil:
		next = session.ActiveRun.RunID
	case len(session.QueuedRunIDs) > 0:
		next = session.QueuedRunIDs[0]
	default:
		return nil
	}
	run, err := a.Client.AwaitRun(ctx, next, client.UntilDecided, min(hold, turn))
	switch {
	case err != nil:
		return err
	case run.Lease == nil && identityOf(run).MadeBy != "" && (run.Status == api.StatusRunning || run.Status == api.StatusQueued):
		return a.carryOn(ctx, next)
	case run.Lease != nil:
		_, err = a.Client.AwaitRun(ctx, next, client.UntilTerminal, min(hold, turn))
	}
	return err
}

// carryOn claims a run that is nobody's and raises its request, or ends it when that is
// settled. Losing the race for it is no error.
func (a *Asker) carryOn(ctx context.Context, runID string) error {
	claim, err := a.Client.ClaimRun(ctx, runID, api.ClaimOptions{WorkerID: workerID(), LeaseMs: leaseMs})
	if err != nil {
		return unlessLost(err)
	}
	if claim.Resume != nil {
		_, err = a.Client.CompleteRun(ctx, runID, claim.Lease.Fence, nil)
		return unlessLost(err)
	}
	var asked input
	if err := json.Unmarshal(claim.Input, &asked); err != nil {
		return fmt.Errorf("input of run %s: %w", runID, err)
	}
	_, err = a.Client.Suspend(ctx, runID, claim.Lease.Fence, asked.Suspend)
	return unlessLost(err)
}

// unlessLost returns nil for the errors of a call that came second.
func unlessLost(err error) error {
	if errors.Is(err, client.ErrRunNotClaimable) || errors.Is(err, client.ErrLeaseLost) || errors.Is(err, client.ErrRunState) {
		return nil
	}
	return err
}

func transient(err error) bool {
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, client.ErrRateLimited)
}

// workerID names this process in a lease.
func workerID() string { return fmt.Sprintf("agent-call:%d", os.Getpid()) }

// sleep returns the cause of ctx when that ends first.
func sleep(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
