package model

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// standing returns the stored acknowledgements and snoozes of an open request, including those that
// have lapsed.
func (r *Request) standing() []api.Acknowledgement {
	if r.Acknowledgement == nil || !r.Open() {
		return nil
	}
	var list []api.Acknowledgement
	document.DecodeStored(r.Acknowledgement, &list)
	return list
}

// maxSkewMs is how far the clocks of replicas may differ. An acknowledgement that is further ahead is from before the
// clock was set back, and would count for longer by that time.
const maxSkewMs = 60_000

// StandingAt returns the acknowledgements and snoozes of an open request that count at a time.
func (r *Request) StandingAt(nowMs int64) []api.Acknowledgement {
	return slices.DeleteFunc(r.standing(), func(a api.Acknowledgement) bool { return a.UntilMs <= nowMs || a.AtMs > nowMs+maxSkewMs })
}

// Acknowledgements returns the stored acknowledgements of an open request without its snoozes,
// including those that have lapsed.
func (r *Request) Acknowledgements() []api.Acknowledgement {
	return inState(r.standing(), api.Acknowledged)
}

// AcknowledgedAt returns the acknowledgements of an open request that count at a time.
func (r *Request) AcknowledgedAt(nowMs int64) []api.Acknowledgement {
	return inState(r.StandingAt(nowMs), api.Acknowledged)
}

// SnoozedAt returns until when each person snoozes an open request, by name.
func (r *Request) SnoozedAt(nowMs int64) map[string]int64 {
	snoozed := map[string]int64{}
	for _, a := range inState(r.StandingAt(nowMs), api.Snoozed) {
		snoozed[a.By] = a.UntilMs
	}
	return snoozed
}

// SnoozedUntil returns until when a person snoozes an open request; 0 for never. It may have passed.
func (r *Request) SnoozedUntil(person string) int64 {
	for _, a := range inState(r.standing(), api.Snoozed) {
		if a.By == person {
			return a.UntilMs
		}
	}
	return 0
}

func inState(list []api.Acknowledgement, state api.AcknowledgementState) []api.Acknowledgement {
	return slices.DeleteFunc(list, func(a api.Acknowledgement) bool { return a.State != state })
}
