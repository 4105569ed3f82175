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
	WorkerID string `json:"worker_id"`
	// AgentIDs choose the agents whose runs are taken; those of all when empty.
	AgentIDs []string `json:"agent_ids,omitempty"`
	// MaxRuns is 1 to 100; 1 when 0.
	MaxRuns int `json:"max_runs,omitzero"`
	// LeaseMs is 1,000 to 3,600,000; 30,000 when 0.
	LeaseMs int64 `json:"lease_ms,omitzero"`
	// WaitMs is how long to wait for the first run, 0 to 60,000.
	WaitMs int64 `json:"wait_ms,omitzero"`
}

// ClaimRuns returns runs with their leases; none when the wait ran out. It is not
// repeated when its reply is lost: the runs that may have been claimed become
// claimable again when their leases lapse. Errors: [ErrInvalid].
func (c *Client) ClaimRuns(ctx context.Context, params ClaimRunsParams) ([]api.Claim, error) {
	var result struct {
		Claims []api.Claim `json:"claims"`
	}
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/runs/claim", body: params, out: &result,
		held: time.Duration(params.WaitMs) * time.Millisecond, repeat: ifNotTaken,
	})
	return result.Claims, err
}

// ClaimRun claims this run. It is not repeated when its reply is lost. Errors:
// [ErrNotFound], [ErrRunNotClaimable], [ErrInvalid].
func (c *Client) ClaimRun(ctx context.Context, runID string, options api.ClaimOptions) (*api.Claim, error) {
	path, err := route("/v1/runs", runID, "claim")
	if err != nil {
		return nil, err
	}
	return post[api.Claim](ctx, c, path, options, ifNotTaken)
}

// HeartbeatParams extend a lease.
type HeartbeatParams struct {
	Fence string `json:"fence"`
	// LeaseMs counts from now; 30,000 when 0.
	LeaseMs int64 `json:"lease_ms,omitzero"`
	// Checkpoint is stored when it is not nil.
	Checkpoint api.JSON `json:"checkpoint,omitzero"`
	// SettledAfter says which decisions the checkpoint has taken in; see Suspension.
	SettledAfter *int64 `json:"settled_after,omitempty,string"`
}

// HeartbeatResult is the reply of a heartbeat.
type HeartbeatResult struct {
	ExpiresAtMs int64 `json:"expires_at_ms"`
	// CancelRequested: the run was cancelled or interrupted; stop working on it.
	CancelRequested bool `json:"cancel_requested"`
}

// Heartbeat extends a lease and may store a checkpoint.
func (c *Client) Heartbeat(ctx context.Context, runID string, params HeartbeatParams) (*HeartbeatResult, error) {
	path, err := route("/v1/runs", runID, "heartbeat")
	if err != nil {
		return nil, err
	}
	return post[HeartbeatResult](ctx, c, path, params, always)
}

// SuspendResult is the reply of a suspend.
type SuspendResult struct {
	Run api.RunView `json:"run"`
	// Resume is set when everything was settled at once; the lease goes on.
	Resume *api.Resume `json:"resume,omitempty"`
}

type suspendBody struct {
	Fence string `json:"fence"`
	api.Suspension
}

// Suspend raises requests and waits for them. Unless Hold is set or the result has
// a Resume, the lease is over. The suspension id is made by the client when empty,
// so that the call can be repeated. Errors besides the usual: [ErrIDConflict] when
// a request id was used in this run before, or the suspension id for something
// else; [ErrInvalid].
func (c *Client) Suspend(ctx context.Context, runID, fence string, suspension api.Suspension) (*SuspendResult, error) {
	path, err := route("/v1/runs", runID, "suspend")
	if err != nil {
		return nil, err
	}
	if suspension.SuspensionID == "" {
		if suspension.SuspensionID, err = newID("suspension"); err != nil {
			return nil, err
		}
	}
	return post[SuspendResult](ctx, c, path, suspendBody{fence, suspension}, always)
}

// AwaitSettled returns what was settled on a run after a cursor, in the order of the
// decisions, as soon as there is something, or nothing after the wait, which is at
// most 60 seconds and is rounded up to whole ones. The first cursor is "0", the next
// one Settled.After.
func (c *Client) AwaitSettled(ctx context.Context, runID, fence, after string, wait time.Duration) (*api.Settled, error) {
	path, err := route("/v1/runs", runID, "resume")
	if err != nil {
		return nil, err
	}
	settled := new(api.Settled)
	_, err = c.do(ctx, call{
		method: http.MethodGet, path: path, query: url.Values{"fence": {fence}, "after": {after}},
		prefer: wait, held: wait, out: settled, repeat: always,
	})
	if err != nil {
		return nil, err
	}
	return settled, nil
}

// Withdraw takes back a request that an attached worker no longer needs. The reason
// may be empty. Errors besides the usual: [ErrAlreadyDecided] when somebody else
// settled it.
func (c *Client) Withdraw(ctx context.Context, runID, requestID, fence, reason string) (*api.RunView, error) {
	path, err := route("/v1/runs", runID, "requests", requestID, "withdraw")
	if err != nil {
		return nil, err
	}
	return post[api.RunView](ctx, c, path, struct {
		Fence  string `json:"fence"`
		Reason string `json:"reason,omitempty"`
	}{fence, reason}, always)
}

// AppendEvents adds events to the session's log and returns the id of the last. Each
// is an object with a "type"; "output" also becomes an output record. It is not
// repeated when its reply is lost. Errors besides the usual: [ErrInvalid].
func (c *Client) AppendEvents(ctx context.Context, runID, fence string, events []api.JSON) (lastEventID string, err error) {
	path, err := route("/v1/runs", runID, "events")
	if err != nil {
		return "", err
	}
	result, err := post[struct {
		LastEventID string `json:"last_event_id"`
	}](ctx, c, path, struct {
		Fence  string     `json:"fence"`
		Events []api.JSON `json:"events"`
	}{fence, events}, ifNotTaken)
	if err != nil {
		return "", err
	}
	return result.LastEventID, nil
}

// CompleteRun ends a run with its output, which may be nil.
func (c *Client) CompleteRun(ctx context.Context, runID, fence string, output api.JSON) (*api.RunView, error) {
	path, err := route("/v1/runs", runID, "complete")
	if err != nil {
		return nil, err
	}
	return post[api.RunView](ctx, c, path, struct {
		Fence  string   `json:"fence"`
		Output api.JSON `json:"output,omitzero"`
	}{fence, output}, always)
}

// FailRun ends a run with an error.
func (c *Client) FailRun(ctx context.Context, runID, fence, message string) (*api.RunView, error) {
	path, err := route("/v1/runs", runID, "fail")
	if err != nil {
		return nil, err
	}
	return post[api.RunView](ctx, c, path, struct {
		Fence string `json:"fence"`
		Error string `json:"error"`
	}{fence, message}, always)
}

// ReleaseRun gives a run back unfinished; it is claimable at once. The checkpoint is
// stored when it is not nil.
func (c *Client) ReleaseRun(ctx context.Context, runID, fence string, checkpoint api.JSON) (*api.RunView, error) {
	path, err := route("/v1/runs", runID, "release")
	if err != nil {
		return nil, err
	}
	return post[api.RunView](ctx, c, path, struct {
		Fence      string   `json:"fence"`
		Checkpoint api.JSON `json:"checkpoint,omitzero"`
	}{fence, checkpoint}, always)
}
