package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// CreateRunParams describe a run to make.
type CreateRunParams struct {
	// SessionID is made by the service when empty. The session is made when it does not
	// exist.
	SessionID string
	// RunID makes the call idempotent by itself; it is made by the service when empty.
	RunID string
	Kind  api.RunKind
	// Input is any value with a JSON form; give JSON text as [api.JSON]. nil is null.
	Input   any
	AgentID string
	// Metadata is any value whose JSON is an object.
	Metadata     any
	SourcePlugin string
	SourceKind   string
	ActorID      string
	// Claim takes the run's lease in the same transaction.
	Claim *api.ClaimOptions
	// Suspend raises requests in the same transaction.
	Suspend *api.Suspension
	// IdempotencyKey is made by the client when it and RunID are empty.
	IdempotencyKey string
}

// body returns the body of the call, and a key where nothing else lets it be repeated.
func (p CreateRunParams) body() (key, api.CreateRunBody, error) {
	var k key
	if p.IdempotencyKey != "" || p.RunID == "" {
		k = newKey(p.IdempotencyKey)
	}
	metadata, err := encodeMember("metadata", p.Metadata)
	if err != nil {
		return key{}, api.CreateRunBody{}, err
	}
	input, err := encodeMember("input", p.Input)
	if err != nil {
		return key{}, api.CreateRunBody{}, err
	}
	return k, api.CreateRunBody{
		SessionRunBody: api.SessionRunBody{
			IdempotencyKey: k.inBody, RunID: optional(p.RunID), Kind: p.Kind, Input: input, AgentID: optional(p.AgentID),
			Metadata: metadata, SourcePlugin: p.SourcePlugin, SourceKind: p.SourceKind, ActorID: p.ActorID,
		},
		SessionID: optional(p.SessionID), Claim: p.Claim, Suspend: p.Suspend,
	}, nil
}

// inSession refuses members that the session routes do not have.
func (p CreateRunParams) inSession() error {
	if p.SessionID != "" || p.Claim != nil || p.Suspend != nil {
		return fmt.Errorf("%w: session_id, claim and suspend belong to CreateRun", ErrInvalid)
	}
	return nil
}

// CreatedRun is a new run, or the one with the same id or key.
type CreatedRun struct {
	api.RunView
	// Claim is set when the params asked for one and the run does not wait
	// unattached. In a repeat it is nil unless the run still has the lease that the
	// call took the first time; a worker that has lost it claims the run again when
	// its lease has lapsed.
	Claim *api.Claim `json:"-"`
	// Replayed: the idempotency key had been used for the same call.
	Replayed bool `json:"-"`
	// Existing: a run with this RunID and payload was there.
	Existing bool `json:"-"`
}

// CreateRun makes a run. Errors: [ErrSessionEnded]; [ErrRunNotClaimable] when
// Claim is set and another run of the session is active or queued; [ErrIDConflict],
// [ErrIdempotencyConflict], [ErrInvalid].
func (c *Client) CreateRun(ctx context.Context, params CreateRunParams) (*CreatedRun, error) {
	return c.createRun(ctx, at("/v1/runs"), params)
}

// CreateSessionRun makes a run by the session's route. Claim, Suspend and SessionID
// of the params must be empty. Errors: as of [Client.CreateRun].
func (c *Client) CreateSessionRun(ctx context.Context, sessionID string, params CreateRunParams) (*CreatedRun, error) {
	if err := params.inSession(); err != nil {
		return nil, err
	}
	return c.createRun(ctx, at("/v1/sessions", sessionID, "runs"), params)
}

func (c *Client) createRun(ctx context.Context, to path, params CreateRunParams) (*CreatedRun, error) {
	k, body, err := params.body()
	if err != nil {
		return nil, err
	}
	var text jsontext.Value
	r, err := c.do(ctx, call{method: http.MethodPost, path: to, body: body, key: k, out: &text, repeat: always})
	if err != nil {
		return nil, err
	}
	created := &CreatedRun{Replayed: r.replayed, Existing: r.status == http.StatusOK}
	// A Claim holds the run as a member, a RunView is one.
	var claim struct {
		Run jsontext.Value `json:"run"`
	}
	if params.Claim != nil {
		err = json.Unmarshal(text, &claim)
	}
	switch {
	case err != nil:
	case claim.Run == nil:
		err = json.Unmarshal(text, &created.RunView)
	default:
		created.Claim = new(api.Claim)
		err = json.Unmarshal(text, created.Claim)
		created.RunView = created.Claim.Run
	}
	if err != nil {
		return nil, fmt.Errorf("decode reply of %s: %w", to.text, err)
	}
	if created.Claim != nil && !stillHeld(created.Claim) {
		created.Claim = nil
	}
	return created, nil
}

