package stream

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs/watch"
)

// What a feed keeps for its followers at most, and how many events are read at once.
const (
	windowFrames = 256
	windowBytes  = 512 << 10
	readEvents   = 128
)

// feed reads the log of one session as it grows.
type feed struct {
	hub       *Hub
	sessionID string
	// users is how many subscriptions there are; the hub's lock guards it.
	users int
	watch *watch.Watch

	starting sync.Once
	cancel   context.CancelFunc
	stopped  chan struct{}

	mu sync.Mutex
	// known is false until the feed has found the end of the log.
	known bool
	// window holds the events after base up to head, which is the newest that was read.
	// Its elements are never written to again: followers hold parts of it.
	window     []frame
	size       int
	base, head int64
	// over says that the session has ended and head is its last event.
	over bool
	// changed is closed, and replaced, when any of the above has changed.
	changed chan struct{}
}

func newFeed(hub *Hub, sessionID string) *feed {
	return &feed{hub: hub, sessionID: sessionID, watch: hub.watches.Session(sessionID), changed: make(chan struct{})}
}

// start lets the feed read from now on. Whoever finds that there is no such session
// never starts one.
func (f *feed) start() {
	f.starting.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		f.cancel, f.stopped = cancel, make(chan struct{})
		go f.run(ctx)
	})
}

// stop ends the feed and waits until it reads no more. It must come after the last
// start.
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
	for look := true; ; {
		var over bool
		err := f.hub.Aside(func() (err error) {
			over, err = f.advance(ctx, look)
			return err
		})
		if over || ctx.Err() != nil {
			return
		}
		if err != nil {
			// The next look begins where this one stopped.
			f.hub.logger.LogAttrs(ctx, slog.LevelWarn, "read events for streams",
				slog.String("session_id", f.sessionID), slog.String("error", err.Error()))
		}
		timer.Reset(f.hub.pollAfter())
		select {
		case <-f.watch.C():
			look = !f.isKnown()
		case <-timer.C:
			look = true
		case <-ctx.Done():
			return
		}
	}
}

func (f *feed) isKnown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

// advance reads what is new, and reports whether nothing will ever be. After a hint
// the events alone are read. The session is looked at besides when there were none,
// or when a run has ended: that is how the end of a session shows, which is no event.
func (f *feed) advance(ctx context.Context, look bool) (over bool, err error) {
	if !look {
		count, ended, err := f.read(ctx)
		if err != nil || count > 0 && !ended {
			return false, err
		}
	}
	session, err := f.hub.store.SessionHead(ctx, f.sessionID)
	if err != nil {
		return false, err
	}
	if f.behind(session.LastEventID, look) {
		if _, _, err := f.read(ctx); err != nil {
			return false, err
		}
	}
	if session.EndedAtMs == 0 {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.tell()
	return true, nil
}

// behind reports whether there are events to read up to the newest. The first time,
// the feed begins there. When it finds nothing new although nobody hinted at it, the
// session is quiet and the window is let go.
func (f *feed) behind(newest int64, unasked bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !f.known:
		f.known, f.base, f.head = true, newest, newest
		f.tell()
	case newest > f.head:
		return true
	case unasked:
		f.window, f.size, f.base = nil, 0, f.head
	}
	return false
}

// read reads up to the end of the log. It returns how many events there were, and
// whether one of them ended a run.
func (f *feed) read(ctx context.Context) (count int, ended bool, err error) {
	for {
		events, err := f.hub.store.SessionEvents(ctx, f.sessionID, f.newest(), readEvents)
		if err != nil {
			return count, ended, err
		}
		frames := make([]frame, len(events))
		for i := range events {
			if frames[i], err = newFrame(&events[i]); err != nil {
				return count, ended, err
			}
			ended = ended || frames[i].ends()
		}
		count += len(events)
		f.add(frames)
		if len(events) < readEvents {
			return count, ended, nil
		}
	}
}

func (f *feed) newest() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head
}

func (f *feed) add(frames []frame) {
	if len(frames) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.window = append(f.window, frames...)
	for i := range frames {
		f.size += frames[i].size()
	}
	f.head = frames[len(frames)-1].event.EventID
	if len(f.window) > windowFrames || f.size > windowBytes {
		f.trim()
	}
	f.tell()
}

// trim drops the older half, so that it is not called for each event. It copies what
// stays, because the old array would keep what went.
func (f *feed) trim() {
	first, last := 0, len(f.window)-1
	for first < last && (len(f.window)-first > windowFrames/2 || f.size > windowBytes/2) {
		f.size -= f.window[first].size()
		first++
	}
	f.base = f.window[first].event.EventID - 1
	f.window = slices.Clone(f.window[first:])
}

// tell wakes all followers. The lock is held.
func (f *feed) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// view is what a follower sees of a feed.
type view struct {
	// frames are those after the follower's cursor.
	frames []frame
	// missing says that there are events after the cursor, up to base, that the feed no
	// longer has.
	missing bool
	base    int64
	// over says that frames are the last.
	over bool
	// changed is closed when there is something else to see.
	changed <-chan struct{}
}

func (f *feed) after(cursor int64) view {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := view{base: f.base, changed: f.changed}
	switch {
	case !f.known:
	case cursor < f.base:
		seen.missing = true
	default:
		at, _ := slices.BinarySearchFunc(f.window, cursor+1, func(one frame, id int64) int { return cmp.Compare(one.event.EventID, id) })
		seen.frames, seen.over = f.window[at:], f.over
	}
	return seen
}
