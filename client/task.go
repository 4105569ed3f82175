package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// Task is one claimed run. Its methods are safe for concurrent use until the handler has
// returned.
//
// Every method that calls the service returns the errors of that call; after [ErrLeaseLost]
// and [ErrCancelled] the handler's context has ended, too. If the service cannot be
// reached, a call is retried as long as the lease lasts. Then it returns ErrLeaseLost, and
// the run is left to the next claim.
type Task struct {
	client *Client
	claim  api.Claim
	// wait is how long one long-poll for decisions is held.
	wait    time.Duration
	leaseMs int64
	// ctx is the handler's context. lease lasts as long as the assumed lease: longer than
	// ctx if the worker stops.
	ctx, lease             context.Context
	stopHandler, loseLease context.CancelCauseFunc
	// joined counts the goroutines that the task started.
	joined sync.WaitGroup

	mu sync.Mutex
	// ending counts calls in flight that end the lease. Meanwhile a refused call does not
	// mean that the lease was lost.
	ending int
	// ended is set when one of them has succeeded, or the handler has returned. It is the
	// error of the remaining waits.
	ended error
	// draining: the worker stops, so waits for people end at once. interrupted: one did.
	draining, interrupted bool
	// output is what the handler of [Typed] returned; nil for none.
	output api.JSON
	attachment
	emitted emitted
}

// errEnded ends waits for decisions on a run that the handler has ended.
var errEnded = fmt.Errorf("%w: the handler has ended the run", ErrRunState)

func newTask(ctx context.Context, c *Client, claim api.Claim, options WorkerOptions) *Task {
	lease := time.Duration(options.LeaseMs) * time.Millisecond
	t := &Task{client: c.patiently(lease), claim: claim, wait: options.PollWait, leaseMs: options.LeaseMs}
	t.lease, t.loseLease = context.WithCancelCause(context.WithoutCancel(ctx))
	t.ctx, t.stopHandler = context.WithCancelCause(ctx)
	t.attachment = newAttachment(claim.Resume)
	t.emitted = newEmitted(&claim)
	return t
}

// Run returns the run as it was when claimed.
func (t *Task) Run() api.RunView { return t.claim.Run }

// RunID returns the id of the run.
func (t *Task) RunID() string { return t.claim.Run.RunID }

// SessionID returns the id of the run's session.
func (t *Task) SessionID() string { return t.claim.Run.SessionID }

// Attempt counts the claims since the last suspension, from 1.
func (t *Task) Attempt() int64 { return t.claim.Attempt }

// Fence returns the fence of the lease, for calls on [Client].
func (t *Task) Fence() string { return t.claim.Lease.Fence }

// Input returns the run's input as it was given.
func (t *Task) Input() api.JSON { return t.claim.Input }

// DecodeInput decodes the input into the value that into points to. Member names match
// regardless of case, as in encoding/json: dry_run is not DryRun.
func (t *Task) DecodeInput(into any) error {
	if err := decodeJSON(t.claim.Input, into); err != nil {
		return fmt.Errorf("decode input: %w", err)
	}
	return nil
}

// Checkpoint returns the checkpoint as it was when claimed; nil if there was none.
func (t *Task) Checkpoint() api.JSON { return t.claim.Checkpoint }

// DecodeCheckpoint decodes the checkpoint like DecodeInput, and reports whether there was
// one.
func (t *Task) DecodeCheckpoint(into any) (bool, error) {
	if t.claim.Checkpoint == nil {
		return false, nil
	}
	if err := decodeJSON(t.claim.Checkpoint, into); err != nil {
		return true, fmt.Errorf("decode checkpoint: %w", err)
	}
	return true, nil
}

// Resume returns the decisions since the run was suspended, or since its last checkpoint;
// nil if there are none.
func (t *Task) Resume() *api.Resume { return t.claim.Resume }

