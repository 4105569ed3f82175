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
	// SessionID is made by the service when empty. The session is made when it is
	// not there.
	SessionID string `json:"session_id,omitempty"`
	// RunID makes the call idempotent by itself; it is made by the service when
	// empty.
	RunID string      `json:"run_id,omitempty"`
	Kind  api.RunKind `json:"kind,omitempty"`
	// Input is any value with a JSON form; give JSON text as [JSON].
	Input   any    `json:"input"`
	AgentID string `json:"agent_id,omitempty"`
	// Metadata is any value whose JSON is an object.
	Metadata     any    `json:"metadata,omitzero"`
	SourcePlugin string `json:"source_plugin,omitempty"`
	SourceKind   string `json:"source_kind,omitempty"`
	ActorID      string `json:"actor_id,omitempty"`
	// Claim takes the run's lease in the same transaction.
	Claim *api.ClaimOptions `json:"claim,omitempty"`
	// Suspend raises requests in the same transaction.
	Suspend *api.Suspension `json:"suspend,omitempty"`
	// IdempotencyKey is made by the client when it and RunID are empty.
	IdempotencyKey string `json:"-"`
}

type createRunBody struct {
	CreateRunParams
	Key string `json:"idempotency_key,omitempty"`
}

func (p CreateRunParams) body(k key) createRunBody {
	return createRunBody{CreateRunParams: p, Key: k.member}
}

// key makes an idempotency key where nothing else lets the call be repeated.
func (p CreateRunParams) key() (key, error) {
	if p.IdempotencyKey == "" && p.RunID != "" {
		return key{}, nil
	}
	return newKey(p.IdempotencyKey)
}

// inSession refuses what the session routes do not take.
func (p CreateRunParams) inSession() error {
	if p.SessionID != "" || p.Claim != nil || p.Suspend != nil {
		return fmt.Errorf("%w: session_id, claim and suspend belong to CreateRun", ErrInvalid)
	}
	return nil
}

// CreatedRun is a new run, or the one that was there.
type CreatedRun struct {
	api.RunView
	// Claim is set when the params asked for one and the run does not wait
	// unattached. In a repeat it is nil unless the run still has the lease that the
	// call took the first time; whoever has lost it claims the run again when its
	// lease has lapsed.
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
	return c.createRun(ctx, "/v1/runs", params)
}

// CreateSessionRun makes a run by the session's route. Claim, Suspend and SessionID
// of the params must be empty. Errors: as of [Client.CreateRun].
func (c *Client) CreateSessionRun(ctx context.Context, sessionID string, params CreateRunParams) (*CreatedRun, error) {
	if err := params.inSession(); err != nil {
		return nil, err
	}
	path, err := route("/v1/sessions", sessionID, "runs")
	if err != nil {
		return nil, err
	}
	return c.createRun(ctx, path, params)
}

func (c *Client) createRun(ctx context.Context, path string, params CreateRunParams) (*CreatedRun, error) {
	k, err := params.key()
	if err != nil {
		return nil, err
	}
	var text jsontext.Value
	r, err := c.do(ctx, call{
		method: http.MethodPost, path: path, body: params.body(k), key: k,
		out: &text, repeat: always,
	})
	if err != nil {
		return nil, err
	}
	created := &CreatedRun{Replayed: r.replayed, Existing: r.status == http.StatusOK}
	// A Claim holds the run as a member, a RunView is one.
	var claim struct {
		Run jsontext.Value `json:"run"`
	}
	if params.Claim != nil {
		if err := json.Unmarshal(text, &claim); err != nil {
			return nil, fmt.Errorf("decode reply of %s: %w", path, err)
		}
	}
	if claim.Run == nil {
		err = json.Unmarshal(text, &created.RunView)
	} else {
		created.Claim = new(api.Claim)
		err = json.Unmarshal(text, created.Claim)
		created.RunView = created.Claim.Run
	}
	if err != nil {
		return nil, fmt.Errorf("decode reply of %s: %w", path, err)
	}
	if created.Claim != nil && !stillHeld(created.Claim) {
		created.Claim = nil
	}
	return created, nil
}

// stillHeld reports whether the lease that a claim shows is the one that its run
// has now. A repeated call shows the lease that it took the first time, which may
// be over, or another worker's by now.
func stillHeld(claim *api.Claim) bool {
	held := claim.Run.Lease
	return held != nil && held.WorkerID == claim.Lease.WorkerID && held.ExpiresAtMs == claim.Lease.ExpiresAtMs
}

