package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// From says which events a stream has.
type From struct {
	// RunID names the only run whose events are wanted; empty for all of the session.
	RunID string
	// Cursor is the number of the last event that the reader knows, and Mark the mark of its place, "" when
	// that is not known.
	Cursor int64
	Mark   string
	// Closed says that no event follows the one at End, because the run or the session
	// is over.
	Closed bool
	End    int64
}

// What a follower that is behind the window reads at once. Each such follower holds so much
// until its reader has taken it.
const (
	slowBatch = 32
	slowBytes = 256 << 10
)

// Follow writes every event after the cursor, in order and each once, until the run
// or session is over, ctx ends, the hub is done, or the reader accepts no more. A read
// that fails is logged and ends the stream too: the reader continues from the last event
// that it has.
func (s *Subscription) Follow(ctx context.Context, out Out, from From) {
	s.serve(ctx, &frameWriter{out}, from)
}

// Deliver is Follow for a face with frames of its own: it hands over the events
// themselves.
func (s *Subscription) Deliver(ctx context.Context, from From, sink Sink) {
	s.serve(ctx, &sinkWriter{sink: sink}, from)
}

func (s *Subscription) serve(ctx context.Context, to recipient, from From) {
	follower := &sessionFollower{Subscription: s, recipient: to, from: from}
	if err := follower.follow(ctx); err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		s.hub.logger.LogAttrs(ctx, slog.LevelError, "stream",
			slog.String("session_id", s.feed.sessionID), slog.String("run_id", from.RunID), slog.String("error", err.Error()))
	}
}

// sessionFollower writes the stream of a session or a run.
type sessionFollower struct {
	*Subscription
	recipient
	from From
}

func (f *sessionFollower) follow(ctx context.Context) error {
	if !f.from.Closed {
		f.feed.start()
		return f.hub.follow(ctx, f)
	}
	// This log does not grow any more.
	for f.from.Cursor < f.from.End && !f.hub.isDone(ctx) {
		if _, ended, err := f.catchUp(ctx, f.from.End); ended || err != nil {
			return err
		}
	}
	return nil
}

// pass implements follower.
func (f *sessionFollower) pass(ctx context.Context) (changed <-chan struct{}, wrote, ended bool, err error) {
	seen := f.feed.after(f.from.Cursor)
	if seen.missing {
		wrote, ended, err = f.catchUp(ctx, seen.base)
		return nil, wrote, ended, err
	}
	if len(seen.frames) > 0 && !f.at().JoinsOn(seen.frames[0].event) {
		return nil, false, true, nil // the reader comes back with its last id and is told
	}
	for i := range seen.frames {
		one := &seen.frames[i]
		f.from.Cursor, f.from.Mark = one.at.EventID, one.at.Mark
		if f.from.RunID != "" && f.from.RunID != one.event.RunID {
			continue
		}
		wrote = true
		if err := f.event(one.event, one.text); err != nil {
			return nil, wrote, false, err
		}
		if ended = f.endsAt(one.event); ended {
			break
		}
	}
	if wrote {
		err = f.flush()
	}
	return seen.changed, wrote, ended || seen.ended, err
}

// catchUp writes the next events after the cursor from the store. The log is known to
// reach to end at least: when there are no more before it, the cursor is there.
func (f *sessionFollower) catchUp(ctx context.Context, end int64) (wrote, ended bool, err error) {
	query := runs.EventQuery{RunID: f.from.RunID, Kept: true, After: f.from.Cursor, Limit: slowBatch, MaxBytes: slowBytes}
	if query.RunID == "" {
		query.SessionID = f.feed.sessionID
	}
	var events []model.Event
	var more bool
	err = f.hub.OnOwnStack(ctx, func() (err error) {
		events, more, err = f.hub.store.EventsWithin(ctx, query)
		return err
	})
	if err != nil {
		return false, false, err
	}
	if len(events) > 0 && !f.at().JoinsOn(&events[0]) {
		return false, true, nil
	}
	if lost, err := f.lost(ctx, events, end); lost || err != nil {
		// The reader comes back with its last id and is told.
		return false, true, err
	}
	for i := range events {
		one := &events[i]
		if err := f.event(one, nil); err != nil {
			return wrote, false, err
		}
		at := one.Position()
		wrote, f.from.Cursor, f.from.Mark = true, at.EventID, at.Mark
		if ended = f.endsAt(one); ended {
			break
		}
	}
	if !more && f.from.Cursor < end {
		f.from.Cursor, f.from.Mark = end, ""
	}
	if wrote {
		err = f.flush()
	}
	return wrote, ended, err
}

// lost reports whether some of the wanted events after the cursor are not kept any more. The
// events are those that were found there, in a log that reached to end.
func (f *sessionFollower) lost(ctx context.Context, events []model.Event, end int64) (bool, error) {
	if f.from.RunID == "" {
		if len(events) == 0 {
			return f.from.Cursor < end, nil
		}
		return events[0].EventID > f.from.Cursor+1, nil
	}
	// The numbers of a run's events have gaps. It is read after the events, so that it knows of
	// all that went before they were read.
	var session *model.Session
	err := f.hub.OnOwnStack(ctx, func() (err error) {
		session, err = f.hub.store.SessionHead(ctx, f.feed.sessionID)
		return err
	})
	return err == nil && f.from.Cursor < session.FirstKeptEventID-1, err
}

func (f *sessionFollower) at() model.Position {
	return model.Position{EventID: f.from.Cursor, Mark: f.from.Mark}
}

// endsAt reports whether the stream of a run ends with an event.
func (f *sessionFollower) endsAt(event *model.Event) bool {
	return f.from.RunID != "" && endsRun(event)
}
