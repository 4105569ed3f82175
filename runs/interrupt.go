package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// InterruptSession interrupts the session's active run and its calls, and declines its waiting
// clarifications (docs/spec/v1.md#interrupt-a-session). Queued runs stay. If there are many
// calls or clarifications, an effect ends the rest.
//
// Reply: Session, Interrupted. Errors: session_not_found, invalid_request.
type InterruptSession struct {
	SessionID string
	Reason    string
	Actor     Actor

	drainID string
}

// Spec implements Command.
func (c *InterruptSession) Spec() Spec {
	return Spec{
		Name: "InterruptSession", Actions: cancels, Target: TargetNamed, Actor: c.Actor.Name, Settles: true,
		size: Size{Rows: DrainChunk},
	}
}

// Needs implements Command.
func (c *InterruptSession) Needs() Needs {
	return Needs{SessionID: c.SessionID, UnfinishedBesides: true}
}

func (c *InterruptSession) prepare(_ *Call, newID IDSource) error {
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
	ended := w.drainFirst(drainPayload{
		ID: c.drainID, LastEventID: w.session.LastEventID, Reason: c.Reason,
		Actor: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal,
	})
	run := w.activeRun()
	if run != nil {
		w.expireDue(run)
	}
	if run == nil || model.Terminal(run.Status) {
		return Reply{Session: w.session, Interrupted: ended}, nil
	}
	w.interruptRun(run, c.Reason, c.Actor)
	return Reply{Session: w.session, Interrupted: true}, nil
}
