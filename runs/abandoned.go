package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// CancelAbandoned cancels a run whose worker is gone, if the worker raised its requests with
// cancel_when_abandoned or abandoned_after_ms (docs/spec/v1.md#abandoned-requests). It also finishes the effect when the
// run is over or another worker has claimed it. Otherwise it schedules the next check. Issue it
// after ClaimEffect.
//
// Reply: Effect and NowMs; Existing when another attempt is newer. Errors: effect_not_found.
type CancelAbandoned struct {
	SessionID string
	EffectID  string
	Attempt   int64 // Effect.Attempts, as ClaimEffect replied it
	RunID     string
	// Fence is the fence of the worker that raised the requests.
	Fence int64
	// SilentMs is how long the worker must have been silent after the end of its lease.
	SilentMs int64
	// OnlyOpen finishes the effect once the run's requests are settled: the decision can still be read.
	OnlyOpen bool
	// ServingForMs is how long workers have been able to reach the service. A worker does not count
	// as silent while the service was down.
	ServingForMs int64
}

// Spec implements Command.
func (c *CancelAbandoned) Spec() Spec {
	return Spec{Name: "CancelAbandoned", size: oneRow}
}

// Needs implements Command.
func (c *CancelAbandoned) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID, RunID: c.RunID}
}

func (c *CancelAbandoned) prepare(*Call, IDSource) error { return nil }

func (c *CancelAbandoned) decide(w *workingCopy) (Reply, error) {
	effect, reply, err := w.attemptedEffect(c.EffectID, c.Attempt)
	if err != nil || reply.Existing {
		return reply, err
	}
	if run := w.run(c.RunID); run != nil {
		w.expireDue(run)
		if w.checkHolder(run, c.Fence) == nil && (!c.OnlyOpen || model.Waiting(run.Status)) {
			// A worker gets time to come back after a start of the service. A long period does not begin again with it:
			// a service that is started every day would never end.
			startedAtMs := w.nowMs - c.ServingForMs
			goneAtMs := max(run.LeaseExpiresAtMs+c.SilentMs, startedAtMs+min(c.SilentMs, api.MaxLeaseMs))
			if goneAtMs > w.nowMs {
				effect.DueAtMs = min(goneAtMs, w.nowMs+longestLookMs)
				return reply, nil
			}
			reason := api.ErrorWorkerGone
			if run.Kind == api.KindCall {
				reason = api.ErrorAgentGone
			}
			w.cancelRun(run, reason, Actor{Name: api.ResolvedBySystem, Via: api.ViaWorker}, reason)
		}
	}
	w.endEffect(effect, api.EffectDone, "")
	return reply, nil
}
