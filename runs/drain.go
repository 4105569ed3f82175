package runs

import "github.com/holdpoint/holdpoint/runs/refusal"

// DrainSession ends the next batch of unfinished runs of an ended or interrupted session: up to
// DrainChunk runs and DrainBytes, oldest first. Only effects issue this command. It is
// idempotent, because a run ends only once.
//
// Reply: More while runs are left. Errors: session_not_found.
type DrainSession struct {
	SessionID string
	payload   drainPayload
}

// Spec implements Command.
func (c *DrainSession) Spec() Spec {
	return Spec{Name: "DrainSession", Actor: c.payload.Actor, size: Size{Rows: DrainChunk}}
}

// Needs implements Command.
func (c *DrainSession) Needs() Needs {
	return Needs{SessionID: c.SessionID, UnfinishedRuns: c.payload.Ended, UnfinishedBesides: !c.payload.Ended}
}

func (c *DrainSession) prepare(*Call, IDSource) error { return nil }

func (c *DrainSession) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	next, _ := w.drain(&c.payload)
	return Reply{More: next != nil}, nil
}
