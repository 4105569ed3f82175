package stream

import (
	"sync"

	"github.com/holdpoint/holdpoint/runs"
)

// maxNotices bounds the sessions whose notices wait to be read.
const maxNotices = 4096

// intake gathers notices about requests, one for each session, while earlier ones are
// read.
type intake struct {
	// wake has a signal when there is something to take.
	wake chan struct{}

	mu      sync.Mutex
	waiting map[string]int // index in notices
	notices []runs.Notice
	lost    bool
}

func newIntake() *intake {
	return &intake{wake: make(chan struct{}, 1), waiting: map[string]int{}}
}

// add is called on the commit path: it never blocks.
func (t *intake) add(notice runs.Notice) {
	if notice.SessionID != "" && !notice.Prompts {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at, seen := t.waiting[notice.SessionID]
	switch {
	case t.lost:
		return // who takes it reads everything
	case notice.SessionID == "", notice.FirstEventID == 0, !seen && len(t.notices) == maxNotices:
		t.lost, t.notices = true, nil
		clear(t.waiting)
	case seen:
		t.notices[at] = joined(t.notices[at], notice)
	default:
		t.waiting[notice.SessionID] = len(t.notices)
		t.notices = append(t.notices, runs.Notice{
			SessionID: notice.SessionID, FirstEventID: notice.FirstEventID, LastEventID: notice.LastEventID, Events: notice.Events,
		})
	}
	t.signal()
}

// joined has the events only when they are without a gap.
func joined(a, b runs.Notice) runs.Notice {
	events := a.Events
	switch {
	case len(a.Events) > 0 && len(b.Events) > 0 && a.LastEventID+1 == b.FirstEventID:
		events = append(events[:len(events):len(events)], b.Events...)
	default:
		events = nil
	}
	return runs.Notice{
		SessionID: a.SessionID, FirstEventID: min(a.FirstEventID, b.FirstEventID),
		LastEventID: max(a.LastEventID, b.LastEventID), Events: events,
	}
}

func (t *intake) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// take returns what has gathered, and whether there was more than that.
func (t *intake) take() (notices []runs.Notice, lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	notices, lost = t.notices, t.lost
	t.notices, t.lost = nil, false
	clear(t.waiting)
	return notices, lost
}
