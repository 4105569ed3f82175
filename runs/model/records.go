package model

import (
	"github.com/holdpoint/holdpoint/api"
)

// SessionSummary is a session in a list.
type SessionSummary struct {
	Session          Session
	Status           api.Status
	PendingApprovals int
	PendingQuestions int
}

// PendingRequest is an open request with what its view tells of its run.
type PendingRequest struct {
	Request Request
	AgentID string
	RunKind api.RunKind
	// Requester is that of the run: nil unless it is a parent clarification.
	Requester api.JSON
}

// RunRecord is a run together with those of its requests that its view needs:
// the open ones and those of its Resume, both in the order of Request.Number.
type RunRecord struct {
	Run      Run
	Requests []Request
	// Outputs holds the newest output records, oldest first. It is filled by reads
	// only; a command's reply leaves it empty when Run.OutputCount says that there
	// are some.
	Outputs []api.OutputRecord
}

// SessionRecord is a session together with what its view needs.
type SessionRecord struct {
	Session Session
	// Active is the run that holds the slot, nil while the session is idle.
	Active *RunRecord
	// Clarifications are the questions of waiting parent clarifications, in the order
	// of (run_id, request_id); at most MaxClarificationsShown.
	Clarifications []PendingRequest
	// QueuedRunIDs are in the order in which the runs will go.
	QueuedRunIDs []string
	// Outputs holds the newest output records of all the session's runs, oldest
	// first.
	Outputs []api.OutputRecord
}
