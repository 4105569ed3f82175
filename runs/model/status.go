package model

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
)

// Terminal reports whether the status is final.
func Terminal(s api.Status) bool { return s.Terminal() }

// Waiting reports whether a run with this status waits for a decision.
func Waiting(s api.Status) bool { return s.Waiting() }

// KnownStatus reports whether s is a status of runs.
func KnownStatus(s api.Status) bool {
	return slices.Contains(api.Statuses, s)
}

// KnownSessionStatus reports whether s is a status of sessions.
func KnownSessionStatus(s api.Status) bool {
	return s == api.SessionIdle || s == api.StatusRunning || Waiting(s) || s == api.SessionEnded
}

// KnownOutcome reports whether o is an outcome of requests.
func KnownOutcome(o api.Outcome) bool {
	switch o {
	case api.OutcomeAllowed, api.OutcomeDenied, api.OutcomeAnswered, api.OutcomeDeclined, api.OutcomeCancelled, api.OutcomeExpired:
		return true
	}
	return false
}
