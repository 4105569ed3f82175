package model

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Session is a durable conversation and the unit of locking: its runs change under its lock, its
// events are numbered without gaps, and at most one run is active (docs/spec/v1.md#sessions).
type Session struct {
	SessionID       string
	AgentID         string
	ParentSessionID string   // empty when it has none
	Metadata        api.JSON // an object, or nil
	// About is the encoded [api.SessionAbout], nil without a label and an origin.
	About api.JSON
	// Principal created the session; empty if the service did.
	Principal string
	// Requesters are the principals that created or claimed a run of the session, one per line;
	// see docs/security.md#four-eyes.
	Requesters string
	// ActiveRunID is the run in the session's slot: claimed at least once and not terminal.
	// Empty while the session is idle.
	ActiveRunID string
	// QueuedCount counts its queued runs.
	QueuedCount int64
	// OutputCount counts the output records among its kept events.
	OutputCount int64
	// LastEventID is the number of the newest event; 0 before the first.
	LastEventID int64
	// LastEventHash is the hash of the newest event, "" outside of a chain.
	LastEventHash string
	// Life is the hash of the session's first event, "" before it. It distinguishes the session
	// from an earlier one with the same id.
	Life string
	// Version grows with every change to the session's rows, so a process can validate its
	// cached rows. It starts at a random number and grows by random steps: a new session with
	// the same id, or a restored database, never repeats a version.
	Version int64
	// FirstKeptEventID is the oldest kept event; 0 while all are kept.
	FirstKeptEventID int64
	EndedAtMs        int64 // 0 until it is ended
	CreatedAtMs      int64
	UpdatedAtMs      int64
}

// AboutOf decodes a stored About.
func AboutOf(stored api.JSON) (about api.SessionAbout) {
	if stored != nil {
		document.DecodeStored(stored, &about)
	}
	return about
}

// aboutView returns a stored About as views show it, nil without one.
func aboutView(stored api.JSON) *api.SessionAbout {
	if stored == nil {
		return nil
	}
	return new(AboutOf(stored))
}

// SessionName is what a list of other rows shows of a session.
type SessionName struct {
	AgentID string
	About   api.JSON // as in [Session]
}

// View returns the session as views show it, nil without a label and an origin.
func (s *SessionName) View() *api.SessionAbout { return aboutView(s.About) }

// DefaultAgentID is the agent of sessions and runs that name none.
const DefaultAgentID = "default"
