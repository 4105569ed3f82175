package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// AdvanceRequest notifies people of an open request (docs/notifications.md), and finishes the effect.
// With an escalation it does every step that is due, and schedules the next one. While a person is
// looking at the request, it only schedules the next check. The caller has already looked up the
// recipients. Issue it after ClaimEffect.
//
// Reply: Effect and NowMs; Existing when another attempt is newer. Errors: effect_not_found.
type AdvanceRequest struct {
	SessionID string
	EffectID  string
	Attempt   int64 // Effect.Attempts, as ClaimEffect replied it
	RunID     string
	RequestID string
	Handle    string
	// Gone are people who acknowledged the request and have no credential any more.
	Gone []string
	// To has at most api.MaxRecipients entries. It is for requests without steps of an escalation; Steps
	// is for the others, see [DueSteps].
	To    []Recipient
	Steps []DueStep
}

// Spec implements Command.
func (c *AdvanceRequest) Spec() Spec {
	rows := 1 + len(c.To)
	for i := range c.Steps {
		rows += len(c.Steps[i].To)
	}
	return Spec{Name: "AdvanceRequest", size: Size{Rows: rows}}
}

// Needs implements Command.
func (c *AdvanceRequest) Needs() Needs {
	return Needs{SessionID: c.SessionID, EffectID: c.EffectID, RunID: c.RunID}
}

func (c *AdvanceRequest) prepare(*Call, IDSource) error { return nil }

func (c *AdvanceRequest) decide(w *workingCopy) (Reply, error) {
	effect, reply, err := w.attemptedEffect(c.EffectID, c.Attempt)
	if err != nil || reply.Existing {
		return reply, err
	}
	if run := w.run(c.RunID); run != nil {
		w.expireDue(run)
		if request := w.request(c.RunID, c.RequestID); request != nil && request.Open() && request.Handle == c.Handle && !model.Terminal(run.Status) {
			if untilMs := heldUntil(request, w.nowMs, c.Gone); untilMs != 0 {
				w.holdAdvance(effect, untilMs)
				return reply, nil
			}
			if request.Escalates() {
				w.escalate(effect, run, request, c.Steps)
				return reply, nil
			}
			w.notify(run, request, c.To[:min(len(c.To), api.MaxRecipients)])
		}
	}
	w.endEffect(effect, api.EffectDone, "")
	return reply, nil
}
