package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// SessionSummary is a session as lists show it.
type SessionSummary struct {
	Session          Session
	Status           api.Status
	PendingApprovals int
	PendingQuestions int
}

// PendingRequest is an open request with the parts of its run that its view shows.
type PendingRequest struct {
	Request Request
	AgentID string
	RunKind api.RunKind
	// Requester is the run's; nil unless the run is a parent clarification.
	Requester api.JSON
	// About is the session's; nil in SessionRecord.Besides.
	About api.JSON
	// ParentSessionID is the session's; empty in SessionRecord.Besides.
	ParentSessionID string
}

// DecidedRequest is an approval or a question, usually settled, with the parts of its run that
// its view shows.
type DecidedRequest struct {
	PendingRequest
	RunStatus api.Status
	// LeaseExpiresAtMs is the run's; 0 without a lease.
	LeaseExpiresAtMs int64
}

// RunRecord is a run with the requests of its view, in the order of Request.Number: the open
// ones, and the settled ones of its Resume.
type RunRecord struct {
	Run      Run
	Requests []Request
	// Outputs has the newest output records within a byte limit, oldest first. Only the read of
	// a single run fills it; elsewhere it is empty even if Run.OutputCount is not 0.
	Outputs []api.OutputRecord
}

// SessionRecord is a session with the rows of its view.
type SessionRecord struct {
	Session Session
	// Active is the run that holds the slot, nil while the session is idle.
	Active *RunRecord
	// Besides has the open requests of waiting calls and parent clarifications, ordered by run
	// and request id, at most MaxClarificationsShown.
	Besides []PendingRequest
	// QueuedRunIDs has the queued runs in their starting order.
	QueuedRunIDs []string
	// Outputs has the newest output records of the session's runs within a byte limit, oldest
	// first. OutputsTruncated says that there are more.
	Outputs          []api.OutputRecord
	OutputsTruncated bool
}
