package model

import "github.com/holdpoint/holdpoint/api"

// Session is a durable conversation and the unit of locking: its runs change under its lock,
// its events are numbered without gaps, and at most one of its runs is active
// (docs/spec/v1.md#sessions).
type Session struct {
	SessionID       string
	AgentID         string
	ParentSessionID string   // empty when it has none
	Metadata        api.JSON // an object, or nil
	// Principal is whose credential the session was made with; empty when the service made it.
	Principal string
	// Requesters are the principals that made a run in the session or claimed one, one a line; see
	// docs/security.md#four-eyes.
	Requesters string
	// ActiveRunID is the run that holds the session's slot: claimed at least once and not
	// terminal. Empty while the session is idle.
	ActiveRunID string
	// QueuedCount is how many of its runs are queued.
	QueuedCount int64
	// OutputCount is how many of its kept events are output records.
	OutputCount int64
	// LastEventID is the number of the newest event; 0 before the first.
	LastEventID int64
	// LastEventHash is the hash of the newest event, "" when that is in no chain.
	LastEventHash string
	// Life is the hash of the session's first event, "" before it. It tells the session from an
	// earlier one with the same id.
	Life string
	// Version grows with every change of any row of the session, so that a process that remembers
	// the rows can see whether they are still the same. It starts at a random number and grows by
	// random steps: neither a session with the same id nor a restored database repeats a version.
	Version int64
	// FirstKeptEventID is the number of the oldest event that is kept; 0 while all are.
	FirstKeptEventID int64
	EndedAtMs        int64 // 0 until it is ended
	CreatedAtMs      int64
	UpdatedAtMs      int64
}

// DefaultAgentID is the agent of a session or run that names none.
const DefaultAgentID = "default"
