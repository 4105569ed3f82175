package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// EndSession ends a session: it cancels active and queued runs, declines waiting
// clarifications, turns pending messages into dead letters, and revokes the session's rules
// (docs/spec/v1.md#end-a-session). Later runs are refused.
//
// Reply: Session; Existing when it had ended. Errors: session_not_found, invalid_request.
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
	// This comes first, so that finishRun promotes no queued run.
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
