package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// RetryPolicy says how a call that is safe to repeat is repeated. Safe are reads;
// calls with an idempotency key, which the client makes where the caller gave none;
// calls with an id that the caller or the client chose; and calls that do nothing
// the second time. They are repeated after a broken connection, a time-out of the
// attempt, 429, 502, 503 and 504. Other calls (claims) are repeated only
// when the first certainly had no effect: the connection was never made, or 429.
type RetryPolicy struct {
	// MaxAttempts counts the first one; 4 when 0. 1 never repeats.
	MaxAttempts int
	// BaseDelay is the pause before the second attempt; 100 ms when 0. It doubles with
	// each further one. Half of every pause is random.
	BaseDelay time.Duration
	// MaxDelay bounds the pause; 5 s when 0.
	MaxDelay time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for; 60 s when 0. A call with
	// a longer one fails at once.
	MaxRetryAfter time.Duration
	// Outage is for how long a call is repeated, beyond MaxAttempts too, when this client or
	// this call had reached the service before, which is then likely to be restarting; 0 for
	// MaxAttempts alone. A service that was never reached fails the call as soon as without it.
	Outage time.Duration
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts <= 0 {
		p.MaxAttempts = 4
	}
	if p.BaseDelay <= 0 {
		p.BaseDelay = 100 * time.Millisecond
	}
	if p.MaxDelay <= 0 {
		p.MaxDelay = 5 * time.Second
	}
	if p.MaxRetryAfter <= 0 {
		p.MaxRetryAfter = 60 * time.Second
	}
	return p
}

// repeatable says when a call may be sent again.
type repeatable int

const (
	never repeatable = iota
	// ifNotTaken: only when the attempt certainly had no effect.
	ifNotTaken
	always
)

// errNotHeld is the reason of the pause after a long-poll whose reply was not held, as a
// service that shuts down does not hold it.
var errNotHeld = fmt.Errorf("%w: the reply was not held", ErrUnavailable)

// errNotSent marks an attempt that never reached the service.
var errNotSent = errors.New("no connection")

func (r repeatable) after(err error) bool {
	switch {
	case r == never:
		return false
	case errors.Is(err, errNotSent), errors.Is(err, ErrRateLimited):
		return true
	default:
		return r == always && errors.Is(err, ErrUnavailable)
	}
}

// transient reports whether the same call may succeed later.
func transient(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRateLimited)
}

// unanswered reports whether an error says nothing about what was called: the service could not
// be reached, could not answer, or something in between answered in its place, such as a proxy that
// has no backend at the moment.
func unanswered(err error) bool {
	var refused *Error
	if errors.As(err, &refused) && refused.Code == "" && (refused.Status >= 500 || refused.Status == http.StatusNotFound) {
		return true
	}
	return transient(err)
}

// outlasts reports whether a call that began at this time is still repeated because of the policy's
// Outage.
func (c *Client) outlasts(began time.Time) bool {
	return c.reached.Load() && time.Since(began) < c.retry.Outage
}

// patiently returns a client for the calls of a run that is held by a lease. It repeats a call that
// is safe to repeat until the call's context ends, because an outage says nothing about the run.
// An attempt without a reply, and a pause, are short next to the lease.
func (c *Client) patiently(lease time.Duration) *Client {
	p := *c
	p.patient = true
	p.retry.MaxDelay = min(p.retry.MaxDelay, max(lease/10, p.retry.BaseDelay))
	if attempt := max(lease/2, time.Second); p.timeout <= 0 || p.timeout > attempt {
		p.timeout = attempt
	}
	return &p
}

// pauses counts failures in a row and says how long to pause after each. No library
// replaces it: the little arithmetic is the smaller part, and none knows Retry-After.
type pauses struct {
	policy RetryPolicy
	failed int
}

func (p RetryPolicy) pauses() *pauses { return &pauses{policy: p} }

func (p *pauses) reset() { p.failed = 0 }

// next returns the pause after one more failure, and whether it is one that the
// policy waits for.
func (p *pauses) next(err error) (time.Duration, bool) {
	delay := p.policy.MaxDelay
	if p.failed < 32 {
		delay = min(delay, p.policy.BaseDelay<<p.failed)
	}
	p.failed++
	delay = delay/2 + rand.N(delay/2+1)
	var refused *Error
	if errors.As(err, &refused) && refused.RetryAfter > delay {
		return refused.RetryAfter, refused.RetryAfter <= p.policy.MaxRetryAfter
	}
	return delay, true
}

// afterHeld pauses after the empty reply of a long-poll that was sent at asked for a wait.
// It does not pause when the service held the reply.
func (p *pauses) afterHeld(ctx context.Context, asked time.Time, wait time.Duration) error {
	if time.Since(asked) > wait/2 {
		p.reset()
		return nil
	}
	return p.sleep(ctx, errNotHeld)
}

// sleep pauses after a failure. It returns the failure when the policy does not wait
// that long, and the failure together with the context's error when that ends first.
func (p *pauses) sleep(ctx context.Context, failure error) error {
	delay, worthIt := p.next(failure)
	if !worthIt {
		return failure
	}
	return sleepFor(ctx, delay, failure)
}

// sleepAnyway pauses after a failure, for at most MaxRetryAfter. It returns an error only when the
// context ends first.
func (p *pauses) sleepAnyway(ctx context.Context, failure error) error {
	delay, _ := p.next(failure)
	return sleepFor(ctx, min(delay, p.policy.MaxRetryAfter), failure)
}

// sleepFor pauses. When the context ends first, it returns the context's error together with the
// failure.
func sleepFor(ctx context.Context, delay time.Duration, failure error) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", contextError(ctx), failure)
	}
}

// contextError returns why a context ended: its error, with the cause when another
// one was given.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
