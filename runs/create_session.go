package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// CreateSession creates a session, or returns the existing one with the same id
// (docs/spec/v1.md#create-a-session).
//
// Reply: Session, Existing. Errors: invalid_request; id_conflict when the session has another
// agent or parent than the call gives. An absent member matches any value, so a caller may
// repeat the call with fewer members.
type CreateSession struct {
	SessionID       string // generated when empty
	SessionPrefix   string // begins the generated id
	AgentID         string
	ParentSessionID string
	Metadata        api.JSON
	// Principal is the caller's principal.
	Principal string
}

// Spec implements Command.
func (c *CreateSession) Spec() Spec {
	return Spec{
		Name: "CreateSession", Actions: chats, Target: TargetNew, AgentID: c.AgentID, ParentSessionID: c.ParentSessionID,
		size: Size{Rows: 1, NewRows: 1, Bytes: len(c.Metadata)},
	}
}

// Needs implements Command.
func (c *CreateSession) Needs() Needs { return Needs{SessionID: c.SessionID} }

func (c *CreateSession) prepare(call *Call, newID IDSource) error {
	if call.Caller != nil {
		c.Principal, c.SessionPrefix = call.Caller.Principal, reads.SessionPrefixFor(call.Caller)
	}
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
		c.SessionID = c.SessionPrefix + newID(PrefixSession)
	}
	return faults.Err()
}

func (c *CreateSession) decide(w *workingCopy) (Reply, error) {
	if w.session == nil {
		w.makeSession(model.Session{
			SessionID: c.SessionID, AgentID: c.AgentID, ParentSessionID: c.ParentSessionID, Metadata: c.Metadata, Principal: c.Principal,
		})
		return Reply{Session: w.session}, nil
	}
	if c.AgentID != "" && c.AgentID != w.session.AgentID ||
		c.ParentSessionID != "" && c.ParentSessionID != w.session.ParentSessionID {
		return Reply{}, refusal.New(api.CodeIDConflict, "session %s exists with another agent or parent", c.SessionID)
	}
	return Reply{Session: w.session, Existing: true}, nil
}
