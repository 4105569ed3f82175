package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// SessionQuery asks for sessions in the order of session_id.
type SessionQuery struct {
	Status  api.Status // empty for all
	AgentID string     // empty for all
	After   string     // session_id
	Limit   int
}

// RunQuery asks for runs in the order of (submitted_at_ms, run_id).
type RunQuery struct {
	SessionID string
	AgentID   string
	Status    api.Status
	Kind      api.RunKind
	// PriorityActive puts the runs that are not over before the others, each part in
	// the list's order.
	PriorityActive bool
	// Last returns the last Limit rows instead of the first, still in the list's
	// order.
	Last  bool
	After *RunPosition
	Limit int
}

// RunPosition is the keyset cursor of a list of runs.
type RunPosition struct {
	// Over is the first key when PriorityActive is set: false goes first.
	Over          bool
	SubmittedAtMs int64
	RunID         string
}

// RequestQuery asks for open requests of one kind.
type RequestQuery struct {
	Kind      model.RequestKind
	SessionID string // empty for all
	After     *RequestPosition
	Limit     int
}

// RequestPosition is the keyset cursor of a list of requests.
type RequestPosition struct {
	SessionID, RunID, RequestID string
}

// EffectQuery asks for effects in the order of (created_at_ms, effect_id).
type EffectQuery struct {
	State     api.EffectState // empty for all
	SessionID string          // empty for all
	After     *EffectPosition
	Limit     int
}

// EffectPosition is the keyset cursor of a list of effects.
type EffectPosition struct {
	CreatedAtMs int64
	EffectID    string
}

// RuleQuery asks for rules in the order of (created_at_ms, rule_id).
type RuleQuery struct {
	SessionID string // only those bound to it; empty for all
	After     *RulePosition
	Limit     int
}

// RulePosition is the keyset cursor of a list of rules.
type RulePosition struct {
	CreatedAtMs int64
	RuleID      string
}
