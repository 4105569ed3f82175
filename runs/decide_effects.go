package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Needs implements Command.
func (c *ClaimEffect) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID}
}

func (c *ClaimEffect) prepare(IDSource) error { return nil }

func (c *ClaimEffect) decide(w *work) (Reply, error) {
	effect := w.effect(c.EffectID)
	if effect == nil {
		return Reply{}, unknownEffect(c.SessionID, c.EffectID)
	}
	if effect.State != api.EffectPending || effect.DueAtMs > w.nowMs {
		return Reply{Existing: true}, nil
	}
	effect.Attempts++
	effect.DueAtMs = w.nowMs + model.EffectLeaseMs
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	return Reply{Effect: effect, NowMs: w.nowMs}, nil
}

// Needs implements Command.
func (c *FinishEffect) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID}
}

func (c *FinishEffect) prepare(IDSource) error { return nil }

func (c *FinishEffect) decide(w *work) (Reply, error) {
	effect := w.effect(c.EffectID)
	if effect == nil {
		return Reply{}, unknownEffect(c.SessionID, c.EffectID)
	}
	// Somebody else may have begun it since, or finished it. What was done is done: a
	// success counts whoever reports it.
	stale := effect.Attempts != c.Attempt
	switch {
	case effect.State == api.EffectDone, c.Error != "" && (stale || effect.State == api.EffectFailed):
		return Reply{Effect: effect, Existing: true}, nil
	case c.Error == "":
		effect.State, effect.DueAtMs, effect.FinishedAtMs, effect.LastError = api.EffectDone, 0, w.nowMs, ""
	case c.Permanent || effect.Attempts >= model.MaxEffectAttempts:
		effect.State, effect.DueAtMs, effect.FinishedAtMs, effect.LastError = api.EffectFailed, 0, w.nowMs, previewText(c.Error)
	default:
		effect.LastError = previewText(c.Error)
		effect.DueAtMs = w.nowMs + effect.BackoffMs()
	}
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	return Reply{Effect: effect}, nil
}

// Needs implements Command.
func (c *RetryEffect) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID}
}

func (c *RetryEffect) prepare(IDSource) error { return nil }

func (c *RetryEffect) decide(w *work) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	effect := w.effect(c.EffectID)
	if effect == nil {
		return Reply{}, unknownEffect(c.SessionID, c.EffectID)
	}
	if effect.State == api.EffectDone || effect.State == api.EffectPending && effect.DueAtMs <= w.nowMs {
		return Reply{Effect: effect, Existing: true}, nil
	}
	if effect.State == api.EffectFailed {
		effect.State, effect.FinishedAtMs = api.EffectPending, 0
	}
	effect.DueAtMs = w.nowMs
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	return Reply{Effect: effect}, nil
}

func unknownEffect(sessionID, effectID string) *refusal.Error {
	return refusal.New(api.CodeEffectNotFound, "unknown effect %s in session %s", effectID, sessionID)
}
