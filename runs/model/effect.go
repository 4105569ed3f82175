package model

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// KnownEffectState reports whether s is one of the states of effects.
func KnownEffectState(s api.EffectState) bool {
	return s == api.EffectPending || s == api.EffectDone || s == api.EffectFailed
}

// Leases, attempts and pauses of effects (docs/spec/v1.md#effects).
const (
	// EffectLeaseMs is how long a claimed effect is not due for others.
	EffectLeaseMs = 5_000
	// MaxEffectAttempts bounds the attempts: the effect fails with the last one.
	MaxEffectAttempts = 20
	// The pause after a failed attempt doubles from the first to the longest one, in ms.
	firstEffectPauseMs   = int64(1_000)
	longestEffectPauseMs = int64(300_000)
)

// Effect is a row of the outbox: work outside the session of a decision
// (docs/spec/v1.md#effects). It is written with the decision and carried out afterwards, at
// least once, by any replica. The work is idempotent, so it takes place once.
type Effect struct {
	// SessionID is the session of the decision. The row changes under its lock.
	SessionID string
	// EffectID is made by [EffectID] from what was decided. It is unique among all effects, so
	// that one decision writes one effect.
	EffectID string
	// RunID is the run that the decision was about.
	RunID string
	Kind  api.EffectKind
	State api.EffectState
	// TargetSessionID is the session in which the work is done.
	TargetSessionID string
	Payload         api.JSON
	CreatedAtMs     int64
	// DueAtMs is the next moment at which it may be attempted: the end of the current lease, or
	// of the pause after a failure. 0 when it is done or failed.
	DueAtMs int64
	// WebhookID is the endpoint that the effect posts to; empty for every other kind.
	WebhookID string
	// Attempts counts the claims. The newest number is the fence: an older attempt may not
	// report a failure.
	Attempts     int64
	LastError    string // of the last failed attempt; empty once it is done
	FinishedAtMs int64  // when it was done or failed; 0 before
}

// EffectID returns the id of an effect from its kind and the id of what was decided: a run, or
// the handle of a request.
func EffectID(kind api.EffectKind, id string) string { return string(kind) + ":" + id }

// EffectKindOf returns the kind in an id that was made by [EffectID].
func EffectKindOf(effectID string) api.EffectKind {
	kind, _, _ := strings.Cut(effectID, ":")
	return api.EffectKind(kind)
}

// CarriedOut says where the effects of a kind are carried out.
type CarriedOut int

// The places where effects are carried out.
const (
	// CarriedOutNowhere is the place of a kind that this program does not know.
	CarriedOutNowhere CarriedOut = iota
	// CarriedOutInside is the effect's target session: a command does the work.
	CarriedOutInside
	// CarriedOutLater is the effect's own session, when it is due. A command of its own looks
	// whether it is time, and says when to look again.
	CarriedOutLater
	// CarriedOutOutside is a system that is sent the effect's Payload. There is no command.
	CarriedOutOutside
	// CarriedOutDelivered is a webhook, whose lane finds by itself what is owed to it.
	CarriedOutDelivered
)

// CarriedOutWhere returns where the effects of a kind are carried out.
func CarriedOutWhere(k api.EffectKind) CarriedOut {
	switch k {
	case api.EffectOpenClarification, api.EffectDeliverAnswer, api.EffectDrainSession:
		return CarriedOutInside
	case api.EffectCancelAbandoned:
		return CarriedOutLater
	case api.EffectReviewApproval:
		return CarriedOutOutside
	case api.EffectDeliverWebhook:
		return CarriedOutDelivered
	}
	return CarriedOutNowhere
}

// LeaseMs returns how long a claimed effect is not due for others.
func (e *Effect) LeaseMs() int64 {
	if e.WebhookID != "" {
		return WebhookLeaseMs
	}
	return EffectLeaseMs
}

// MaxAttempts bounds the attempts: the effect fails with the last one.
func (e *Effect) MaxAttempts() int64 {
	if e.WebhookID != "" {
		return MaxWebhookAttempts
	}
	return MaxEffectAttempts
}

// BackoffMs returns the pause after a failed attempt, in ms: 1 s, doubled with each attempt, at
// most 5 min. Deliveries to webhooks have pauses of their own.
func (e *Effect) BackoffMs() int64 {
	if e.WebhookID != "" {
		return e.webhookPauseMs()
	}
	return min(firstEffectPauseMs<<min(max(e.Attempts-1, 0), MaxEffectAttempts), longestEffectPauseMs)
}
