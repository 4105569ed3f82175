package stream

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

const (
	// inboxSessions is the maximum number of sessions whose published events the inbox tracks.
	inboxSessions = 10_000
	// inboxReads is the number of concurrent reads.
	inboxReads = 4
	// inboxReadBytes limits the unpublished events of one session, and the events collected before
	// they are published. So a read holds at most five times as much, plus one event for each
	// session.
	inboxReadBytes = 4 << 20
)

// errFarBehind: a session has more unpublished events than one read may return.
var errFarBehind = errors.New("the log of a session is far ahead of what was published")

// inboxLog reads the sessions' logs for the inbox. Each read continues to the end of a session's
// log and is published at once. So a follower that sees a request raised also sees it settled, if
// it was settled by then.
type inboxLog struct {
	store Store
	// published is the range of each session's events that was read without a gap. An evicted
	// session is published again from the first event of a notice.
	published *lru.Cache[string, span]
}

// span is a range of events in the log of one session's life.
type span struct {
	first, last int64
	life        string
}

func newInboxLog(store Store) *inboxLog {
	published, err := lru.New[string, span](inboxSessions)
	if err != nil {
		panic("stream: " + err.Error()) // only for a size that is not positive
	}
	return &inboxLog{store: store, published: published}
}

// forget publishes all later events, even if their ids were published before.
func (l *inboxLog) forget() { l.published.Purge() }

// read returns the events about requests for the notices, in order within each session, and the
// notices that did not fit. Errors: errFarBehind; errors of the store.
func (l *inboxLog) read(ctx context.Context, notices []reads.Notice) (events []*model.Event, rest []reads.Notice, err error) {
	found := make([][]*model.Event, len(notices))
	var gathered atomic.Int64
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(inboxReads)
	for i := range notices {
		if gathered.Load() >= inboxReadBytes {
			rest = notices[i:]
			break
		}
		notice := &notices[i]
		done, known := l.published.Get(notice.SessionID)
		known = known && done.life == notice.Life
		if known && notice.FirstEventID >= done.first && notice.LastEventID <= done.last {
			continue
		}
		if known && notice.FirstEventID == done.last+1 && len(notice.Events) > 0 {
			found[i] = aboutRequests(notice.Events)
			gathered.Add(int64(bytesOf(found[i])))
			l.published.Add(notice.SessionID, span{done.first, notice.LastEventID, done.life})
			continue
		}
		if !known || notice.FirstEventID < done.first {
			done = span{notice.FirstEventID, notice.FirstEventID - 1, notice.Life}
		}
		group.Go(func() (err error) {
			found[i], err = l.session(reading, notice, done)
			gathered.Add(int64(bytesOf(found[i])))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return slices.Concat(found...), rest, nil
}

// session reads the events after a span. It skips the events of workers.
func (l *inboxLog) session(ctx context.Context, notice *reads.Notice, done span) (found []*model.Event, err error) {
	query := reads.EventQuery{
		SessionID: notice.SessionID, AboutRequests: true, Kept: true, After: done.last, Limit: readEvents, MaxBytes: inboxReadBytes,
	}
	for more := true; more; {
		var events []model.Event
		if events, more, err = l.store.EventsWithin(ctx, query); err != nil {
			return nil, err
		}
		for i := range events {
			found = append(found, &events[i])
			query.After = events[i].EventID
		}
		if more && bytesOf(found) >= inboxReadBytes {
			return nil, errFarBehind
		}
	}
	l.published.Add(notice.SessionID, span{done.first, max(query.After, notice.LastEventID), done.life})
	return found, nil
}

func bytesOf(events []*model.Event) (size int) {
	for _, event := range events {
		size += len(event.Body)
	}
	return size
}

func aboutRequests(events []*model.Event) (found []*model.Event) {
	for _, event := range events {
		if model.AboutRequest(event.Type) {
			found = append(found, event)
		}
	}
	return found
}
