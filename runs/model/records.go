package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// SessionSummary is a session with what a list shows of it.
type SessionSummary struct {
	Session          Session
	Status           api.Status
	PendingApprovals int
	PendingQuestions int
}

// PendingRequest is an open request with what its view shows of its run.
type PendingRequest struct {
	Request Request
	AgentID string
	RunKind api.RunKind
	// Requester is the run's; nil unless the run is a parent clarification.
	Requester api.JSON
}

// DecidedRequest is an approval or a question, mostly a settled one, with what its view shows of
// its run.
type DecidedRequest struct {
	PendingRequest
	RunStatus api.Status
	// LeaseExpiresAtMs is the run's; 0 while nobody has a lease.
	LeaseExpiresAtMs int64
}

// RunRecord is a run with the requests that its view needs, in the order of Request.Number: the
// open ones, and the settled ones of its Resume.
type RunRecord struct {
	Run      Run
	Requests []Request
	// Outputs has the newest output records within a budget of bytes, oldest first. Only the
	// read of a single run fills it; elsewhere it is empty even when Run.OutputCount is not 0.
	Outputs []api.OutputRecord
}

// SessionRecord is a session with what its view needs.
type SessionRecord struct {
	Session Session
	// Active is the run that holds the slot, nil while the session is idle.
	Active *RunRecord
	// Besides are the open requests of waiting calls and parent clarifications, in the order of
	// their run and request ids. At most MaxClarificationsShown are read.
	Besides []PendingRequest
	// QueuedRunIDs are in the order in which the runs will start.
	QueuedRunIDs []string
	// Outputs has the newest output records of all runs of the session within a budget of
	// bytes, oldest first. OutputsTruncated says that there are more.
	Outputs          []api.OutputRecord
	OutputsTruncated bool
}
