package reads

import (
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
	// WithCalls selects the runs of kind [api.KindCall] in addition to the ones of Kind.
	WithCalls bool
}

// LeaseQuery selects runs whose lease is in force.
type LeaseQuery struct {
	Limit int
	// WithoutCalls leaves out the runs of kind [api.KindCall], whose holders claim no other runs.
	WithoutCalls bool
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
	// AnyOf selects only requests within one of these scopes, in addition to the reader's; empty selects
	// all. Only counts use it.
	AnyOf []Scope
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
	// Newest selects the newest, and returns them first. It has no After.
	Newest bool
	Limit  int
	Budget *Budget
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

// DecisionPosition is the keyset cursor of a list of decisions.
type DecisionPosition struct {
	SettledAtMs int64
	Handle      string
}

// ClaimableQuery selects runs that can be claimed now, in the order in which they became claimable.
type ClaimableQuery struct {
	AgentIDs []string // empty for all agents
	Limit    int
}
