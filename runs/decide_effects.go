package runs

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
	if effect.State != EffectPending || effect.DueAtMs > w.nowMs {
		return Reply{Existing: true}, nil
	}
	effect.Attempts++
	effect.DueAtMs = w.nowMs + EffectLeaseMs
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
	case effect.State == EffectDone, c.Error != "" && (stale || effect.State == EffectFailed):
		return Reply{Effect: effect, Existing: true}, nil
	case c.Error == "":
		effect.State, effect.DueAtMs, effect.FinishedAtMs, effect.LastError = EffectDone, 0, w.nowMs, ""
	case c.Permanent || effect.Attempts >= MaxEffectAttempts:
		effect.State, effect.DueAtMs, effect.FinishedAtMs, effect.LastError = EffectFailed, 0, w.nowMs, previewText(c.Error)
	default:
		effect.LastError = previewText(c.Error)
		effect.DueAtMs = w.nowMs + effect.backoff()
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
		return Reply{}, UnknownSession(c.SessionID)
	}
	effect := w.effect(c.EffectID)
	if effect == nil {
		return Reply{}, unknownEffect(c.SessionID, c.EffectID)
	}
	if effect.State == EffectDone || effect.State == EffectPending && effect.DueAtMs <= w.nowMs {
		return Reply{Effect: effect, Existing: true}, nil
	}
	if effect.State == EffectFailed {
		effect.State, effect.FinishedAtMs = EffectPending, 0
	}
	effect.DueAtMs = w.nowMs
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	return Reply{Effect: effect}, nil
}

func unknownEffect(sessionID, effectID string) *Error {
	return newError(CodeEffectNotFound, "unknown effect %s in session %s", effectID, sessionID)
}
