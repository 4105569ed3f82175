package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

// releaseTimeout bounds the call that releases a run when the worker stops. If it fails,
// the run can be claimed when its lease expires.
const releaseTimeout = 5 * time.Second

// isRefusal reports whether the service refused the call for good, or the call could not be
// made.
func isRefusal(err error) bool {
	if Away(err) {
		return false
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused.Status >= 400 && refused.Status < 500
	}
	return errors.Is(err, ErrInvalid)
}

// errExited is the outcome of a handler that ended its goroutine instead of returning.
var errExited = errors.New("handler ended its goroutine")

// panicked is the outcome of a handler that panicked.
type panicked struct {
	value any
	stack string
}

func (p panicked) Error() string { return fmt.Sprintf("handler panicked: %v", p.value) }

// handleRun calls the handler for one run and ends the run accordingly. The worker begins
// to stop when stopping ends.
func (w *Worker) handleRun(ctx, stopping context.Context, claim api.Claim, handler Handler) {
	t := newTask(ctx, w.client, claim, w.options)
	defer context.AfterFunc(stopping, t.drain)()
	beatCtx, stopBeat := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() { w.renewLease(beatCtx, t) })

	outcome := errExited
	defer func() {
		if value := recover(); value != nil {
			outcome = panicked{value, string(debug.Stack())}
		}
		w.finish(t, outcome)
		t.close()
		stopBeat()
		beating.Wait()
		t.joined.Wait()
	}()
	returned := handler(t.ctx, t)
	callMethods(returned)
	outcome = returned
}

// callMethods calls the methods of a handler's error where a panic is recovered. A typed nil may
// panic, even if it is wrapped, and the worker calls them again outside of the handler, with each of
// these targets.
func callMethods(returned error) {
	if returned == nil {
		return
	}
	_ = returned.Error()
	for _, target := range []error{ErrWorkerStopped, ErrSuspended, ErrUnavailable} {
		_ = errors.Is(returned, target)
	}
	for _, target := range []any{new(panicked), new(*api.NotAllowedError), new(*permanentError)} {
		_ = errors.As(returned, target)
	}
}

// finish ends a run after its handler.
func (w *Worker) finish(t *Task, outcome error) {
	ctx := context.WithoutCancel(t.ctx) // the calls end with the lease
	cause := cmp.Or(context.Cause(t.lease), context.Cause(t.ctx))
	stopped := errors.Is(outcome, ErrWorkerStopped) || errors.Is(cause, ErrWorkerStopped) || t.wasInterrupted()
	var err error
	switch {
	case t.isEnded():
		if outcome != nil && !errors.Is(outcome, ErrSuspended) {
			err = fmt.Errorf("handler failed after it had ended the run: %w", outcome)
		}
	case errors.Is(cause, ErrCancelled):
	case errors.Is(cause, ErrLeaseLost):
		err = cause
	case outcome == nil:
		if err = t.complete(ctx, t.output); errors.Is(err, ErrInvalid) {
			// The service refuses the output, such as one that is too large.
			err = w.failAttempt(ctx, t, &permanentError{fmt.Errorf("output: %w", err)})
		}
	case stopped && !errors.As(outcome, new(panicked)):
		err = t.release(ctx)
	case errors.Is(outcome, ErrSuspended):
		err = t.Fail(ctx, "handler returned ErrSuspended without having suspended the run")
	case errors.As(outcome, new(*api.NotAllowedError)):
		// The decision is final, so a retry would return the same error.
		err = t.Fail(ctx, outcome.Error())
	default:
		err = w.failAttempt(ctx, t, outcome)
	}
	if err != nil {
		w.reportRun(t, "run was not finished", err)
	}
}

// maxRetryDelay is the longest delay that the service accepts.
const maxRetryDelay = api.MaxLeaseMs * time.Millisecond

