package stream

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// inboxSessions is of how many sessions the inbox knows which events it has published.
	inboxSessions = 10_000
	// inboxReads is how many sessions are read at once.
	inboxReads = 4
	// inboxReadBytes is how much one session may have that was not published, and how much is
	// gathered before it is published. So a read holds five times as much at most, and one event
	// more of each session.
	inboxReadBytes = 4 << 20
)

// errFarBehind says that a session has more than is published at once.
var errFarBehind = errors.New("the log of a session is far ahead of what was published")

// inboxLog reads the sessions' logs for the inbox. Each read goes on to the end of a
// session's log, and all of it is published at once: so a follower that was shown how a
// request was raised was also shown how it was settled, if it was by then.
type inboxLog struct {
	store Store
	// published holds the events of a session that were read without a gap. A session that
	// was evicted is published again, from the first event of a notice on.
	published *lru.Cache[string, span]
}

// span is a part of the log of a session's life, from first to last.
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

// forget makes all that comes next be published, also under the ids of what was published before.
func (l *inboxLog) forget() { l.published.Purge() }

// read returns the events about requests that notices are about, in order within each
// session, and the notices for which there was no room. Errors: errFarBehind; those of the
// store.
func (l *inboxLog) read(ctx context.Context, notices []runs.Notice) (events []*model.Event, rest []runs.Notice, err error) {
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

// session reads what comes after a part of the log. What workers wrote is not read.
func (l *inboxLog) session(ctx context.Context, notice *runs.Notice, done span) (found []*model.Event, err error) {
	query := runs.EventQuery{
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
