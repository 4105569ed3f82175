package runs

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Budget limits the bytes of the rows that a query returns. The first row is always returned.
type Budget struct {
	MaxBytes int
	// Cut is set by the reader if it left out rows within the Limit: the first ones with
	// RunQuery.Last, otherwise the last ones.
	Cut bool
}

// SessionQuery selects sessions, in the order of session_id. An empty member of a query selects
// everything. Limit is the maximum number of rows; 0 returns none. Budget may be nil. After is the
// last row of the previous page.
type SessionQuery struct {
	Status  api.Status // of the active run, or api.SessionIdle or api.SessionEnded
	AgentID string
	After   string // a session_id
	Limit   int
	Budget  *Budget
}

// RunQuery selects runs, in the order of (submitted_at_ms, run_id).
type RunQuery struct {
	SessionID string
	AgentID   string
	Status    api.Status
	Kind      api.RunKind
	// PriorityActive puts runs that are not terminal before the others; both groups keep the list's
	// order.
	PriorityActive bool
	// Last selects the last Limit rows instead of the first, in the same order.
	Last   bool
	After  *RunPosition
	Limit  int
	Budget *Budget
}

// RunPosition is the keyset cursor of a list of runs.
type RunPosition struct {
	// Over says that the run is terminal. With PriorityActive it is the first sort key, false first.
	Over          bool
	SubmittedAtMs int64
	RunID         string
}

// RequestQuery selects open requests of one kind, in the order of (session_id, run_id,
// request_id).
type RequestQuery struct {
	Kind      model.RequestKind
	SessionID string
	// Below also selects requests of the descendants of SessionID: its children, their children, and so
	// on, up to MaxSessionsBelow sessions that have not ended.
	Below  bool
	RunID  string // empty for all runs
	After  *RequestPosition
	Limit  int
	Budget *Budget
	// Oldest selects only the request of the session that was raised first. The other bodies are not
	// read, and After, Limit and Budget are ignored.
	Oldest bool
	// InputDigest selects only approvals whose stored form has this digest, among the first
	// MaxSearchedRequests open ones. Check the rows: a nested member can have the same text.
	InputDigest string
	// OpenAtMs excludes requests that are overdue at this time and not yet swept; 0 excludes none.
	OpenAtMs int64
	// EachQuestion counts unanswered questions instead of requests. Only counts use it.
	EachQuestion bool
}

// RequestPosition is the keyset cursor of a list of requests.
type RequestPosition struct {
	SessionID, RunID, RequestID string
}

// EffectQuery selects effects, in the order of (created_at_ms, effect_id).
type EffectQuery struct {
	State     api.EffectState
	SessionID string
	RunID     string // a run of the session; empty for all
	WebhookID string // the webhook that they post to; empty for effects of every kind
	After     *EffectPosition
	Limit     int
	Budget    *Budget
}

// EffectPosition is the keyset cursor of a list of effects.
type EffectPosition struct {
	CreatedAtMs int64
	EffectID    string
}

// EventQuery selects events of a session or of a run, in the order of their numbers.
type EventQuery struct {
	// Exactly one of SessionID and RunID is set.
	SessionID, RunID string
	// Outputs selects only the run's output records.
	Outputs bool
	// AboutRequests selects only the events that raise, acknowledge or settle a request (see
	// [model.AboutRequest]).
	AboutRequests bool
	// After is a session-wide event number, even for a run's events; 0 starts at the oldest kept
	// event. A number before the kept events is an error, unless Kept accepts the gap.
	After int64
	Kept  bool
	Limit int
	// MaxBytes limits the total size of the bodies; the first event is always returned.
	MaxBytes int
}

// RuleQuery selects rules, in the order of (created_at_ms, rule_id).
type RuleQuery struct {
	SessionID string // only rules of this session; empty for all rules
	After     *RulePosition
	Limit     int
	Budget    *Budget
}

// RulePosition is the keyset cursor of a list of rules.
type RulePosition struct {
	CreatedAtMs int64
	RuleID      string
}

// DecisionQuery selects settled requests, newest first: in descending order of (settled_at_ms,
// handle).
type DecisionQuery struct {
	SessionID string
	AgentID   string
	// ResolvedBy selects decisions by this actor.
	ResolvedBy string
	Outcome    api.Outcome
	// SinceMs excludes requests that were settled earlier.
	SinceMs int64
	After   *DecisionPosition
	Limit   int
	Budget  *Budget
}

// ClaimableQuery selects runs that can be claimed now, in the order in which they became claimable.
type ClaimableQuery struct {
	AgentIDs []string // empty for all agents
	Limit    int
}

// DecisionPosition is the keyset cursor of a list of decisions.
type DecisionPosition struct {
	SettledAtMs int64
	Handle      string
}

// Owners are the principals that created a run and that claimed it last.
type Owners struct {
	Principal, HolderPrincipal string
}

// Holding is what a run's row says of its worker.
type Holding struct {
	// Attached says that the newest holder keeps its lease while the run waits.
	Attached bool
	// Claims counts the claims. InOneStep says that the run was created and claimed at once.
	Claims    int64
	InOneStep bool
}

// FinishedRun is a finished run. Its time and id are a list position; the zero value is before the
// first.
type FinishedRun struct {
	FinishedAtMs int64
	RunID        string
	SessionID    string
}

// Trimmed counts the deleted events and runs of a session, and says whether the session was deleted.
type Trimmed struct {
	Events, Runs int
	Session      bool
	// More says that the limit was reached.
	More bool
}

// RunKey is the data key of a run that has sensitive values.
type RunKey struct {
	RunID, SessionID string
	DataKey          string // encrypted
}

// SealedRequest is a request with its encrypted values.
type SealedRequest struct {
	SessionID, RunID, RequestID string
	// Sealed is a [model.SealedValues] with a callback, or nil.
	Sealed api.JSON
}

// ValueReader is the part of a [Reader] that CheckValues uses.
type ValueReader interface {
	// Run returns a run with its open requests. Errors: run_not_found.
	Run(ctx context.Context, runID string) (*model.RunRecord, error)
	// PendingRequests returns open requests of one kind; see [Reader].
	PendingRequests(ctx context.Context, q RequestQuery) ([]model.PendingRequest, error)
	// SessionHead returns the row of a session. Errors: session_not_found.
	SessionHead(ctx context.Context, sessionID string) (*model.Session, error)
}
