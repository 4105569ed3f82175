package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// EndSession ends a session: it cancels active and queued runs, declines waiting
// clarifications, turns pending messages into dead letters, and revokes the session's rules in force
// (docs/spec/v1.md#end-a-session). Later runs are refused. An effect cancels the rest of a long
// queue.
//
// Reply: Session; Existing when it had already ended. Errors: session_not_found, invalid_request.
type EndSession struct {
	SessionID string
	Reason    string
	Actor     Actor

	drainID string
}

// Spec implements Command.
func (c *EndSession) Spec() Spec {
	return Spec{Name: "EndSession", Actions: decides, Target: TargetNamed, Actor: c.Actor.Name, Settles: true, size: Size{Rows: DrainChunk}}
}

// Needs implements Command.
func (c *EndSession) Needs() Needs {
	return Needs{SessionID: c.SessionID, UnfinishedRuns: true, Mailbox: true, SessionRules: true}
}

func (c *EndSession) prepare(_ *Call, newID IDSource) error {
	c.Actor.prepare()
	c.drainID = newID(PrefixDrain)
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
	// This comes first, so that finishRun does not promote a queued run.
	w.session.EndedAtMs = w.nowMs
	w.saveSession()
	w.drainFirst(drainPayload{
		ID: c.drainID, Ended: true, LastEventID: w.session.LastEventID, Reason: c.Reason,
		Actor: c.Actor.Name, ViaPrincipal: c.Actor.ViaPrincipal,
	})
	for _, message := range w.mailbox() {
		w.deadLetterIfStale(message)
	}
	w.revokeSessionRules(c.Actor)
	return Reply{Session: w.session}, nil
}
