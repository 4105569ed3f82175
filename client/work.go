package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// The calls of this file are what a worker does. [Worker] makes them for a handler;
// use them directly only to run a loop of your own. All calls that take a fence
// return [ErrLeaseLost] when it is stale, [ErrRunState] when the run is not in a
// state that allows the call, and [ErrNotFound].

// ClaimRunsParams ask for runs that may go on.
type ClaimRunsParams struct {
	WorkerID string
	// AgentIDs choose the agents whose runs are claimed, at most 100; all when empty.
	AgentIDs []string
	// MaxRuns is 1 to 100; 1 when 0.
	MaxRuns int
	// LeaseMs is 1,000 to 3,600,000; 30,000 when 0.
	LeaseMs int64
	// WaitMs is how long to wait for the first run, 0 to 60,000.
	WaitMs int64
}

// ClaimRuns returns runs with their leases; none when the wait ran out. It is not
// repeated when its reply is lost: the runs that may have been claimed become
// claimable again when their leases lapse. Errors: [ErrInvalid].
func (c *Client) ClaimRuns(ctx context.Context, params ClaimRunsParams) ([]api.Claim, error) {
	var result api.ClaimsReply
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: at("/v1/runs/claim"), out: &result,
		body: api.ClaimRunsBody{
			WorkerID: params.WorkerID, AgentIDs: params.AgentIDs, MaxRuns: optional(int64(params.MaxRuns)),
			LeaseMs: optional(params.LeaseMs), WaitMs: params.WaitMs,
		},
		held: time.Duration(params.WaitMs) * time.Millisecond, repeat: ifNotTaken,
	})
	return result.Claims, err
}

// ClaimRun claims this run. It is not repeated when its reply is lost. Errors:
// [ErrNotFound], [ErrRunNotClaimable], [ErrInvalid].
func (c *Client) ClaimRun(ctx context.Context, runID string, options api.ClaimOptions) (*api.Claim, error) {
	body := api.ClaimRunBody{WorkerID: options.WorkerID, LeaseMs: optional(options.LeaseMs)}
	return post[api.Claim](ctx, c, at("/v1/runs", runID, "claim"), body, ifNotTaken)
}

// HeartbeatParams extend a lease.
type HeartbeatParams struct {
	Fence string
	// LeaseMs counts from now; 30,000 when 0.
	LeaseMs int64
	// Checkpoint is stored when it is not nil.
	Checkpoint api.JSON
	// SettledAfter is the number of the last decision that the checkpoint includes; see
	// [api.Suspension].
	SettledAfter *int64
}

// HeartbeatResult is the reply of a heartbeat.
type HeartbeatResult = api.HeartbeatReply

// Heartbeat extends a lease and may store a checkpoint.
func (c *Client) Heartbeat(ctx context.Context, runID string, params HeartbeatParams) (*HeartbeatResult, error) {
	return post[HeartbeatResult](ctx, c, at("/v1/runs", runID, "heartbeat"), api.HeartbeatBody{
		Fence: &params.Fence, LeaseMs: optional(params.LeaseMs), Checkpoint: params.Checkpoint, SettledAfter: params.SettledAfter,
	}, always)
}

// SuspendResult is the reply of a suspend.
type SuspendResult = api.SuspendReply

// Suspend raises requests and waits for them. Unless Hold is set or the result has
// a Resume, the lease has ended. The suspension id is made by the client when empty,
// so that the call can be repeated. Errors besides the usual: [ErrIDConflict] when
// a request id was used in this run before, or the suspension id for something
// else; [ErrInvalid].
func (c *Client) Suspend(ctx context.Context, runID, fence string, suspension api.Suspension) (*SuspendResult, error) {
	if suspension.SuspensionID == "" {
		suspension.SuspensionID = newID("suspension")
	}
	return post[SuspendResult](ctx, c, at("/v1/runs", runID, "suspend"), api.SuspendBody{Fence: &fence, Suspension: suspension}, always)
}

