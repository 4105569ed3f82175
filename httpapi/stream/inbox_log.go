package stream

import (
	"context"
	"slices"

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
)

// inboxLog reads the sessions' logs for the inbox. Each read goes on to the end of the
// log, and all of it is published at once: so a follower that was shown how a request was
// raised was also shown how it was settled, if it was by then.
type inboxLog struct {
	store Store
	// published holds the events of a session that were read without a gap. A session that
	// was evicted is published again, from the first event of a notice on.
	published *lru.Cache[string, span]
}

// span is a part of a session's log, from first to last.
type span struct{ first, last int64 }

func newInboxLog(store Store) *inboxLog {
	published, err := lru.New[string, span](inboxSessions)
	if err != nil {
		panic("stream: " + err.Error()) // only for a size that is not positive
	}
	return &inboxLog{store: store, published: published}
}

// read returns the events about requests that notices are about, in order within each
// session.
func (l *inboxLog) read(ctx context.Context, notices []runs.Notice) ([]*model.Event, error) {
	found := make([][]*model.Event, len(notices))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(inboxReads)
	for i := range notices {
		notice := &notices[i]
		done, known := l.published.Get(notice.SessionID)
		if known && notice.FirstEventID >= done.first && notice.LastEventID <= done.last {
			continue
		}
		if known && notice.FirstEventID == done.last+1 && len(notice.Events) > 0 {
			found[i] = aboutRequests(notice.Events)
			l.published.Add(notice.SessionID, span{done.first, notice.LastEventID})
			continue
		}
		if !known || notice.FirstEventID < done.first || notice.FirstEventID > done.last+readEvents {
			// A worker may have written much since. What lies between is published when its
			// own notice arrives late.
			done = span{notice.FirstEventID, notice.FirstEventID - 1}
		}
		group.Go(func() (err error) {
			found[i], err = l.session(reading, notice.SessionID, done)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}

// session reads what comes after a part of the log.
func (l *inboxLog) session(ctx context.Context, sessionID string, done span) ([]*model.Event, error) {
	var found []*model.Event
	for {
		events, err := l.store.SessionEvents(ctx, sessionID, done.last, readEvents)
		if err != nil {
			return nil, err
		}
		for i := range events {
			if model.AboutRequest(events[i].Type) {
				event := events[i] // by itself, so that it does not keep the others
				found = append(found, &event)
			}
		}
		if len(events) > 0 {
			done.last = events[len(events)-1].EventID
		}
		if len(events) < readEvents {
			l.published.Add(sessionID, done)
			return found, nil
		}
	}
}

func aboutRequests(events []*model.Event) (found []*model.Event) {
	for _, event := range events {
		if model.AboutRequest(event.Type) {
			found = append(found, event)
		}
	}
	return found
}
