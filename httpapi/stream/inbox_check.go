package stream

import (
	"context"
	"hash/maphash"
	"maps"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// maxShown is the maximum number of requests in a shownState.
const maxShown = 4 * snapshotRequests

var seed = maphash.MakeSeed()

// requestKey is a hash of a request's identity, for comparing sets.
func requestKey(sessionID, runID, requestID string) uint64 {
	return maphash.Comparable(seed, [3]string{sessionID, runID, requestID})
}

// shownState is the set of open requests as followers know it: a snapshot and all later events.
// Comparing it with the open requests in the database detects lost notices. Once more requests are
// open than a snapshot shows, the followers get a gap, and from then on it detects only a change
// without any event. It stores hashes only, at most 4,000.
type shownState struct {
	extent shownExtent
	// open is the set of open requests: with shownAll as the followers know it, with shownPart as
	// the last check read it.
	open map[uint64]struct{}
	// differences of the last check: true for an open request that was not shown, false for a shown
	// request that is not open. A difference is real when the next check finds it again.
	differences map[uint64]bool
	// eventless says, for shownPart, that no event came since the last check.
	eventless bool
}

// shownExtent is how many of the open requests the followers know.
type shownExtent int

const (
	shownNothing shownExtent = iota
	shownPart
	shownAll
)

// snapshot records the first snapshot after a gap. Later ones are for new followers only.
func (t *shownState) snapshot(snapshot *InboxSnapshot) {
	switch {
	case t.extent != shownNothing:
	case snapshot.More:
		*t = shownState{extent: shownPart}
	default:
		*t = shownState{extent: shownAll, open: map[uint64]struct{}{}}
		for i := range snapshot.Pending {
			one := &snapshot.Pending[i].Request
			t.open[requestKey(one.SessionID, one.RunID, one.RequestID)] = struct{}{}
		}
	}
}

// requestEvent has the common members of events about requests.
type requestEvent struct {
	RequestIDs  []string         `json:"request_ids"`
	Resolutions []settledRequest `json:"resolutions"`
	Resolution  settledRequest   `json:"resolution"`
}

type settledRequest struct {
	RequestID string `json:"request_id"`
}

// event records a published event.
func (t *shownState) event(event *model.Event) {
	t.eventless = false
	if t.extent != shownAll || event.Type == api.EventUserQuestionAnswered {
		return
	}
	var body requestEvent
	if err := json.Unmarshal(event.Body, &body, encoding); err != nil {
		return // the next check finds the difference
	}
	for _, requestID := range body.RequestIDs {
		if len(t.open) < maxShown { // else the next check finds that more are open than a snapshot shows
			t.open[requestKey(event.SessionID, event.RunID, requestID)] = struct{}{}
		}
	}
	for _, one := range append(body.Resolutions, body.Resolution) {
		delete(t.open, requestKey(event.SessionID, event.RunID, one.RequestID))
	}
}

// checked is the result of a check.
type checked struct {
	// missed says that followers were not shown everything.
	missed bool
	// unconfirmed says that there are differences, possibly in flight.
	unconfirmed bool
	// pause is the minimum time before the next check, depending on how much this one read.
	pause time.Duration
}

// check compares the shown requests with the open ones.
func (t *shownState) check(ctx context.Context, store Store) (checked, error) {
	if t.extent == shownNothing {
		return checked{}, nil
	}
	open, more, found := map[uint64]struct{}{}, false, checked{}
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		there, err := eachOpen(ctx, store, kind, func(one *model.PendingRequest) {
			open[requestKey(one.Request.SessionID, one.Request.RunID, one.Request.RequestID)] = struct{}{}
			// One millisecond per request keeps checks below one percent of the time.
			found.pause += time.Millisecond + time.Duration(len(one.Request.Body))*time.Microsecond/4
		})
		if err != nil {
			return found, err
		}
		more = more || there
	}
	switch {
	case more:
		// After shownAll, the followers may have missed one beyond the part that was read.
		found.missed = t.extent == shownAll || t.eventless && !maps.Equal(open, t.open)
		*t = shownState{extent: shownPart, open: open, eventless: true}
	case t.extent == shownPart:
		// Everything open fits into a snapshot again.
		found.missed = true
	default:
		found.missed, found.unconfirmed = t.compare(open)
	}
	return found, nil
}

// compare keeps the differences for the next check.
func (t *shownState) compare(open map[uint64]struct{}) (missed, unconfirmed bool) {
	differences := map[uint64]bool{}
	for key := range open {
		if _, known := t.open[key]; !known {
			differences[key] = true
		}
	}
	for key := range t.open {
		if _, there := open[key]; !there {
			differences[key] = false
		}
	}
	before := t.differences
	t.differences = differences
	for key, unshown := range differences {
		if was, again := before[key]; again && was == unshown {
			return true, false
		}
	}
	return false, len(differences) > 0
}
