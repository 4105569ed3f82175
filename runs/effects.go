package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ClaimEffect takes the lease of a due effect for [model.Effect.LeaseMs], and counts an attempt.
//
// Reply: Effect and NowMs; or only Existing when it is not due or not pending. Errors:
// effect_not_found.
type ClaimEffect struct {
	SessionID string
	EffectID  string
}

// FinishEffect records the result of an attempt. An empty Error means success. After a failure
// the effect is retried with a backoff, or fails permanently. A failure of an older attempt
// changes nothing.
//
// Reply: Effect; Existing when nothing changed. Errors: effect_not_found.
type FinishEffect struct {
	SessionID string
	EffectID  string
	Attempt   int64 // Effect.Attempts from ClaimEffect's reply
	Error     string
	// Permanent says that a retry would fail, too.
	Permanent bool
	// RunID, for a message to a person, is the run whose log records that the service gave up on it.
	RunID string
	// RequestHandle, for such a message, is its request, whose escalation continues at once.
	RequestHandle string
	// Next is where a message to a person goes now, at another address, in place of a retry or of giving it up; nil
	// for no other address.
	Next *NextAddress
	// Unsent says that no message of its own was sent, and none will be: the effect ends without an attempt.
	Unsent bool
	// PutOffMs says that the attempt was not made, because the effect is held back for that long. It does
	// not count as an attempt. Error may say why.
	PutOffMs int64
	// RetryAfterMs is the shortest pause before the next attempt, if the receiver asked for one.
	RetryAfterMs int64
}

// RetryEffect makes an effect due at once, even a failed one (docs/spec/v1.md#effects).
//
// Reply: Effect; Existing when it is done or already due. Errors: session_not_found,
// effect_not_found.
type RetryEffect struct {
	SessionID string
	EffectID  string
}

// Spec implements Command.
func (c *ClaimEffect) Spec() Spec {
	return Spec{Name: "ClaimEffect", Actions: works, Unleased: true, Target: TargetElsewhere, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *ClaimEffect) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID}
}

func (c *ClaimEffect) prepare(*Call, IDSource) error { return nil }

func (c *ClaimEffect) decide(w *workingCopy) (Reply, error) {
	effect, err := w.attemptEffect(c.EffectID)
	if err != nil || effect == nil {
		return Reply{Existing: err == nil}, err
	}
	effect.DueAtMs = w.nowMs + effect.LeaseMs()
	return Reply{Effect: effect, NowMs: w.nowMs}, nil
}

// Spec implements Command.
func (c *FinishEffect) Spec() Spec {
	size := oneRow
	if c.Next != nil {
		size.Rows++
	}
	return Spec{Name: "FinishEffect", Actions: works, Unleased: true, Target: TargetElsewhere, Settles: true, size: size}
}

// Needs implements Command.
func (c *FinishEffect) Needs() Needs {
	needs := Needs{SessionID: c.SessionID, EffectID: c.EffectID, RunID: c.RunID}
	if refusal.ValidID(c.RequestHandle) {
		needs.AdvanceID = model.EffectID(api.EffectAdvanceRequest, c.RequestHandle)
	}
	return needs
}

func (c *FinishEffect) prepare(*Call, IDSource) error { return nil }

func (c *FinishEffect) decide(w *workingCopy) (Reply, error) {
	effect, err := w.effect(c.EffectID)
	if err != nil {
		return Reply{}, err
	}
	// Another attempt may have started or finished since. A success counts for any attempt, because
	// the work is done.
	stale, succeeded := effect.Attempts != c.Attempt, c.Error == "" && c.PutOffMs <= 0
	switch {
	case effect.State == api.EffectDone, !succeeded && (stale || effect.State == api.EffectFailed):
		return Reply{Effect: effect, Existing: true}, nil
	case c.PutOffMs > 0:
		effect.UndoAttempt()
		effect.DueAtMs = w.nowMs + c.PutOffMs
		// A failure stays. An attempt that was interrupted has left none. One message stands for those that a flood holds,
		// whatever else holds them afterwards.
		failed := effect.Attempts > 0 && effect.LastError != "" && !model.HeldBack(effect.LastError)
		if !failed && effect.LastError != model.HeldByFlood {
			effect.LastError = StorableText(c.Error)
		}
	case succeeded:
		w.endEffect(effect, api.EffectDone, "")
		if c.Unsent && !stale {
			effect.Attempts = 0
		}
	case c.Next != nil && effect.Kind == api.EffectNotify && effect.RunID == c.RunID && w.passOn(effect, c.Next, c.Error):
	case c.Permanent || effect.Attempts >= effect.MaxAttempts():
		w.giveUp(effect, c)
	default:
		effect.LastError = StorableText(c.Error)
		effect.DueAtMs = w.nowMs + max(effect.BackoffMs(), min(c.RetryAfterMs, model.MaxRetryAfterMs))
	}
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	return Reply{Effect: effect}, nil
}

// giveUp ends an effect that no retry would help. A withdrawal ends without an attempt: its people got their messages, so
// they must not count as not reached, and the messages not as withdrawn.
func (w *workingCopy) giveUp(effect *model.Effect, c *FinishEffect) {
	if withdraws(effect) {
		w.endEffect(effect, api.EffectDone, "")
		effect.Attempts = 0
		return
	}
	w.endEffect(effect, api.EffectFailed, c.Error)
	if effect.Kind == api.EffectNotify && effect.RunID == c.RunID {
		w.noteUndelivered(effect)
	}
}

// Spec implements Command.
func (c *RetryEffect) Spec() Spec {
	return Spec{Name: "RetryEffect", Actions: administers, Target: TargetNamed, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *RetryEffect) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID}
}

func (c *RetryEffect) prepare(*Call, IDSource) error { return nil }

func (c *RetryEffect) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	effect, err := w.effect(c.EffectID)
	if err != nil {
		return Reply{}, err
	}
	if effect.State == api.EffectDone || effect.State == api.EffectPending && effect.DueAtMs <= w.nowMs {
		return Reply{Effect: effect, Existing: true}, nil
	}
	if effect.State == api.EffectFailed {
		effect.State, effect.FinishedAtMs = api.EffectPending, 0
		if effect.WebhookID != "" {
			effect.Attempts = 0 // a webhook delivery gets all of its attempts again
		}
	}
	effect.DueAtMs = w.nowMs
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	return Reply{Effect: effect}, nil
}
