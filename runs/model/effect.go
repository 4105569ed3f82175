package model

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Known reports whether the text is the name of a state.
func KnownEffectState(s api.EffectState) bool {
	return s == api.EffectPending || s == api.EffectDone || s == api.EffectFailed
}

// Leases and attempts of effects.
const (
	// EffectLeaseMs is how long the one who carries an effect out has it for himself.
	EffectLeaseMs = 5_000
	// MaxEffectAttempts is how often an effect is tried before it is given up.
	MaxEffectAttempts = 20
	// The pause between two attempts doubles from the first one on, up to the longest.
	firstEffectPauseMs   = int64(1_000)
	longestEffectPauseMs = int64(300_000)
)

// Effect is what a committed decision still owes (design.md §2). It is written with
// the decision and carried out afterwards, at least once, by whichever replica is
// alive; what it does is idempotent, so that it happens once.
type Effect struct {
	// SessionID is the session of the decision, under whose lock the effect changes.
	SessionID string
	// EffectID is derived from the kind and from what was decided; it is unique
	// everywhere.
	EffectID string
	// RunID is the run of the decision.
	RunID string
	Kind  api.EffectKind
	State api.EffectState
	// TargetSessionID is the session in which the effect takes place.
	TargetSessionID string
	Payload         api.JSON
	CreatedAtMs     int64
	// DueAtMs is when it may be tried (again): it holds both the lease of the one who
	// is at it and the pause after a failure. 0 when nothing is owed any more.
	DueAtMs int64
	// Attempts counts how often it was begun, which is also the fence of the one who
	// began it last.
	Attempts     int64
	LastError    string // of the last attempt that failed; empty once it is done
	FinishedAtMs int64  // when it was done or given up; 0 before
}

func EffectID(kind api.EffectKind, id string) string { return string(kind) + ":" + id }

// EffectKindOf returns the kind that an effect's id is derived from.
func EffectKindOf(effectID string) api.EffectKind {
	kind, _, _ := strings.Cut(effectID, ":")
	return api.EffectKind(kind)
}

// CarriedOut says where effects of a kind are carried out.
type CarriedOut int

// Where effects are carried out.
const (
	// CarriedOutNowhere: this program does not know the kind.
	CarriedOutNowhere CarriedOut = iota
	// CarriedOutInside: by the effect's Command, in its target session.
	CarriedOutInside
	// CarriedOutOutside: by whoever is shown the effect's Payload. It has no command.
	CarriedOutOutside
)

// CarriedOut says where effects of the kind are carried out.
func CarriedOutWhere(k api.EffectKind) CarriedOut {
	switch k {
	case api.EffectOpenClarification, api.EffectDeliverAnswer:
		return CarriedOutInside
	case api.EffectReviewApproval:
		return CarriedOutOutside
	}
	return CarriedOutNowhere
}

// backoff is the pause after an attempt failed, in milliseconds.
func (e *Effect) BackoffMs() int64 {
	return min(firstEffectPauseMs<<min(max(e.Attempts-1, 0), MaxEffectAttempts), longestEffectPauseMs)
}
