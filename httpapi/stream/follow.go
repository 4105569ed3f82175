package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/holdpoint/holdpoint/runs/model"
)

// From says which events a stream has.
type From struct {
	// RunID names the only run whose events are wanted; empty for all of the session.
	RunID string
	// Cursor is the id of the last event that the reader knows.
	Cursor int64
	// Closed says that no event follows the one at End, because the run or the session
	// is over.
	Closed bool
	End    int64
}

// slowBatch is how many events a follower that is behind the window reads at once.
const slowBatch = 32

// Follow writes every event after the cursor, in order and each once, until the run
// or session is over, ctx ends, the hub is done, or the reader takes no more. A read
// that fails is logged and ends the stream too: the reader knows where to go on.
func (s *Subscription) Follow(ctx context.Context, out Out, from From) {
	s.serve(ctx, &framed{out}, &from)
}

// Deliver is Follow for a face with frames of its own: it hands over the events
// themselves.
func (s *Subscription) Deliver(ctx context.Context, from From, sink Sink) {
	s.serve(ctx, &handed{sink: sink}, &from)
}

func (s *Subscription) serve(ctx context.Context, to recipient, from *From) {
	if err := s.follow(ctx, to, from); err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		s.hub.logger.LogAttrs(ctx, slog.LevelError, "stream",
			slog.String("session_id", s.feed.sessionID), slog.String("run_id", from.RunID), slog.String("error", err.Error()))
	}
}

// follow keeps its frame and those above it small: a follower that waits has them on
// its stack, and stacks come in powers of two.
func (s *Subscription) follow(ctx context.Context, to recipient, from *From) error {
	if from.Closed {
		return s.replay(ctx, to, from)
	}
	s.feed.start()
	silence := s.hub.silence.after()
	for {
		changed, wrote, over, err := s.pass(ctx, to, from)
		if over || err != nil {
			return err
		}
		if wrote {
			silence = s.hub.silence.after()
		}
		if changed == nil {
			if s.hub.isDone(ctx) {
				return nil
			}
			continue
		}
		select {
		case <-changed:
		case <-silence:
			if err := to.silence(); err != nil {
				return err
			}
			silence = s.hub.silence.after()
		case <-s.hub.done:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// pass writes what a follower sees, or the next part of what it no longer sees. The
// channel tells when there is something else to see; it is nil when there is already.
func (s *Subscription) pass(ctx context.Context, to recipient, from *From) (changed <-chan struct{}, wrote, over bool, err error) {
	seen := s.feed.after(from.Cursor)
	if seen.missing {
		wrote, over, err = s.catchUp(ctx, to, from, seen.base)
		return nil, wrote, over, err
	}
	for i := range seen.frames {
		one := &seen.frames[i]
		from.Cursor = one.event.EventID
		if from.RunID != "" && from.RunID != one.event.RunID {
			continue
		}
		wrote = true
		if err := to.take(one.event, one.text); err != nil {
			return nil, wrote, false, err
		}
		if over = from.RunID != "" && one.ends(); over {
			break
		}
	}
	if wrote {
		err = to.flush()
	}
	return seen.changed, wrote, over || seen.over, err
}

// replay writes a log that does not grow any more.
func (s *Subscription) replay(ctx context.Context, to recipient, from *From) error {
	for from.Cursor < from.End && !s.hub.isDone(ctx) {
		if _, _, err := s.catchUp(ctx, to, from, from.End); err != nil {
			return err
		}
	}
	return nil
}

// catchUp reads the next events after the cursor from the store. The log is known to
// reach to an event at least: when there are no more before it, the cursor is there.
func (s *Subscription) catchUp(ctx context.Context, to recipient, from *From, end int64) (wrote, over bool, err error) {
	var events []model.Event
	err = s.hub.Aside(func() (err error) {
		if from.RunID == "" {
			events, err = s.hub.store.SessionEvents(ctx, s.feed.sessionID, from.Cursor, slowBatch)
		} else {
			events, err = s.hub.store.RunEvents(ctx, from.RunID, from.Cursor, slowBatch)
		}
		return err
	})
	if err != nil {
		return false, false, err
	}
	for i := range events {
		one := &events[i]
		if err := to.take(one, nil); err != nil {
			return wrote, false, err
		}
		wrote, from.Cursor = true, one.EventID
		if over = from.RunID != "" && endsRun(one); over {
			break
		}
	}
	if len(events) < slowBatch {
		from.Cursor = max(from.Cursor, end)
	}
	if wrote {
		err = to.flush()
	}
	return wrote, over, err
}

func (h *Hub) isDone(ctx context.Context) bool {
	select {
	case <-h.done:
		return true
	default:
		return ctx.Err() != nil
	}
}
