package stream

import (
	"context"
	"hash/maphash"
	"maps"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// maxShown bounds how many requests a shownState remembers.
const maxShown = 4 * snapshotRequests

var seed = maphash.MakeSeed()

// requestKey is a hash of what names a request: a short form that is good enough to
// compare sets by.
func requestKey(sessionID, runID, requestID string) uint64 {
	return maphash.Comparable(seed, [3]string{sessionID, runID, requestID})
}

// shownState is what is open as far as followers were shown: a snapshot with all events
// after it. It detects that notices were lost, by comparing that with what is open now.
// When more is open than a snapshot shows, it detects only a change without any event. It
// holds hashes, at most 4,000, and no request.
type shownState struct {
	extent shownExtent
	// open is what is open: of shownAll as followers were shown, of shownPart as the last
	// check saw.
	open map[uint64]struct{}
	// differences are those that the last check found: true for a request that is open and
	// was not shown, false for one that was shown and is not open. One is real when the
	// next check finds it again.
	differences map[uint64]bool
	// eventless says, of shownPart, that there was no event since the last check.
	eventless bool
}

// shownExtent is how much of what is open followers were shown.
type shownExtent int

const (
	shownNothing shownExtent = iota
	shownPart
	shownAll
)

// snapshot notes the first snapshot after a gap. Later ones are for followers that join,
// and say nothing of what the others were shown.
func (t *shownState) snapshot(snapshot *InboxSnapshot) {
	switch {
	case snapshot.More:
		if t.extent != shownPart {
			*t = shownState{extent: shownPart}
		}
	case t.extent == shownNothing:
		*t = shownState{extent: shownAll, open: map[uint64]struct{}{}}
		for i := range snapshot.Pending {
			one := &snapshot.Pending[i].Request
			t.open[requestKey(one.SessionID, one.RunID, one.RequestID)] = struct{}{}
		}
	}
}

// requestEvent is what the events about requests have in common.
type requestEvent struct {
	RequestIDs  []string         `json:"request_ids"`
	Resolutions []settledRequest `json:"resolutions"`
	Resolution  settledRequest   `json:"resolution"`
}

type settledRequest struct {
	RequestID string `json:"request_id"`
}

// event notes an event that was published.
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
		t.open[requestKey(event.SessionID, event.RunID, requestID)] = struct{}{}
	}
	for _, one := range append(body.Resolutions, body.Resolution) {
		delete(t.open, requestKey(event.SessionID, event.RunID, one.RequestID))
	}
	if len(t.open) > maxShown {
		*t = shownState{extent: shownPart}
	}
}

// checked is what a check found.
type checked struct {
	// missed says that followers were not shown everything.
	missed bool
	// unconfirmed says that there are differences, which may be in flight.
	unconfirmed bool
	// pause is the least time before the next check, by what this one read.
	pause time.Duration
}

// check compares what was shown with what is open.
func (t *shownState) check(ctx context.Context, store Store) (checked, error) {
	if t.extent == shownNothing {
		return checked{}, nil
	}
	open, more, found := map[uint64]struct{}{}, false, checked{}
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		there, err := eachOpen(ctx, store, kind, runs.Scope{}, func(one *model.PendingRequest) {
			open[requestKey(one.Request.SessionID, one.Request.RunID, one.Request.RequestID)] = struct{}{}
			// A request a millisecond: less than a hundredth of the time goes into it.
			found.pause += time.Millisecond + time.Duration(len(one.Request.Body))*time.Microsecond/4
		})
		if err != nil {
			return found, err
		}
		more = more || there
	}
	switch {
	case more:
		found.missed = t.eventless && !maps.Equal(open, t.open)
		*t = shownState{extent: shownPart, open: open, eventless: t.extent == shownPart}
	case t.extent == shownPart:
		// All that is open can be shown again.
		found.missed = true
	default:
		found.missed, found.unconfirmed = t.compare(open)
	}
	return found, nil
}

// compare remembers the differences that it finds for the next one.
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
