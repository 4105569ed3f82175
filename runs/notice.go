package runs

import "github.com/holdpoint/holdpoint/runs/model"

// Notice says that something was committed. It is a hint: it may be lost, so a reader reads the
// rows and also polls.
type Notice struct {
	// SessionID is empty when notices may have been lost. Then everybody who waits must read.
	SessionID string
	// Life is the mark of the session's life (see [model.MarkOf]), "" when it is not known.
	Life        string
	LastEventID int64
	// FirstEventID is the first event of the commit, 0 when it is unknown.
	FirstEventID int64
	// Prompts says that a request was raised, answered in part, or settled; see
	// [model.AboutRequest].
	Prompts bool
	// Events has all events of a commit of this process. It is nil for the commit of another
	// replica.
	Events []*model.Event
	// Claimable lists the runs that became claimable with the commit.
	Claimable []Claimable
	// Owed lists the effects that became due with the commit, in this process only. Other
	// replicas find those that are left when their lease lapses.
	Owed []DueEffect
}

// Claimable names a claimable run.
type Claimable struct {
	RunID         string
	SessionID     string
	AgentID       string
	ClaimableAtMs int64
	// Principal and HolderPrincipal are the run's. A reader leaves them empty.
	Principal, HolderPrincipal string
}

// DueRun names a run with a request past its deadline.
type DueRun struct {
	RunID     string
	SessionID string
}

// DueEffect names an effect that may be attempted now.
type DueEffect struct {
	SessionID string
	EffectID  string
}