// stillHeld reports whether the lease that a claim shows is the one that its run
// has now. A repeated call shows the lease that it took the first time, which may
// have ended, or belong to another worker by now.
func stillHeld(claim *api.Claim) bool {
	held := claim.Run.Lease
	return held != nil && held.WorkerID == claim.Lease.WorkerID && held.ExpiresAtMs == claim.Lease.ExpiresAtMs
}

// GetRun returns a run. Errors: [ErrNotFound].
func (c *Client) GetRun(ctx context.Context, runID string) (*api.RunView, error) {
	return get[api.RunView](ctx, c, at("/v1/runs", runID), nil)
}

// AllOutputs walks the output records of a run, oldest first, up to the newest: a view shows
// only the newest of them. It ends after the first error. Errors: [ErrNotFound].
func (c *Client) AllOutputs(ctx context.Context, runID string) iter.Seq2[api.OutputEntry, error] {
	return func(yield func(api.OutputEntry, error) bool) {
		query := url.Values{}
		for {
			page, err := get[api.OutputPage](ctx, c, at("/v1/runs", runID, "outputs"), query)
			if err != nil {
				yield(api.OutputEntry{}, err)
				return
			}
			for _, entry := range page.Items {
				if !yield(entry, nil) {
					return
				}
			}
			if page.NextAfter == nil || *page.NextAfter == query.Get("after") {
				return
			}
			query.Set("after", *page.NextAfter)
		}
	}
}

// Until says what a wait for a run waits for.
type Until string

// What [Client.AwaitRun] and [Client.WaitRun] wait for.
const (
	// UntilDecided: the run does not wait for a person (any more). A run that has not
	// begun to wait counts as decided.
	UntilDecided Until = "decided"
	// UntilTerminal: the run is terminal.
	UntilTerminal Until = "terminal"
)

// reached reports whether a run is where the wait ends.
func (u Until) reached(status api.Status) bool {
	if u == UntilTerminal {
		return terminal(status)
	}
	return status != api.StatusWaitingForApproval && status != api.StatusWaitingForUserQuestion
}

// terminal reports whether a run in this status is over.
func terminal(status api.Status) bool {
	return status == api.StatusCompleted || status == api.StatusFailed || status == api.StatusInterrupted || status == api.StatusCancelled
}

// AwaitRun returns a run as soon as it is where until says, or as it is after the
// wait, which is at most 60 seconds and is rounded up to whole ones. Errors:
// [ErrNotFound].
func (c *Client) AwaitRun(ctx context.Context, runID string, until Until, wait time.Duration) (*api.RunView, error) {
	return hold[api.RunView](ctx, c, at("/v1/runs", runID), url.Values{"until": {string(until)}}, wait)
}

// WaitRun returns a run when it is where until says, however long that takes. It
// outlasts an unavailable service. It ends early with the context's error, or with
// any other refusal, such as [ErrNotFound].
func (c *Client) WaitRun(ctx context.Context, runID string, until Until) (*api.RunView, error) {
	pause := c.retry.pauses()
	for {
		asked := time.Now()
		run, err := c.AwaitRun(ctx, runID, until, maxPrefer)
		switch {
		case err == nil && until.reached(run.Status):
			return run, nil
		case err == nil:
			err = pause.afterHeld(ctx, asked, maxPrefer)
		case ctx.Err() == nil && transient(err):
			err = pause.sleep(ctx, err)
		}
		if err != nil {
			return nil, err
		}
	}
}

// CancelRun cancels a run; a terminal one stays as it is, and a parent clarification
// is completed, declined. The reason may be empty. Errors: [ErrNotFound].
func (c *Client) CancelRun(ctx context.Context, runID, reason string) (*api.RunView, error) {
	return post[api.RunView](ctx, c, at("/v1/runs", runID, "cancel"), api.ReasonBody{Reason: reason}, always)
}

// RetryRun makes a failed run claimable again, with its input, its checkpoint and its last
// decisions. Errors: [ErrNotFound]; [ErrRunState] when it is not failed; [ErrSessionBusy] while
// another run of its session is active; [ErrSessionEnded].
func (c *Client) RetryRun(ctx context.Context, runID string) (*api.RunView, error) {
	k := newKey("")
	out := new(api.RunView)
	_, err := c.do(ctx, call{
		method: http.MethodPost, path: at("/v1/runs", runID, "retry"), key: k, body: api.RetryRunBody{}, out: out, repeat: always,
	})
	return orNil(out, err)
}
