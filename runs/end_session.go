package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// EndSession ends a session: its active and queued runs are cancelled, the parent
// clarifications that wait in it are declined, its messages become dead letters, its
// rules are revoked, and no run is taken any more. Ending it again changes nothing.
//
// Reply: Session, Existing. Errors: session_not_found, invalid_request.
type EndSession struct {
	SessionID string
	Reason    string
	Actor     Actor
}

// Needs implements Command.
func (c *EndSession) Needs() Needs {
	return Needs{SessionID: c.SessionID, UnfinishedRuns: true, Mailbox: true, SessionRules: true}
}

func (c *EndSession) prepare(IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	return faults.Err()
}

func (c *EndSession) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	if w.session.EndedAtMs != 0 {
		return Reply{Session: w.session, Existing: true}, nil
	}
	// The mark is set first, so that no run of the queue is promoted on the way.
	w.session.EndedAtMs = w.nowMs
	w.saveSession()
	actor := Actor{Name: c.Actor.Name, Via: api.ViaEnd}
	w.declineClarifications(cmp.Or(c.Reason, "the session has ended"), "session_ended", actor)
	for _, run := range w.unfinished() {
		w.expireDue(run)
		if !model.Terminal(run.Status) {
			w.cancelRun(run, cmp.Or(c.Reason, "the session has ended"), actor, c.Reason)
		}
	}
	for _, message := range w.mailbox() {
		w.deadLetterIfStale(message)
	}
	w.revokeSessionRules(c.Actor.Name)
	return Reply{Session: w.session}, nil
}
