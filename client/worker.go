package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/holdpoint/holdpoint/api"
)

// Handler does the work of one run; [Typed] makes one that gets its input decoded. The run's
// fate depends on what it returns:
//
//   - nil: the run is completed without an output, unless the handler has ended it.
//   - an error that is [ErrSuspended], from [Task.Suspend] or [Task.AskParent]: nothing
//     more happens.
//   - an error that is [ErrWorkerStopped]: the run is released.
//   - an [api.NotAllowedError], from [api.Resume.Approved] or [Task.ApproveInput]: the run
//     fails at once, because a decision is final. It is not logged as an error.
//   - any other error: the attempt failed. The run is retried as configured in
//     [WorkerOptions], and fails with the error's text after the last attempt. [Task.Fail]
//     fails it at once.
//
// A panic counts as an error with the panic's text. If the handler must not continue, its
// context ends with a [context.Cause] that is [ErrLeaseLost], [ErrCancelled] or
// [ErrWorkerStopped]. After the first two, the returned value has no effect. After
// ErrWorkerStopped, an error releases the run instead of failing it.
type Handler func(ctx context.Context, task *Task) error

// Errors that end a handler early.
var (
	// ErrSuspended: the run waits, and is claimed again once it can continue. Return it
	// from the handler.
	ErrSuspended = errors.New("run is suspended")
	// ErrCancelled is the cause of a handler's context when the run was cancelled or
	// interrupted.
	ErrCancelled = errors.New("run was cancelled")
	// ErrWorkerStopped ends a handler's waits for people as soon as the worker stops. It is
	// the cause of the handler's context if the handler did not finish in time. The run is
	// released, and its requests stay open.
	ErrWorkerStopped = errors.New("worker is stopping")
)

// WorkerOptions configure a [Worker]. Zero members take the defaults.
type WorkerOptions struct {
	// WorkerID names the worker in leases; host, process id and a random part if empty.
	WorkerID string
	// AgentIDs select the agents whose runs are claimed, at most 100; all if empty.
	AgentIDs []string
	// Concurrency is the number of runs handled at once; 16 if 0.
	Concurrency int
	// LeaseMs is 1,000 to 3,600,000; 30,000 if 0.
	LeaseMs int64
	// HeartbeatEvery is how often a lease is renewed; a third of the lease if 0.
	HeartbeatEvery time.Duration
	// PollWait is the length of a long-poll, 1 to 60 s; 30 s if 0.
	PollWait time.Duration
	// DrainTimeout is how long handlers may continue after the context of Run has ended; 30
	// s if 0, not at all if negative. A handler that waits for a person ends at once.
	DrainTimeout time.Duration
	// MaxAttempts is the number of failed attempts after which a run fails; 3 if 0. 1 never
	// retries. Attempts are counted since the last suspension that ended a lease. Attempts
	// that fail because the service is unreachable do not count.
	MaxAttempts int
	// RetryDelay is the pause after the first failed attempt; 1 s if 0. It doubles each
	// time, up to an hour. Meanwhile the run is released and does not count against
	// Concurrency.
	RetryDelay time.Duration
	// Logger logs failed attempts and errors outside of handlers, each with its run;
	// slog.Default() if nil.
	Logger *slog.Logger
	// OnError, if set, is called with every such error. It may be called concurrently and
	// must not block.
	OnError func(error)
}

// Defaults of [WorkerOptions].
const (
	DefaultConcurrency  = 16
	DefaultPollWait     = 30 * time.Second
	DefaultDrainTimeout = 30 * time.Second
	DefaultMaxAttempts  = 3
	DefaultRetryDelay   = time.Second
)

// Worker claims runs and calls a handler for each. Create one with [NewWorker].
type Worker struct {
	client  *Client
	options WorkerOptions
}

