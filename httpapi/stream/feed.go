package stream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// Limits on the events that a feed keeps and that one read returns. One event is kept and read
// whatever its size.
const (
	windowFrames = 256
	windowBytes  = 512 << 10
	readEvents   = 128
	readBytes    = windowBytes
)

// feed reads new events from the log of one session.
type feed struct {
	hub       *Hub
	sessionID string
	// users counts the subscriptions. The hub's lock guards it.
	users int
	watch *watch.Watch

	starting sync.Once
	cancel   context.CancelFunc
	stopped  chan struct{}

	mu sync.Mutex
	// positioned is false until the feed has found the end of the log.
	positioned bool
	// at is the position of the newest event that was read.
	at model.Position
	// window holds the newest events. Its head is the id of the newest one.
	window window[frame]
	// ended says that the session has ended, and that the window's head is its last event.
	ended bool
}

func newFeed(hub *Hub, sessionID string) *feed {
	return &feed{
		hub: hub, sessionID: sessionID, watch: hub.options.Watches.Session(sessionID),
		window: newWindow[frame](windowFrames, windowBytes),
	}
}

// start makes the feed read from now on. A stream of an unknown session never calls it.
func (f *feed) start() {
	f.starting.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		f.cancel, f.stopped = cancel, make(chan struct{})
		go f.run(ctx)
	})
}

// stop ends the feed and waits for its reader. Call it after the last start.
func (f *feed) stop() {
	f.watch.Close()
	if f.cancel != nil {
		f.cancel()
		<-f.stopped
	}
}

func (f *feed) run(ctx context.Context) {
	defer close(f.stopped)
	timer := time.NewTimer(f.hub.pollAfter())
	defer timer.Stop()
	for checkSession := true; ; {
		var ended bool
		err := f.hub.guard("a feed of streams", func() error {
			return f.hub.OnOwnStack(ctx, func() (err error) {
				ended, err = f.advance(ctx, checkSession)
				return err
			})
		})
		if ended || ctx.Err() != nil {
			return
		}
		if err != nil {
			// The next read starts where this one stopped.
			f.hub.options.Logger.LogAttrs(ctx, slog.LevelWarn, "read events for streams",
				slog.String("session_id", f.sessionID), slog.String("error", err.Error()))
		}
		timer.Reset(f.hub.pollAfter())
		select {
		case <-f.watch.C():
			checkSession = !f.isPositioned()
		case <-timer.C:
			checkSession = true
		case <-ctx.Done():
			return
		}
	}
}

func (f *feed) isPositioned() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.positioned
}

// advance reads new events and reports whether the session has ended. After a hint it reads only
// events. It also checks the session when there were none or a run has ended, because the end of a
// session is not an event.
func (f *feed) advance(ctx context.Context, checkSession bool) (ended bool, err error) {
	if !checkSession {
		count, runEnded, err := f.read(ctx)
		if err != nil {
			return f.ends(err)
		}
		if count > 0 && !runEnded {
			return false, nil
		}
	}
	session, err := f.hub.options.Store.SessionHead(ctx, f.sessionID)
	if refusal.CodeOf(err) == api.CodeSessionNotFound || err == nil && !f.precedes(session) {
		// The session was deleted and possibly created again, or the database was restored. The
		// readers reconnect and get a gap.
		f.end()
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if f.behind(session.Position(), checkSession) {
		if _, _, err := f.read(ctx); err != nil {
			return f.ends(err)
		}
	}
	if session.EndedAtMs == 0 {
		return false, nil
	}
	f.end()
	return true, nil
}

// errOtherHistory: the events do not follow the ones that the feed knows.
var errOtherHistory = errors.New("the log of the session has another history")

// ends ends the feed after errOtherHistory.
func (f *feed) ends(err error) (ended bool, _ error) {
	if errors.Is(err, errOtherHistory) {
		f.end()
		return true, nil
	}
	return false, err
}

// precedes reports whether the newest known event may belong to the session's current log.
func (f *feed) precedes(session *model.Session) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return session.LastEventID > f.at.EventID || session.LastEventID == f.at.EventID && f.at.Of(session.LastEventHash)
}

// end ends the streams of all followers after the events in the window.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.window.wake()
}

func (f *feed) hasEnded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// behind reports whether there are unread events up to newest. The first call sets the start of the
// feed. When a poll finds nothing new the window is dropped.
func (f *feed) behind(newest model.Position, polled bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.positioned:
		f.positioned, f.at, f.window.base, f.window.head = true, newest, newest.EventID, newest.EventID
		f.window.wake()
	case newest.EventID > f.window.head:
		return true
	case polled:
		f.window.drop()
	}
	return false
}

// read reads to the end of the log. It returns the number of events and whether one of them ended a
// run.
func (f *feed) read(ctx context.Context) (count int, runEnded bool, err error) {
	for {
		events, more, err := f.hub.options.Store.EventsWithin(ctx, reads.EventQuery{
			SessionID: f.sessionID, Kept: true, After: f.newest(), Limit: readEvents, MaxBytes: readBytes,
		})
		if err != nil {
			return count, runEnded, err
		}
		frames := make([]frame, len(events))
		for i := range events {
			if frames[i], err = newFrame(&events[i]); err != nil {
				return count, runEnded, err
			}
			runEnded = runEnded || endsRun(&events[i])
		}
		count += len(events)
		f.mu.Lock()
		if len(events) > 0 && !f.at.JoinsOn(&events[0]) {
			f.mu.Unlock()
			return count, runEnded, errOtherHistory
		}
		if len(events) > 0 {
			f.at = frames[len(frames)-1].at
		}
		if len(events) > 0 && events[0].EventID > f.window.head+1 {
			// The missing events were deleted. Followers detect that when they read them.
			f.window.head = events[0].EventID - 1
			f.window.drop()
		}
		f.window.add(frames...)
		f.mu.Unlock()
		if !more {
			return count, runEnded, nil
		}
	}
}

func (f *feed) newest() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.window.head
}

// feedView is a feed as a follower sees it.
type feedView struct {
	// frames follow the follower's cursor.
	frames []frame
	// missing says that the feed no longer has the events after the cursor up to base.
	missing bool
	base    int64
	// ended says that these are the last frames.
	ended bool
	// changed is closed when there are new frames.
	changed <-chan struct{}
}

func (f *feed) after(cursor int64) feedView {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := feedView{base: f.window.base, changed: f.window.changed}
	switch {
	case !f.positioned:
		seen.ended = f.ended // its session was deleted before it began
	case cursor < f.window.base:
		seen.missing = true
	default:
		seen.frames, seen.ended = f.window.after(cursor), f.ended
	}
	return seen
}
