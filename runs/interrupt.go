package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// InterruptSession interrupts the session's active run and declines the clarifications that
// wait in it (docs/spec/v1.md#interrupt-a-session). Queued runs stay. Where many clarifications
// wait, an effect declines the rest.
//
// Reply: Session, Interrupted. Errors: session_not_found, invalid_request.
type InterruptSession struct {
	SessionID string
	Reason    string
	Actor     Actor

	drainID string
}

// Needs implements Command.
func (c *InterruptSession) Needs() Needs {
	return Needs{SessionID: c.SessionID, UnfinishedClarifications: true}
}

func (c *InterruptSession) actedBy() string { return c.Actor.Name }

func (c *InterruptSession) prepare(newID IDSource) error {
	c.Actor.prepare()
	c.drainID = newID(PrefixDrain)
	var faults refusal.Faults
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	return faults.Err()
}

func (c *InterruptSession) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	declined := w.drainFirst(drainPayload{
		ID: c.drainID, LastEventID: w.session.LastEventID, Reason: c.Reason, Actor: c.Actor.Name,
	})
	run := w.activeRun()
	if run != nil {
		w.expireDue(run)
	}
	if run == nil || model.Terminal(run.Status) {
		return Reply{Session: w.session, Interrupted: declined}, nil
	}
	w.settleRequests(run, w.openRequests(run.RunID), api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: c.Reason, ResolvedBy: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal, Via: api.ViaInterrupt,
	})
	run.Error = c.Reason
	w.finishRun(run, api.StatusInterrupted, model.LeaseRevoked, api.EventInterrupted, reasonEvent{api.EventInterrupted, c.Reason})
	return Reply{Session: w.session, Interrupted: true}, nil
}
