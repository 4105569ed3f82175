package model

import "github.com/holdpoint/holdpoint/api"

// Known reports whether the text is the name of a kind.
func KnownRunKind(k api.RunKind) bool { return k == api.KindInput || k == api.KindParentClarification }

// Terminal reports whether a run in this status is over.
func Terminal(s api.Status) bool {
	return s == api.StatusCompleted || s == api.StatusFailed || s == api.StatusInterrupted || s == api.StatusCancelled
}

// Waiting reports whether a run in this status waits for a person.
func Waiting(s api.Status) bool {
	return s == api.StatusWaitingForApproval || s == api.StatusWaitingForUserQuestion
}

// Known reports whether the text is the name of a status.
func KnownStatus(s api.Status) bool {
	for _, known := range api.Statuses {
		if s == known {
			return true
		}
	}
	return false
}
