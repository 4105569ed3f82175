package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// From selects the events of a stream.
type From struct {
	// RunID limits the stream to one run; empty for the whole session.
	RunID string
	// Cursor is the number of the last event that the reader has. Mark is the mark of its position,
	// "" when unknown.
	Cursor int64
	Mark   string
	// End is the number of the newest event when the stream was opened, or 0 when Cursor is that event. Events up to
	// it are read from the log.
	End int64
	// Closed says that the event at End is the last one, because the run or the session is over.
	Closed bool
}

// Limits of one read by a follower that resumes or is behind the window. The follower keeps the result until
// its reader has received it.
const (
	slowBatch = 32
	slowBytes = 256 << 10
)

// Follow writes every event after the cursor, in order and exactly once, until the run or session
// is over, ctx ends, the hub is done, or the reader stops. A failed read is logged and also ends
// the stream: the reader reconnects with its last event id.
func (s *Subscription) Follow(ctx context.Context, out Out, from From) {
	s.serve(ctx, &frameWriter{out}, from)
}

// Deliver is Follow for a dialect with its own frames: it passes the events to a sink.
func (s *Subscription) Deliver(ctx context.Context, from From, sink Sink) {
	s.serve(ctx, &sinkWriter{sink: sink}, from)
}

func (s *Subscription) serve(ctx context.Context, to recipient, from From) {
	follower := &sessionFollower{Subscription: s, recipient: to, from: from}
	if err := follower.follow(ctx); err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		s.hub.options.Logger.LogAttrs(ctx, slog.LevelError, "stream",
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
	// The window keeps events as they were published, and some may have been redacted before the stream was opened.
	for f.from.Cursor < f.from.End && !f.hub.isDone(ctx) {
		if _, ended, err := f.catchUp(ctx, f.from.End); ended || err != nil {
			return err
		}
	}
	if f.from.Closed || f.from.Cursor < f.from.End {
		return nil // this log does not grow any more, or the service is shutting down
	}
	f.feed.start()
	return f.hub.follow(ctx, f)
}

// pass implements follower.
func (f *sessionFollower) pass(ctx context.Context) (changed <-chan struct{}, wrote, ended bool, err error) {
	seen := f.feed.after(f.from.Cursor)
	if seen.missing {
		wrote, ended, err = f.catchUp(ctx, seen.base)
		return nil, wrote, ended, err
	}
	if len(seen.frames) > 0 && !f.at().JoinsOn(seen.frames[0].event) {
		return nil, false, true, nil // the reader reconnects and gets a gap
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

// catchUp writes the next events after the cursor from the store. The log is known to reach at
// least to end. When there are no more events before it, the cursor moves there.
func (f *sessionFollower) catchUp(ctx context.Context, end int64) (wrote, ended bool, err error) {
	query := reads.EventQuery{RunID: f.from.RunID, Kept: true, After: f.from.Cursor, Limit: slowBatch, MaxBytes: slowBytes}
	if query.RunID == "" {
		query.SessionID = f.feed.sessionID
	}
	var events []model.Event
	var more bool
	err = f.hub.OnOwnStack(ctx, func() (err error) {
		events, more, err = f.hub.options.Store.EventsWithin(ctx, query)
		return err
	})
	if err != nil {
		return false, false, err
	}
	if len(events) > 0 && !f.at().JoinsOn(&events[0]) {
		return false, true, nil
	}
	if lost, err := f.lost(ctx, events, end); lost || err != nil {
		// The reader reconnects and gets a gap.
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

// lost reports whether wanted events after the cursor were deleted. The events were read from a log
// that reached to end.
func (f *sessionFollower) lost(ctx context.Context, events []model.Event, end int64) (bool, error) {
	if f.from.RunID == "" {
		if len(events) == 0 {
			return f.from.Cursor < end, nil
		}
		return events[0].EventID > f.from.Cursor+1, nil
	}
	// A run's event numbers have gaps. Read the session after the events, so that it reflects every
	// deletion before that read.
	var session *model.Session
	err := f.hub.OnOwnStack(ctx, func() (err error) {
		session, err = f.hub.options.Store.SessionHead(ctx, f.feed.sessionID)
		return err
	})
	return err == nil && f.from.Cursor < session.FirstKeptEventID-1, err
}

func (f *sessionFollower) at() model.Position {
	return model.Position{EventID: f.from.Cursor, Mark: f.from.Mark}
}

// endsAt reports whether an event ends the stream of a run.
func (f *sessionFollower) endsAt(event *model.Event) bool {
	return f.from.RunID != "" && endsRun(event)
}
