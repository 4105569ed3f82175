package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// RetryPolicy configures retries of calls that are safe to repeat: reads; calls with an
// idempotency key, which the client generates if needed; calls with an id chosen by the
// caller or the client; and calls without an effect the second time. They are retried after
// a broken connection, a time-out of the attempt, 429, 502, 503 and 504. Other calls (claims,
// mailboxes, interrupts) are only retried if the attempt certainly had no effect: the
// connection failed, or 429.
type RetryPolicy struct {
	// MaxAttempts includes the first attempt; 4 if 0. 1 never retries.
	MaxAttempts int
	// BaseDelay is the pause before the second attempt; 100 ms if 0. It doubles each time.
	// Half of every pause is random.
	BaseDelay time.Duration
	// MaxDelay bounds the pause; 5 s if 0.
	MaxDelay time.Duration
	// MaxRetryAfter is the longest Retry-After to wait for; 60 s if 0. A call with a longer
	// one fails at once. The calls of a [Task] wait for a sixth of the lease at most.
	MaxRetryAfter time.Duration
	// Outage is how long a call is retried, beyond MaxAttempts, if this client or this call
	// has reached the service before, which is then probably restarting; 0 for MaxAttempts
	// only. A service that was never reached fails the call after MaxAttempts.
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
	// ifNotTaken: only if the attempt certainly had no effect.
	ifNotTaken
	always
)

// errNotHeld is the reason for the pause after a long-poll that returned early, as from a
// service that shuts down.
var errNotHeld = fmt.Errorf("%w: the reply was not held", ErrUnavailable)

// errNotSent marks an attempt that never reached the service.
var errNotSent = errors.New("no connection")

func (r repeatable) after(err error) bool {
	switch {
	case r == never:
		return false
	case hadNoEffect(err):
		return true
	default:
		return r == always && errors.Is(err, ErrUnavailable)
	}
}

// hadNoEffect reports whether a failed attempt certainly did not change anything.
func hadNoEffect(err error) bool { return errors.Is(err, errNotSent) || errors.Is(err, ErrRateLimited) }

// transient reports whether the same call may succeed later.
func transient(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrRateLimited)
}

// Away reports whether an error says nothing about the called resource: the service
// could not be reached or could not answer, or an intermediary answered, such as a proxy
// without a backend or with a redirect to a page about maintenance. Until the service has replied
// once, a proxy's 404 may also mean that the URL is wrong.
func Away(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	switch {
	case ok && (refused.Code == "" && sentByProxy(refused.Status) || refused.Status == http.StatusRequestTimeout):
		return true // the service sends no 408
	case ok && refused.Code == api.CodeMailboxFull:
		return false // until the caller reads the mailbox
	}
	return transient(err)
}

// sentByProxy reports whether a reply with this status and without a code is an intermediary's.
func sentByProxy(status int) bool {
	return status < http.StatusBadRequest || status >= http.StatusInternalServerError || status == http.StatusNotFound
}

// outlasts reports whether a call that began at this time is still retried because of the
// policy's Outage.
func (c *Client) outlasts(began time.Time) bool {
	return c.reached.Load() && time.Since(began) < c.retry.Outage
}

// patiently returns a client for the calls of a leased run. It retries calls that are safe
// to repeat until their context ends, because an outage says nothing about the run.
// Attempts and pauses are short compared to the lease, which counts from the first attempt
// of its renewal.
func (c *Client) patiently(lease time.Duration) *Client {
	p := *c
	p.patient = true
	p.retry.MaxDelay = min(p.retry.MaxDelay, max(lease/10, p.retry.BaseDelay))
	p.retry.MaxRetryAfter = min(p.retry.MaxRetryAfter, lease/6)
	if attempt := max(lease/2, time.Second); p.timeout <= 0 || p.timeout > attempt {
		p.timeout = attempt
	}
	return &p
}

// pauses counts consecutive failures and computes the pause after each. No library replaces
// it: the arithmetic is the smaller part, and none knows Retry-After.
type pauses struct {
	policy RetryPolicy
	failed int
}

func (p RetryPolicy) pauses() *pauses { return &pauses{policy: p} }

func (p *pauses) reset() { p.failed = 0 }

// next returns the pause after another failure, and whether the policy allows waiting that
// long.
func (p *pauses) next(err error) (time.Duration, bool) {
	delay := p.policy.MaxDelay
	if p.policy.BaseDelay <= delay>>p.failed { // so that the shift below does not overflow
		delay = p.policy.BaseDelay << p.failed
	}
	p.failed++
	delay = delay/2 + rand.N(delay/2+1)
	if refused, ok := errors.AsType[*Error](err); ok && refused.RetryAfter > delay {
		return refused.RetryAfter, refused.RetryAfter <= p.policy.MaxRetryAfter
	}
	return delay, true
}

// afterHeld pauses after the empty reply of a long-poll, sent at asked for a wait. It does
// not pause if the service held the reply.
func (p *pauses) afterHeld(ctx context.Context, asked time.Time, wait time.Duration) error {
	if time.Since(asked) > wait/2 {
		p.reset()
		return nil
	}
	return p.sleep(ctx, errNotHeld)
}

// sleep pauses after a failure. It returns the failure if the policy does not wait that
// long, and the failure with the context's error if that ends first.
func (p *pauses) sleep(ctx context.Context, failure error) error {
	delay, worthIt := p.next(failure)
	if !worthIt {
		return failure
	}
	return sleepFor(ctx, delay, failure)
}

// sleepAnyway pauses after a failure, for at most MaxRetryAfter. It only returns an error
// if the context ends first.
func (p *pauses) sleepAnyway(ctx context.Context, failure error) error {
	delay, _ := p.next(failure)
	return sleepFor(ctx, min(delay, p.policy.MaxRetryAfter), failure)
}

// sleepFor pauses. If the context ends first, it returns the context's error with the
// failure.
func sleepFor(ctx context.Context, delay time.Duration, failure error) error {
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", contextError(ctx), failure)
	}
}

// contextError returns the error of an ended context, with its cause if different.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