// NewWorker returns a worker. The error wraps [ErrInvalid] and names the bad option.
func NewWorker(c *Client, options WorkerOptions) (*Worker, error) {
	o := options
	if o.WorkerID == "" {
		o.WorkerID = defaultWorkerID()
	}
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.LeaseMs == 0 {
		o.LeaseMs = api.DefaultLeaseMs
	}
	lease := time.Duration(o.LeaseMs) * time.Millisecond
	if o.HeartbeatEvery == 0 {
		o.HeartbeatEvery = lease / 3
	}
	if o.PollWait == 0 {
		o.PollWait = DefaultPollWait
	}
	if o.DrainTimeout == 0 {
		o.DrainTimeout = DefaultDrainTimeout
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = DefaultMaxAttempts
	}
	if o.RetryDelay == 0 {
		o.RetryDelay = DefaultRetryDelay
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case c == nil:
		return nil, fmt.Errorf("%w: the client is nil", ErrInvalid)
	case !validID(o.WorkerID):
		return nil, fmt.Errorf("%w: WorkerID must have 1 to 200 characters of A-Z a-z 0-9 . _ : -", ErrInvalid)
	case o.Concurrency < 0:
		return nil, fmt.Errorf("%w: Concurrency must not be negative", ErrInvalid)
	case o.LeaseMs < api.MinLeaseMs || o.LeaseMs > api.MaxLeaseMs:
		return nil, fmt.Errorf("%w: LeaseMs must be between %d and %d", ErrInvalid, api.MinLeaseMs, api.MaxLeaseMs)
	case o.HeartbeatEvery < 0 || o.HeartbeatEvery >= lease:
		return nil, fmt.Errorf("%w: HeartbeatEvery must be positive and shorter than the lease", ErrInvalid)
	case o.MaxAttempts < 0:
		return nil, fmt.Errorf("%w: MaxAttempts must not be negative", ErrInvalid)
	case o.RetryDelay < 0 || o.RetryDelay > maxRetryDelay:
		return nil, fmt.Errorf("%w: RetryDelay must be between 0 and an hour", ErrInvalid)
	case o.PollWait < time.Second || o.PollWait > maxPrefer:
		return nil, fmt.Errorf("%w: PollWait must be between 1 and 60 seconds", ErrInvalid)
	}
	return &Worker{client: c, options: o}, nil
}

// idPattern is the service's pattern for ids.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

func validID(id string) bool {
	return len(id) <= api.MaxIDLength && idPattern.MatchString(id) && id != "." && id != ".."
}

// WorkerID returns the name of the worker in leases.
func (w *Worker) WorkerID() string { return w.options.WorkerID }

// defaultWorkerID returns host, process id and a random part, in the characters of an id.
func defaultWorkerID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	host = strings.Map(func(r rune) rune {
		if validID("x" + string(r)) {
			return r
		}
		return '-'
	}, host)
	return fmt.Sprintf("%.64s-%d-%s", host, os.Getpid(), uuid.NewString()[:8])
}

// Run claims runs and calls the handler for each in its own goroutine, until the context
// ends. Then it stops claiming and ends the handlers' waits for people. It gives the
// handlers DrainTimeout to finish, ends the contexts of the others, waits for them to
// return, and releases their runs. A run that waits for a person stays open, and another
// worker claims it once it can continue. Run then returns nil. If the service permanently
// refuses its claims, for example with [ErrUnauthorized] or [ErrInvalid], Run returns that
// error after the same steps.
func (w *Worker) Run(ctx context.Context, handler Handler) error {
	if handler == nil {
		return fmt.Errorf("%w: the handler is nil", ErrInvalid)
	}
	// Handlers outlive ctx while the worker drains.
	handlerCtx, stopHandlers := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopHandlers(nil)
	stopping, beginStop := context.WithCancel(ctx)
	defer beginStop()
	var handlers sync.WaitGroup
	err := w.claimLoop(ctx, func(claim api.Claim, done func()) {
		handlers.Go(func() {
			defer done()
			if ctx.Err() != nil {
				w.release(ctx, claim)
				return
			}
			w.handleRun(handlerCtx, stopping, claim, handler)
		})
	})
	beginStop()
	finished := make(chan struct{})
	go func() {
		handlers.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-time.After(max(w.options.DrainTimeout, 0)):
		stopHandlers(ErrWorkerStopped)
		<-finished
	}
	return err
}
