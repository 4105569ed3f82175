package model

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// KnownEffectState reports whether s is a state of effects.
func KnownEffectState(s api.EffectState) bool {
	return s == api.EffectPending || s == api.EffectDone || s == api.EffectFailed
}

// Leases, attempts and pauses of effects (docs/spec/v1.md#effects).
const (
	// EffectLeaseMs is how long a claimed effect is hidden from other claims.
	EffectLeaseMs = 5_000
	// MaxEffectAttempts bounds the attempts. When the last one fails, so does the effect.
	MaxEffectAttempts = 20
	// The delay after a failed attempt doubles from the first to the longest, in ms.
	firstEffectPauseMs   = int64(1_000)
	longestEffectPauseMs = int64(300_000)
)

// Effect is a row of the outbox: work that a decision causes outside its session
// (docs/spec/v1.md#effects). It is written with the decision, and any replica performs it
// afterwards, at least once. The work is idempotent.
type Effect struct {
	// SessionID is the session of the decision. Its lock guards the row.
	SessionID string
	// EffectID is made by [EffectID] from the decided object. It is unique among all effects, so
	// a decision writes an effect once.
	EffectID string
	// RunID is the run of the decision.
	RunID string
	Kind  api.EffectKind
	State api.EffectState
	// TargetSessionID is the session that the work changes.
	TargetSessionID string
	Payload         api.JSON
	CreatedAtMs     int64
	// DueAtMs is when the next attempt may start: the end of the current lease, or of the delay
	// after a failure. 0 when it is done or failed.
	DueAtMs int64
	// WebhookID is the endpoint that receives the effect; empty for other kinds.
	WebhookID string
	// Attempts counts the claims. The newest number is the fence: an older attempt cannot report
	// a failure.
	Attempts     int64
	LastError    string // of the last failed attempt; empty once it is done
	FinishedAtMs int64  // when it was done or failed; 0 before
}

// EffectID returns the id of an effect from its kind and the id of the decided run, or the
// handle of the decided request.
func EffectID(kind api.EffectKind, id string) string { return string(kind) + ":" + id }

// EffectKindOf returns the kind in an id made by [EffectID].
func EffectKindOf(effectID string) api.EffectKind {
	kind, _, _ := strings.Cut(effectID, ":")
	return api.EffectKind(kind)
}

// CarriedOut says where effects of a kind are performed.
type CarriedOut int

// The places where effects are performed.
const (
	// CarriedOutNowhere is the place of a kind that this version does not know.
	CarriedOutNowhere CarriedOut = iota
	// CarriedOutInside is the effect's target session, where a command does the work.
	CarriedOutInside
	// CarriedOutLater is the effect's own session, at a later time. A command checks whether it
	// is time, and otherwise sets the next check.
	CarriedOutLater
	// CarriedOutOutside is an external system that receives the effect's Payload. There is no
	// command.
	CarriedOutOutside
	// CarriedOutDelivered is a webhook. Its own worker finds the pending deliveries.
	CarriedOutDelivered
)

// CarriedOutWhere returns where effects of a kind are performed.
func CarriedOutWhere(k api.EffectKind) CarriedOut {
	switch k {
	case api.EffectOpenClarification, api.EffectDeliverAnswer, api.EffectDrainSession:
		return CarriedOutInside
	case api.EffectCancelAbandoned, api.EffectAdvanceRequest:
		return CarriedOutLater
	case api.EffectReviewApproval:
		return CarriedOutOutside
	case api.EffectDeliverWebhook, api.EffectNotify:
		return CarriedOutDelivered
	}
	return CarriedOutNowhere
}

// LeaseMs returns how long a claimed effect is hidden from other claims, in ms.
func (e *Effect) LeaseMs() int64 {
	if e.WebhookID != "" {
		return WebhookLeaseMs
	}
	return EffectLeaseMs
}

// UndoAttempt uncounts the attempt that claimed the effect. An effect that nobody claimed has none.
func (e *Effect) UndoAttempt() { e.Attempts = max(e.Attempts-1, 0) }

// MaxAttempts bounds the attempts. When the last one fails, so does the effect.
func (e *Effect) MaxAttempts() int64 {
	if e.WebhookID != "" {
		return MaxWebhookAttempts
	}
	return MaxEffectAttempts
}

// BackoffMs returns the delay after a failed attempt, in ms: 1 s, doubled with each attempt, at
// most 5 min. Webhook deliveries have their own delays.
func (e *Effect) BackoffMs() int64 {
	if e.WebhookID != "" {
		return e.webhookPauseMs()
	}
	return min(firstEffectPauseMs<<min(max(e.Attempts-1, 0), MaxEffectAttempts), longestEffectPauseMs)
}
