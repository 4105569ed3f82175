package runs

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Budget bounds the bytes of the rows that a query returns. The first row is returned whatever
// its size.
type Budget struct {
	MaxBytes int
	// Cut is set by the reader: rows within the Limit were left out. With RunQuery.Last those
	// are the first ones, else the last ones.
	Cut bool
}

// SessionQuery selects sessions, in the order of session_id. Empty members of a query select
// everything. Limit is how many rows are returned at most; none for 0. Budget may be nil. After is
// the last row of the page before.
type SessionQuery struct {
	Status  api.Status // of the active run, or api.SessionIdle or api.SessionEnded
	AgentID string
	Scope   Scope
	After   string // a session_id
	Limit   int
	Budget  *Budget
}

// RunQuery selects runs, in the order of (submitted_at_ms, run_id).
type RunQuery struct {
	SessionID string
	AgentID   string
	Scope     Scope
	Status    api.Status
	Kind      api.RunKind
	// PriorityActive puts the runs that are not terminal before the others; each part is in the
	// list's order.
	PriorityActive bool
	// Last selects the last Limit rows instead of the first, in the same order.
	Last   bool
	After  *RunPosition
	Limit  int
	Budget *Budget
}

// RunPosition is the keyset cursor of a list of runs.
type RunPosition struct {
	// Over says that the run is terminal. It is the first sort key when PriorityActive is set:
	// false sorts first.
	Over          bool
	SubmittedAtMs int64
	RunID         string
}

// RequestQuery selects open requests of one kind, in the order of (session_id, run_id,
// request_id).
type RequestQuery struct {
	Kind      model.RequestKind
	SessionID string
	// Below also selects the requests of the sessions below SessionID: its children, their children,
	// and so on, up to MaxSessionsBelow that have not ended.
	Below  bool
	RunID  string // only of this run; empty for all
	Scope  Scope
	After  *RequestPosition
	Limit  int
	Budget *Budget
	// Oldest selects the one request of the session that was raised first. The bodies of the others
	// are not read, and After, Limit and Budget say nothing.
	Oldest bool
	// OpenAtMs leaves out what is due at this time and waits for the sweep; 0 leaves out nothing.
	OpenAtMs int64
	// EachQuestion counts, instead of requests, the questions that they ask and that have no answer
	// yet. It says nothing where no count is asked for.
	EachQuestion bool
}

// MaxSessionsBelow bounds the sessions of a query with Below, the named one included.
const MaxSessionsBelow = 1_000

// RequestPosition is the keyset cursor of a list of requests.
type RequestPosition struct {
	SessionID, RunID, RequestID string
}

// EffectQuery selects effects, in the order of (created_at_ms, effect_id).
type EffectQuery struct {
	State     api.EffectState
	SessionID string
	RunID     string // of this run of the session; all when empty
	WebhookID string // those that post to it; of every kind when empty
	Scope     Scope
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
	// One of SessionID and RunID is given.
	SessionID, RunID string
	// Outputs selects the output records of the run alone.
	Outputs bool
	// AboutRequests selects the events by which a request is raised or settled (see
	// [model.AboutRequest]). Others are not read.
	AboutRequests bool
	// After is a number in the session, also for the events of a run; 0 for all that is kept. One
	// before what is kept is an error, unless Kept says that what is kept is enough.
	After int64
	Kept  bool
	Limit int
	// MaxBytes bounds the bodies together; the first event is returned whatever its size.
	MaxBytes int
}

// RuleQuery selects rules, in the order of (created_at_ms, rule_id).
type RuleQuery struct {
	SessionID string // only rules that are bound to it; empty for all rules
	// Scope, if it is bounded, leaves out the rules of all sessions, too.
	Scope  Scope
	After  *RulePosition
	Limit  int
	Budget *Budget
}

// RulePosition is the keyset cursor of a list of rules.
type RulePosition struct {
	CreatedAtMs int64
	RuleID      string
}

// DecisionQuery selects settled requests, newest first: in the falling order of (settled_at_ms,
// handle).
type DecisionQuery struct {
	SessionID string
	AgentID   string
	Scope     Scope
	// ResolvedBy is who decided.
	ResolvedBy string
	Outcome    api.Outcome
	// SinceMs leaves out what was settled before that moment.
	SinceMs int64
	After   *DecisionPosition
	Limit   int
	Budget  *Budget
}

// ClaimableQuery selects runs that may be claimed now, in the order in which they became claimable.
type ClaimableQuery struct {
	AgentIDs []string // all agents when empty
	Scope    Scope
	Limit    int
}

// DecisionPosition is the keyset cursor of a list of decisions.
type DecisionPosition struct {
	SettledAtMs int64
	Handle      string
}

// Owners are the principals whose a run is: the one that made it, and the one that claimed it last.
type Owners struct {
	Principal, HolderPrincipal string
}

// FinishedRun is a run that is over. Its time and id are a position among all of them; the zero
// value is before the first.
type FinishedRun struct {
	FinishedAtMs int64
	RunID        string
	SessionID    string
}

// Trimmed says what was deleted of a session: so many events and runs, and the session itself.
type Trimmed struct {
	Events, Runs int
	Session      bool
	// More: the limit was reached.
	More bool
}

// RunKey is the data key of a run that has sensitive values.
type RunKey struct {
	RunID, SessionID string
	DataKey          string // encrypted
}

// SealedRequest is a request with what is sealed of it.
type SealedRequest struct {
	SessionID, RunID, RequestID string
	// Sealed is a [model.SealedValues] with a callback, nil for none.
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