// AwaitSettled returns what was settled on a run after a cursor, in the order of the
// decisions, as soon as there is something, or nothing after the wait, which is at
// most 60 seconds and is rounded up to whole ones. The first cursor is "0", the next
// one Settled.After.
func (c *Client) AwaitSettled(ctx context.Context, runID, fence, after string, wait time.Duration) (*api.Settled, error) {
	return hold[api.Settled](ctx, c, at("/v1/runs", runID, "resume"), url.Values{"fence": {fence}, "after": {after}}, wait)
}

// Withdraw withdraws a request that an attached worker no longer needs. The reason
// may be empty. Errors besides the usual: [ErrAlreadyDecided] when it was settled
// otherwise.
func (c *Client) Withdraw(ctx context.Context, runID, requestID, fence, reason string) (*api.RunView, error) {
	return post[api.RunView](ctx, c, at("/v1/runs", runID, "requests", requestID, "withdraw"),
		api.WithdrawBody{Fence: &fence, Reason: reason}, always)
}

// AppendEvents adds events to the session's log and returns the id of the last. Each
// is an object with a "type"; "output" also becomes an output record. They are appended
// once, also when the call is repeated because its reply was lost. Errors besides the usual: [ErrInvalid].
func (c *Client) AppendEvents(ctx context.Context, runID, fence string, events []api.JSON) (lastEventID string, err error) {
	return c.AppendEventsWithKey(ctx, runID, fence, "", events)
}

// AppendEventsWithKey is [Client.AppendEvents] for a caller who repeats it after the client has given up: with the
// same idempotency key, fence and events they are appended once, and the id is that of the first time. An empty
// key is a new one. Errors besides those of AppendEvents: [ErrIdempotencyConflict].
func (c *Client) AppendEventsWithKey(ctx context.Context, runID, fence, idempotencyKey string, events []api.JSON) (lastEventID string, err error) {
	k := newKey(idempotencyKey)
	var reply api.AppendEventsReply
	_, err = c.do(ctx, call{
		method: http.MethodPost, path: at("/v1/runs", runID, "events"), key: k,
		body: api.AppendEventsBody{IdempotencyKey: k.inBody, Fence: &fence, Events: events}, out: &reply, repeat: always,
	})
	if err != nil {
		return "", err
	}
	return reply.LastEventID, nil
}

// CompleteRun ends a run with its output, which may be nil.
func (c *Client) CompleteRun(ctx context.Context, runID, fence string, output api.JSON) (*api.RunView, error) {
	return post[api.RunView](ctx, c, at("/v1/runs", runID, "complete"), api.CompleteBody{Fence: &fence, Output: output}, always)
}

// FailRun ends a run with an error.
func (c *Client) FailRun(ctx context.Context, runID, fence, message string) (*api.RunView, error) {
	return post[api.RunView](ctx, c, at("/v1/runs", runID, "fail"), api.FailBody{Fence: &fence, Error: message}, always)
}

// ReleaseRun gives a run back unfinished; it is claimable at once. The checkpoint is
// stored when it is not nil.
func (c *Client) ReleaseRun(ctx context.Context, runID, fence string, checkpoint api.JSON) (*api.RunView, error) {
	return post[api.RunView](ctx, c, at("/v1/runs", runID, "release"), api.ReleaseBody{Fence: &fence, Checkpoint: checkpoint}, always)
}

// FailedAttempt is a failed attempt at a run that is to be retried.
type FailedAttempt struct {
	Fence string
	// Error is why it failed. It must not be empty.
	Error string
	// Attempt is how many attempts have failed, this one included. A failure that does not count
	// repeats the number before.
	Attempt int64
	// DelayMs is how long nobody can claim the run, 0 to 3,600,000.
	DelayMs int64
}

// ReleaseFailedAttempt releases a run for a retry after a delay. The run shows the error as
// LastError.
func (c *Client) ReleaseFailedAttempt(ctx context.Context, runID string, failed FailedAttempt) (*api.RunView, error) {
	return post[api.RunView](ctx, c, at("/v1/runs", runID, "release"), api.ReleaseBody{
		Fence: &failed.Fence, LastError: failed.Error, Attempt: &failed.Attempt, DelayMs: optional(failed.DelayMs),
	}, always)
}
