package reads

import "github.com/holdpoint/holdpoint/runs/model"

// Notice says that something was committed. It is a hint and may be lost, so readers read the
// rows and also poll.
type Notice struct {
	// SessionID is empty when notices may have been lost. Every waiting reader must then read.
	SessionID string
	// Life identifies the session's life (see [model.MarkOf]), "" when unknown.
	Life        string
	LastEventID int64
	// FirstEventID is the first event of the commit, 0 when unknown.
	FirstEventID int64
	// Prompts says that a request was raised, acknowledged, partly answered, or settled; see [model.AboutRequest].
	Prompts bool
	// Events has all events of a commit by this process. It is nil for other replicas' commits.
	Events []*model.Event
	// Claimable lists the runs that became claimable with the commit.
	Claimable []Claimable
	// Owed lists the effects that became due with the commit, in this process only. Other replicas
	// find the remaining ones when their lease lapses.
	Owed []DueEffect
}
