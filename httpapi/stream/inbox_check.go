package stream

import (
	"context"
	"hash/maphash"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// maxTold bounds what is remembered of what followers were told.
const maxTold = 4 * snapshotRequests

var seed = maphash.MakeSeed()

// requestKey is a hash of what names a request: a short form that is good enough to
// compare sets by.
func requestKey(sessionID, runID, requestID string) uint64 {
	return maphash.Comparable(seed, [3]string{sessionID, runID, requestID})
}

// told is what is open as far as followers were told: a snapshot with all events after
// it. It finds out whether notices were lost, by comparing that with what is open
// now. When there is more open than a snapshot shows, only a change without any event
// is found. Hashes are held, at most 4,000, and no request.
type told struct {
	state toldState
	open  map[uint64]struct{} // of toldAll
	// doubts are the differences that the last look found: whether the request was open
	// and not told, or told and not open. One is real when the next look finds the same.
	doubts map[uint64]bool
	// sum and eventless are of toldPart: a sum of all that the last look saw, and
	// whether there was no event since.
	sum       uint64
	eventless bool
}

type toldState int

const (
	toldNothing toldState = iota
	toldPart
	toldAll
)

func (t *told) forget() { *t = told{} }

// begin takes the first snapshot after a gap. Later ones are for those who join, and
// say nothing of what the others know.
func (t *told) begin(snapshot *InboxSnapshot) {
	switch {
	case snapshot.More:
		if t.state != toldPart {
			*t = told{state: toldPart}
		}
	case t.state == toldNothing:
		*t = told{state: toldAll, open: map[uint64]struct{}{}}
		for i := range snapshot.Pending {
			one := &snapshot.Pending[i].Request
			t.open[requestKey(one.SessionID, one.RunID, one.RequestID)] = struct{}{}
		}
	}
}

// toldEvent is what the events about requests have in common.
type toldEvent struct {
	RequestIDs  []string       `json:"request_ids"`
	Resolutions []toldDecision `json:"resolutions"`
	Resolution  toldDecision   `json:"resolution"`
}

type toldDecision struct {
	RequestID string `json:"request_id"`
}

func (t *told) fold(event *model.Event) {
	t.eventless = false
	if t.state != toldAll || event.Type == api.EventUserQuestionAnswered {
		return
	}
	var body toldEvent
	if err := json.Unmarshal(event.Body, &body, encoding); err != nil {
		return // the next look finds the difference
	}
	for _, requestID := range body.RequestIDs {
		t.open[requestKey(event.SessionID, event.RunID, requestID)] = struct{}{}
	}
	for _, one := range append(body.Resolutions, body.Resolution) {
		delete(t.open, requestKey(event.SessionID, event.RunID, one.RequestID))
	}
	if len(t.open) > maxTold {
		*t = told{state: toldPart}
	}
}

// looked is what a look found.
type looked struct {
	// missed says that followers were not told everything.
	missed bool
	// doubt says that it is not sure yet.
	doubt bool
	// cost is how long to wait before the next look, for what this one read.
	cost time.Duration
}

// check compares what was told with what is open.
func (t *told) check(ctx context.Context, store Store) (looked, error) {
	if t.state == toldNothing {
		return looked{}, nil
	}
	open, more, found := map[uint64]struct{}{}, false, looked{}
	var sum uint64
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		there, err := eachOpen(ctx, store, kind, func(one *model.PendingRequest) {
			key := requestKey(one.Request.SessionID, one.Request.RunID, one.Request.RequestID)
			open[key] = struct{}{}
			sum ^= key
			// A request a millisecond: less than a hundredth of the time goes into it.
			found.cost += time.Millisecond + time.Duration(len(one.Request.Body))*time.Microsecond/4
		})
		if err != nil {
			return found, err
		}
		more = more || there
	}
	switch {
	case more && t.state == toldAll:
		*t = told{state: toldPart, sum: sum}
	case more:
		found.missed = t.eventless && sum != t.sum
		t.sum, t.eventless = sum, true
	case t.state == toldPart:
		// All that is open can be shown again.
		found.missed = true
	default:
		found.missed, found.doubt = t.compare(open)
	}
	return found, nil
}

// compare keeps the differences that it finds.
func (t *told) compare(open map[uint64]struct{}) (missed, doubt bool) {
	doubts := map[uint64]bool{}
	for key := range open {
		if _, known := t.open[key]; !known {
			doubts[key] = true
		}
	}
	for key := range t.open {
		if _, there := open[key]; !there {
			doubts[key] = false
		}
	}
	before := t.doubts
	t.doubts = doubts
	for key, untold := range doubts {
		if was, again := before[key]; again && was == untold {
			return true, false
		}
	}
	return false, len(doubts) > 0
}