// failAttempt reports that a handler failed. It releases the run for a retry, or fails it
// after the last attempt. An attempt that failed because the service was unreachable does
// not count.
func (w *Worker) failAttempt(ctx context.Context, t *Task, outcome error) error {
	failed := t.Run().FailedAttempts
	counts := !errors.Is(outcome, ErrUnavailable)
	if counts {
		failed++
	}
	last := counts && failed >= int64(w.options.MaxAttempts) || errors.As(outcome, new(*permanentError))
	var stack []any
	if crash, ok := errors.AsType[panicked](outcome); ok {
		stack = []any{slog.String("stack", crash.stack)}
	}
	w.reportRun(t, "handler failed", &AttemptError{Attempt: failed, Last: last, Err: outcome}, stack...)
	if last {
		return t.Fail(ctx, outcome.Error())
	}
	delay := w.options.RetryDelay
	for range min(failed-1, 32) {
		delay = min(2*delay, maxRetryDelay)
	}
	return t.releaseFailed(ctx, FailedAttempt{
		Fence: t.Fence(), Error: failureText(outcome.Error()), Attempt: failed, DelayMs: delay.Milliseconds(),
	})
}

// AttemptError is reported by a [Worker] if a handler failed.
type AttemptError struct {
	// Attempt is the number of failed attempts so far.
	Attempt int64
	// Last reports that the run has failed and is not retried.
	Last bool
	// Err is the error that the handler returned.
	Err error
}

func (e *AttemptError) Error() string {
	if e.Last {
		return fmt.Sprintf("attempt %d failed, which was the last: %v", e.Attempt, e.Err)
	}
	return fmt.Sprintf("attempt %d failed, to be retried: %v", max(e.Attempt, 1), e.Err)
}

func (e *AttemptError) Unwrap() error { return e.Err }

// release releases a run that was claimed while the worker began to stop.
func (w *Worker) release(ctx context.Context, claim api.Claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if _, err := w.client.ReleaseRun(ctx, claim.Run.RunID, claim.Lease.Fence, nil); err != nil {
		w.report("run was not released", fmt.Errorf("release run %s: %w", claim.Run.RunID, err))
	}
}

// renewLease renews the lease until the context ends. It ends the handler's context if the
// run was cancelled or the lease could not be renewed in time.
func (w *Worker) renewLease(ctx context.Context, t *Task) {
	lease := time.Duration(w.options.LeaseMs) * time.Millisecond
	expires := time.Now().Add(lease)
	timer := time.NewTimer(w.options.HeartbeatEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		sent := time.Now()
		callCtx, cancel := context.WithDeadline(ctx, expires)
		beat, err := t.client.Heartbeat(callCtx, t.RunID(), HeartbeatParams{Fence: t.Fence(), LeaseMs: w.options.LeaseMs})
		cancel()
		next := w.options.HeartbeatEvery
		switch {
		case ctx.Err() != nil || t.isEnded():
			return
		case err == nil && beat.CancelRequested:
			t.stop(ErrCancelled)
			return
		case err == nil:
			expires = sent.Add(lease)
		case t.isEnding() && time.Now().Before(expires):
			// The task's own call may have ended the lease.
		case errors.Is(err, ErrLeaseLost):
			t.stop(err)
			return
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrRunState):
			t.stop(fmt.Errorf("%w: %w", ErrLeaseLost, err))
			return
		default:
			w.reportRun(t, "lease was not renewed", err)
			if !time.Now().Before(expires) {
				// Another worker may have claimed the run.
				t.stop(fmt.Errorf("%w: it could not be renewed in time: %w", ErrLeaseLost, err))
				return
			}
			next = min(next/4, time.Until(expires)) // the handler ends no later than the lease
		}
		timer.Reset(next)
	}
}

func (w *Worker) report(message string, err error) {
	w.options.Logger.Error(message, slog.String("worker_id", w.options.WorkerID), slog.Any("error", err))
	if w.options.OnError != nil {
		w.options.OnError(err)
	}
}

func (w *Worker) reportRun(t *Task, message string, err error, more ...any) {
	w.options.Logger.Error(message, append([]any{
		slog.String("worker_id", w.options.WorkerID), slog.String("run_id", t.RunID()), slog.Any("error", err),
	}, more...)...)
	if w.options.OnError != nil {
		w.options.OnError(fmt.Errorf("run %s: %w", t.RunID(), err))
	}
}

// failureText returns a text that the service accepts: UTF-8, without control characters
// except tabs and line breaks, at most api.MaxTextLength bytes, and not empty.
func failureText(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > api.MaxTextLength {
		text = text[:api.MaxTextLength]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	if text == "" {
		return "failed without a text"
	}
	return text
}