// SaveCheckpoint stores a checkpoint of any value with a JSON form, which later claims
// return. It includes the decisions already returned by Approve and Ask, which a later
// Resume does not repeat. A value whose JSON is null is not a checkpoint: it only renews the
// lease, and the stored checkpoint stays. Errors: [ErrCancelled] and the usual ones.
func (t *Task) SaveCheckpoint(ctx context.Context, checkpoint any) error {
	text, err := EncodeJSON(checkpoint)
	if err != nil {
		return fmt.Errorf("%w: checkpoint: %w", ErrInvalid, err)
	}
	ctx, done := t.whileLeased(ctx)
	defer done()
	renewal := HeartbeatParams{Fence: t.Fence(), LeaseMs: t.leaseMs}
	if isCheckpoint(text) {
		renewal.Checkpoint = text
		if renewal.SettledAfter, err = t.includedDecisions(ctx); err != nil {
			return err
		}
	}
	beat, err := t.client.Heartbeat(ctx, t.RunID(), renewal)
	if err != nil {
		return t.handleRefusal(err)
	}
	t.checkpointed(text)
	if beat.CancelRequested {
		t.stop(ErrCancelled)
		return ErrCancelled
	}
	return nil
}

// Suspend raises requests, ends the lease and returns [ErrSuspended], which the handler
// must return. The handler is called again with a [Task.Resume] once everything is settled.
// Each request needs an ID; an empty ToolCallID is set to it. [api.Resume.Approved] returns
// the input of an approval that may run.
//
// If all its requests were already settled with the same ids, or standing rules settle them
// at once, it returns the decisions instead and the handler continues. So a handler may
// start from the top every time. Errors besides the usual: [ErrIDConflict] if an id was
// used for another request; [ErrInvalid]. Hold must not be set: use Approve and Ask to wait
// in place.
func (t *Task) Suspend(ctx context.Context, suspension api.Suspension) (*api.Resume, error) {
	if suspension.Hold {
		return nil, fmt.Errorf("%w: to wait with the lease, use Approve and Ask", ErrInvalid)
	}
	nameToolCalls(&suspension)
	if resume, err := t.settledBefore(&suspension); resume != nil || err != nil {
		return resume, err
	}
	ctx, done := t.whileLeased(ctx)
	defer done()
	var err error
	if suspension.Checkpoint != nil && suspension.SettledAfter == nil {
		if suspension.SettledAfter, err = t.includedDecisions(ctx); err != nil {
			return nil, err
		}
	}
	var result *api.SuspendReply
	err = t.endLease(ErrSuspended, func() (ended bool, err error) {
		result, err = t.client.Suspend(ctx, t.RunID(), t.Fence(), suspension)
		// Without a lease the run can be claimed again, even if everything was settled at
		// once.
		return err == nil && (result.Resume == nil || result.Run.Lease == nil), err
	})
	switch {
	case errors.Is(err, ErrIDConflict):
		if err := t.readHistory(ctx); err != nil {
			return nil, err
		}
		if resume, err := t.settledBefore(&suspension); resume != nil || err != nil {
			return resume, err
		}
		return nil, err
	case err != nil:
		return nil, err
	case result.Resume != nil && result.Run.Lease != nil:
		if own, err := decisionsOn(&suspension, newAttachment(result.Resume).settled); own == nil {
			return nil, cmp.Or(err, errOtherDecisions)
		}
		t.addResume(result.Resume)
		t.checkpointed(suspension.Checkpoint)
		return result.Resume, nil
	}
	return nil, ErrSuspended
}

// nameToolCalls sets empty tool call ids to the ids of their requests, and the empty id of a question as
// the service does, so that its decision is found. It does not change the caller's slices.
func nameToolCalls(suspension *api.Suspension) {
	suspension.Approvals = slices.Clone(suspension.Approvals)
	for i := range suspension.Approvals {
		request := &suspension.Approvals[i]
		request.ToolCallID = cmp.Or(request.ToolCallID, request.ID)
	}
	suspension.Questions = slices.Clone(suspension.Questions)
	for i := range suspension.Questions {
		request := &suspension.Questions[i]
		if request.ID == "" && request.ToolCallID != "" {
			request.ID = "question-request-" + request.ToolCallID
		}
		request.ToolCallID = cmp.Or(request.ToolCallID, request.ID)
	}
}

