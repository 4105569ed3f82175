package runs

import "github.com/holdpoint/holdpoint/api"

// CancelAbandoned looks whether the worker that raised requests with cancel_when_abandoned is
// gone, and cancels the run then (docs/spec/v1.md#abandoned-requests). It finishes the effect
// when the run is over or in other hands, too, and else makes it due when to look again. Give it
// after ClaimEffect.
//
// Reply: Effect and NowMs; Existing when another attempt is newer. Errors: effect_not_found.
type CancelAbandoned struct {
	SessionID string
	EffectID  string
	Attempt   int64 // Effect.Attempts, as ClaimEffect replied it
	RunID     string
	// Fence is that of the worker that asked.
	Fence int64
	// SilentMs is how long the worker must have been silent after the end of its lease.
	SilentMs int64
	// ServingForMs is for how long workers could reach the service: nobody is silent to a service
	// that was away.
	ServingForMs int64
}

// Spec implements Command.
func (c *CancelAbandoned) Spec() Spec {
	return Spec{Name: "CancelAbandoned", Size: oneRow}
}

// Needs implements Command.
func (c *CancelAbandoned) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID, RunID: c.RunID}
}

func (c *CancelAbandoned) prepare(*Call, IDSource) error { return nil }

func (c *CancelAbandoned) decide(w *workingCopy) (Reply, error) {
	effect, err := w.effect(c.EffectID)
	if err != nil {
		return Reply{}, err
	}
	reply := Reply{Effect: effect, NowMs: w.nowMs}
	if effect.State != api.EffectPending || effect.Attempts != c.Attempt {
		reply.Existing = true
		return reply, nil
	}
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	if run := w.run(c.RunID); run != nil {
		w.expireDue(run)
		if w.checkHolder(run, c.Fence) == nil {
			silentSinceMs := max(run.LeaseExpiresAtMs, w.nowMs-c.ServingForMs)
			if lookAgainMs := silentSinceMs + c.SilentMs; lookAgainMs > w.nowMs {
				effect.DueAtMs = lookAgainMs
				return reply, nil
			}
			reason := "the worker that asked is gone"
			if run.Kind == api.KindCall {
				reason = "the agent that asked is gone"
			}
			w.cancelRun(run, reason, Actor{Name: api.ResolvedBySystem, Via: api.ViaWorker}, reason)
		}
	}
	w.endEffect(effect, api.EffectDone, "")
	return reply, nil
}