// RunResult is the run after a call, and whether that call was a repeat.
type RunResult struct {
	api.RunView
	// Replayed: the idempotency key had been used for the same call.
	Replayed bool `json:"-"`
}

// GetRun returns a run. Errors: [ErrNotFound].
func (c *Client) GetRun(ctx context.Context, runID string) (*api.RunView, error) {
	path, err := route("/v1/runs", runID)
	if err != nil {
		return nil, err
	}
	return get[api.RunView](ctx, c, path, nil)
}

// Until says what a wait for a run waits for.
type Until string

// What [Client.AwaitRun] and [Client.WaitRun] wait for.
const (
	// UntilDecided: the run does not wait for a person (any more).
	UntilDecided Until = "decided"
	// UntilTerminal: the run is over.
	UntilTerminal Until = "terminal"
)

// reached reports whether a run is where the wait ends.
func (u Until) reached(status api.Status) bool {
	if u == UntilTerminal {
		return terminal(status)
	}
	return !waiting(status)
}

// AwaitRun returns a run as soon as it is where until says, or as it is after the
// wait, which is at most 60 seconds and is rounded up to whole ones. Errors:
// [ErrNotFound].
func (c *Client) AwaitRun(ctx context.Context, runID string, until Until, wait time.Duration) (*api.RunView, error) {
	path, err := route("/v1/runs", runID)
	if err != nil {
		return nil, err
	}
	run := new(api.RunView)
	_, err = c.do(ctx, call{
		method: http.MethodGet, path: path, query: url.Values{"until": {string(until)}},
		prefer: wait, held: wait, out: run, repeat: always,
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}

// WaitRun returns a run when it is where until says, however long that takes. It
// rides out an unavailable service. It ends early with the context's error, or with
// any other refusal, such as [ErrNotFound].
func (c *Client) WaitRun(ctx context.Context, runID string, until Until) (*api.RunView, error) {
	pause := c.retry.pauses()
	for {
		asked := time.Now()
		run, err := c.AwaitRun(ctx, runID, until, maxPrefer)
		switch {
		case err == nil && until.reached(run.Status):
			return run, nil
		case err == nil && time.Since(asked) > maxPrefer/2:
			pause.reset()
		case err == nil:
			if err := pause.sleep(ctx, errNotHeld); err != nil {
				return nil, err
			}
		case ctx.Err() != nil || !passing(err):
			return nil, err
		default:
			if err := pause.sleep(ctx, err); err != nil {
				return nil, err
			}
		}
	}
}

// RunListParams choose runs. Empty members choose all.
type RunListParams struct {
	SessionID string
	AgentID   string
	Status    api.Status
	Kind      api.RunKind
	// PriorityActive puts the runs that are not over before the others.
	PriorityActive bool
	PageParams
}

// ListRuns returns one page of runs, oldest first.
func (c *Client) ListRuns(ctx context.Context, params RunListParams) (*Page[api.RunView], error) {
	query := params.query()
	set(query, "session_id", params.SessionID)
	set(query, "agent_id", params.AgentID)
	set(query, "status", string(params.Status))
	set(query, "kind", string(params.Kind))
	if params.PriorityActive {
		query.Set("priority_active", "true")
	}
	return get[Page[api.RunView]](ctx, c, "/v1/runs", query)
}

// AllRuns walks all pages of [Client.ListRuns]. It ends after the first error.
func (c *Client) AllRuns(ctx context.Context, params RunListParams) iter.Seq2[api.RunView, error] {
	return walk(params.PageParams, func(page PageParams) (*Page[api.RunView], error) {
		params.PageParams = page
		return c.ListRuns(ctx, params)
	})
}

// CancelRun cancels a run; one that is over stays as it is, and a parent clarification
// is completed, declined. The reason may be empty. Errors: [ErrNotFound].
func (c *Client) CancelRun(ctx context.Context, runID, reason string) (*api.RunView, error) {
	path, err := route("/v1/runs", runID, "cancel")
	if err != nil {
		return nil, err
	}
	return post[api.RunView](ctx, c, path, reasonBody{reason}, always)
}

// terminal reports whether a run in this status is over.
func terminal(status api.Status) bool {
	return status == api.StatusCompleted || status == api.StatusFailed || status == api.StatusInterrupted || status == api.StatusCancelled
}

// waiting reports whether a run in this status waits for a person.
func waiting(status api.Status) bool {
	return status == api.StatusWaitingForApproval || status == api.StatusWaitingForUserQuestion
}