// Complete ends the run with an output of any value with a JSON form; nil for none. Open
// requests are recorded as expired.
func (t *Task) Complete(ctx context.Context, output any) error {
	text, err := encodeMember("output", output)
	if err != nil {
		return err
	}
	return t.complete(ctx, text)
}

func (t *Task) complete(ctx context.Context, text api.JSON) error {
	ctx, done := t.whileLeased(ctx)
	defer done()
	return t.finish(func() (*api.RunView, error) { return t.client.CompleteRun(ctx, t.RunID(), t.Fence(), text) })
}

// Fail ends the run with an error text, without its control characters and cut at 16 KiB.
// Open requests are recorded as expired.
func (t *Task) Fail(ctx context.Context, message string) error {
	ctx, done := t.whileLeased(ctx)
	defer done()
	return t.finish(func() (*api.RunView, error) { return t.client.FailRun(ctx, t.RunID(), t.Fence(), failureText(message)) })
}

// release releases the run.
func (t *Task) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	ctx, done := t.whileLeased(ctx)
	defer done()
	return t.finish(func() (*api.RunView, error) { return t.client.ReleaseRun(ctx, t.RunID(), t.Fence(), nil) })
}

// releaseFailed releases the run for a retry.
func (t *Task) releaseFailed(ctx context.Context, failed FailedAttempt) error {
	ctx, done := t.whileLeased(ctx)
	defer done()
	return t.finish(func() (*api.RunView, error) { return t.client.ReleaseFailedAttempt(ctx, t.RunID(), failed) })
}

// whileLeased returns a context that ends with the given one or with the lease.
func (t *Task) whileLeased(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(t.lease, func() { cancel(context.Cause(t.lease)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// drain ends the waits for people, because the worker stops. Their requests stay open for
// the next worker that claims the run.
func (t *Task) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.draining = true
	t.interrupted = t.interrupted || len(t.waiters) > 0
	t.endAllWaits(ErrWorkerStopped)
}

// wasInterrupted reports whether a wait for a person ended because the worker stops.
func (t *Task) wasInterrupted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.interrupted
}

// finish makes a call that ends the lease if it succeeds.
func (t *Task) finish(call func() (*api.RunView, error)) error {
	return t.endLease(errEnded, func() (bool, error) {
		_, err := call()
		return err == nil, err
	})
}

// endLease makes a call that may end the lease. If it does, the remaining waits end with
// the error.
func (t *Task) endLease(reason error, call func() (ended bool, err error)) error {
	t.mu.Lock()
	t.ending++
	t.mu.Unlock()
	ended, err := call()
	t.mu.Lock()
	t.ending--
	if ended && t.ended == nil {
		t.ended = reason
		t.endAllWaits(reason)
	}
	t.mu.Unlock()
	if err != nil {
		return t.handleRefusal(err)
	}
	return nil
}

// stop ends the contexts of the handler and the lease.
func (t *Task) stop(cause error) {
	t.loseLease(cause)
	t.stopHandler(cause)
}

// close ends the handler's context and remaining waits.
func (t *Task) close() {
	t.mu.Lock()
	if t.ended == nil {
		t.ended = errEnded
	}
	t.endAllWaits(t.ended)
	t.mu.Unlock()
	t.stop(nil)
}

// isEnding reports whether a call of this task has ended the lease, or may have.
func (t *Task) isEnding() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended != nil || t.ending > 0
}

func (t *Task) isEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended != nil
}

// handleRefusal returns the error of a call. If the lease is lost, it ends the handler's
// context, after asking by a heartbeat whether the run was cancelled: only a heartbeat says
// so, and every other call on a cancelled run is refused with lease_lost.
func (t *Task) handleRefusal(err error) error {
	if !errors.Is(err, ErrLeaseLost) || t.isEnding() || t.lease.Err() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), ownCallTimeout)
	defer cancel()
	beat, beatErr := t.client.Heartbeat(ctx, t.RunID(), HeartbeatParams{Fence: t.Fence(), LeaseMs: t.leaseMs})
	if beatErr == nil && beat.CancelRequested {
		err = fmt.Errorf("%w: %w", ErrCancelled, err)
	}
	t.stop(err)
	return err
}
