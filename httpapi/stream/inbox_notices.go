package stream

import (
	"sync"

	"github.com/holdpoint/holdpoint/runs/reads"
)

const (
	// maxNotices is the maximum number of sessions in the queue.
	maxNotices = 4096
	// maxNoticeBytes limits the events in queued notices. Further events are read from the store.
	maxNoticeBytes = 8 << 20
)

// noticeQueue collects notices about requests, one for each session, while earlier ones are
// processed. Beyond its limits it drops everything and reports that.
type noticeQueue struct {
	// ready is signalled when there are notices or a requested snapshot.
	ready chan struct{}

	mu      sync.Mutex
	waiting map[string]int // index in notices
	notices []reads.Notice
	bytes   int
	lost    bool
}

func newNoticeQueue() *noticeQueue {
	return &noticeQueue{ready: make(chan struct{}, 1), waiting: map[string]int{}}
}

// add runs on the commit path and never blocks.
func (q *noticeQueue) add(notice reads.Notice) {
	if notice.SessionID != "" && !notice.Prompts {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes += bytesOf(notice.Events); q.bytes > maxNoticeBytes {
		notice.Events = nil
	}
	at, seen := q.waiting[notice.SessionID]
	switch {
	case q.lost:
		return // everything is read again
	case notice.SessionID == "", notice.FirstEventID == 0, !seen && len(q.notices) == maxNotices,
		seen && q.notices[at].Life != notice.Life:
		q.lost, q.notices = true, nil
		clear(q.waiting)
	case seen:
		q.notices[at] = joined(q.notices[at], notice)
	default:
		q.waiting[notice.SessionID] = len(q.notices)
		q.notices = append(q.notices, reads.Notice{
			SessionID: notice.SessionID, Life: notice.Life, FirstEventID: notice.FirstEventID, LastEventID: notice.LastEventID, Events: notice.Events,
		})
	}
	q.signal()
}

// joined merges two notices. It keeps the events only when there is no gap between them.
func joined(a, b reads.Notice) reads.Notice {
	events := a.Events
	switch {
	case len(a.Events) > 0 && len(b.Events) > 0 && a.LastEventID+1 == b.FirstEventID:
		events = append(events[:len(events):len(events)], b.Events...)
	default:
		events = nil
	}
	return reads.Notice{
		SessionID: a.SessionID, Life: a.Life, FirstEventID: min(a.FirstEventID, b.FirstEventID),
		LastEventID: max(a.LastEventID, b.LastEventID), Events: events,
	}
}

func (q *noticeQueue) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// drain returns the notices and empties the queue. lost says that notices were dropped.
func (q *noticeQueue) drain() (notices []reads.Notice, lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	notices, lost = q.notices, q.lost
	q.notices, q.bytes, q.lost = nil, 0, false
	clear(q.waiting)
	return notices, lost
}
