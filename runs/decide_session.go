package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Needs implements Command.
func (c *CreateSession) Needs() Needs { return Needs{SessionID: c.SessionID} }

func (c *CreateSession) prepare(newID IDSource) error {
	document.AbsentNull(&c.Metadata)
	var faults refusal.Faults
	faults.OptionalID("/session_id", c.SessionID)
	faults.OptionalID("/agent_id", c.AgentID)
	faults.OptionalID("/parent_session_id", c.ParentSessionID)
	if c.SessionID != "" && c.ParentSessionID == c.SessionID {
		faults.Add("/parent_session_id", "must not be the session itself")
	}
	faults.Object("/metadata", c.Metadata)
	if c.SessionID == "" {
		c.SessionID = newID(PrefixSession)
	}
	return faults.Err()
}

func (c *CreateSession) decide(w *work) (Reply, error) {
	if w.session == nil {
		w.makeSession(c.SessionID, c.AgentID, c.ParentSessionID, c.Metadata)
		return Reply{Session: w.session}, nil
	}
	if c.AgentID != "" && c.AgentID != w.session.AgentID ||
		c.ParentSessionID != "" && c.ParentSessionID != w.session.ParentSessionID {
		return Reply{}, refusal.New(api.CodeIDConflict, "session %s exists with another agent or parent", c.SessionID)
	}
	return Reply{Session: w.session, Existing: true}, nil
}

// makeSession starts a session; its row is inserted with the change.
func (w *work) makeSession(sessionID, agentID, parentSessionID string, metadata api.JSON) {
	w.session = &model.Session{
		SessionID: sessionID, AgentID: cmp.Or(agentID, model.DefaultAgentID), ParentSessionID: parentSessionID,
		Metadata: metadata, CreatedAtMs: w.nowMs,
	}
	w.sessionNew = true
	w.saveSession()
}

// Needs implements Command.
func (c *InterruptSession) Needs() Needs {
	return Needs{SessionID: c.SessionID, Clarifications: true}
}

func (c *InterruptSession) prepare(IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	faults.Text("/reason", c.Reason, api.MaxTextLength)
	return faults.Err()
}

func (c *InterruptSession) decide(w *work) (Reply, error) {
	if w.session == nil {
		return Reply{}, refusal.UnknownSession(c.SessionID)
	}
	declined := w.declineAll(cmp.Or(c.Reason, "interrupted by operator"), "interrupted", Actor{Name: c.Actor.Name, Via: api.ViaInterrupt})
	run := w.activeRun()
	if run != nil {
		w.expireDue(run)
	}
	if run == nil || model.Terminal(run.Status) {
		return Reply{Session: w.session, Interrupted: declined}, nil
	}
	w.settleAll(run, w.open(run.RunID), api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: c.Reason, ResolvedBy: c.Actor.Name, Via: api.ViaInterrupt,
	})
	run.Error = c.Reason
	w.finish(run, api.StatusInterrupted, model.LeaseRevoked, api.EventInterrupted, reasonEvent{api.EventInterrupted, c.Reason})
	return Reply{Session: w.session, Interrupted: true}, nil
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

func (c *EndSession) decide(w *work) (Reply, error) {
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
	w.declineAll(cmp.Or(c.Reason, "the session has ended"), "session_ended", actor)
	for _, run := range w.unfinished() {
		w.expireDue(run)
		if !model.Terminal(run.Status) {
			w.cancel(run, cmp.Or(c.Reason, "the session has ended"), actor, c.Reason)
		}
	}
	for _, message := range w.mailbox() {
		w.lapse(message)
	}
	w.revokeSessionRules(c.Actor.Name)
	return Reply{Session: w.session}, nil
}
