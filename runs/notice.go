package runs

import "github.com/holdpoint/holdpoint/runs/model"

// Notice tells that something was committed. It is a hint: it may be lost, and
// whoever acts on it reads the rows.
type Notice struct {
	// SessionID is empty when notices may have been lost: then everybody looks.
	SessionID   string
	LastEventID int64
	// FirstEventID is the first event of the commit, 0 when it is not known.
	FirstEventID int64
	// Prompts says that one of the events is about a request: that it was raised, or
	// settled, or has a part of its answer.
	Prompts bool
	// Events holds all events of the commit, in this process only: a notice of another
	// replica's commit has none.
	Events []*model.Event
	// Claimable lists the runs that became claimable at once.
	Claimable []Claimable
	// Owed lists the effects that became due at once. It tells this process only:
	// other replicas find what this one leaves undone.
	Owed []DueEffect
}

// Claimable names a run that may be claimed.
type Claimable struct {
	RunID         string
	SessionID     string
	AgentID       string
	ClaimableAtMs int64
}

// DueRun names a run with a request that is due.
type DueRun struct {
	RunID     string
	SessionID string
}

// DueEffect names an effect that may be tried now.
type DueEffect struct {
	SessionID string
	EffectID  string
}
