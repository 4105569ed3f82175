package stream

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/holdpoint/holdpoint/runs"
)

// Out is where a stream is written to. Nothing need arrive before Flush. Both
// return an error when the reader takes no more; they must not block for ever.
type Out interface {
	io.Writer
	Flush() error
}

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
	if err := s.follow(ctx, out, &from); err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
		s.report(ctx, from.RunID, err)
	}
}

func (s *Subscription) report(ctx context.Context, runID string, err error) {
	s.hub.logger.LogAttrs(ctx, slog.LevelError, "stream",
		slog.String("session_id", s.feed.sessionID), slog.String("run_id", runID), slog.String("error", err.Error()))
}

// follow keeps its frame and those above it small: a follower that waits has them on
// its stack, and stacks come in powers of two.
func (s *Subscription) follow(ctx context.Context, out Out, from *From) error {
	if from.Closed {
		return s.replay(ctx, out, from)
	}
	s.feed.start()
	silence := s.hub.silence.after()
	for {
		changed, wrote, over, err := s.pass(ctx, out, from)
		if over || err != nil {
			return err
		}
		if wrote {
			silence = s.hub.silence.after()
		}
		if changed == nil {
			if s.isDone(ctx) {
				return nil
			}
			continue
		}
		select {
		case <-changed:
		case <-silence:
			if err := write(out, keepAlive); err != nil {
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
func (s *Subscription) pass(ctx context.Context, out Out, from *From) (changed <-chan struct{}, wrote, over bool, err error) {
	seen := s.feed.after(from.Cursor)
	if seen.missing {
		wrote, over, err = s.catchUp(ctx, out, from, seen.base)
		return nil, wrote, over, err
	}
	for i := range seen.frames {
		one := &seen.frames[i]
		from.Cursor = one.id
		if from.RunID != "" && from.RunID != one.runID {
			continue
		}
		wrote = true
		if _, err := out.Write(one.text); err != nil {
			return nil, wrote, false, errStopped
		}
		if over = from.RunID != "" && one.ends; over {
			break
		}
	}
	if wrote && out.Flush() != nil {
		return nil, wrote, false, errStopped
	}
	return seen.changed, wrote, over || seen.over, nil
}

// replay writes a log that does not grow any more.
func (s *Subscription) replay(ctx context.Context, out Out, from *From) error {
	for from.Cursor < from.End && !s.isDone(ctx) {
		if _, _, err := s.catchUp(ctx, out, from, from.End); err != nil {
			return err
		}
	}
	return nil
}

// catchUp reads the next events after the cursor from the store. The log is known to
// reach to an event at least: when there are no more before it, the cursor is there.
func (s *Subscription) catchUp(ctx context.Context, out Out, from *From, to int64) (wrote, over bool, err error) {
	var events []runs.Event
	if from.RunID == "" {
		events, err = s.hub.store.SessionEvents(ctx, s.feed.sessionID, from.Cursor, slowBatch)
	} else {
		events, err = s.hub.store.RunEvents(ctx, from.RunID, from.Cursor, slowBatch)
	}
	if err != nil {
		return false, false, err
	}
	for i := range events {
		one, err := newFrame(&events[i])
		if err != nil {
			return wrote, false, err
		}
		if _, err := out.Write(one.text); err != nil {
			return wrote, false, errStopped
		}
		wrote, from.Cursor = true, one.id
		if over = from.RunID != "" && one.ends; over {
			break
		}
	}
	if len(events) < slowBatch {
		from.Cursor = max(from.Cursor, to)
	}
	if wrote && out.Flush() != nil {
		return wrote, false, errStopped
	}
	return wrote, over, nil
}

func (s *Subscription) isDone(ctx context.Context) bool {
	select {
	case <-s.hub.done:
		return true
	default:
		return ctx.Err() != nil
	}
}

func write(out Out, text []byte) error {
	if _, err := out.Write(text); err != nil {
		return errStopped
	}
	if out.Flush() != nil {
		return errStopped
	}
	return nil
}
