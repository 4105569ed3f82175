package stream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

const (
	// inboxEvents and inboxBytes limit the events that the inbox keeps for slow followers.
	inboxEvents = 8192
	inboxBytes  = 8 << 20
	// quietPolls is the number of polls without an event after which the window is dropped.
	quietPolls = 10
	// inboxPause is how long the inbox collects notices and followers after a read. An idle inbox
	// reads at once.
	inboxPause = time.Millisecond
	// confirmAfter is how long a difference must last before its notice is considered lost and not
	// merely in flight.
	confirmAfter = 100 * time.Millisecond
	// gapPause is the minimum time between two gaps for all followers.
	gapPause = 250 * time.Millisecond
)

// inbox reads events about the requests of all sessions. One inbox serves all followers and ends
// with the last of them.
type inbox struct {
	hub *Hub
	// users counts the subscriptions. The hub's lock guards it.
	users int

	notices     *noticeQueue
	unsubscribe func()
	cancel      context.CancelFunc
	stopped     chan struct{}

	// log and shown belong to the reading goroutine.
	log   *inboxLog
	shown shownState
	// gapDue says that all followers need a gap. gapAllowed fires when they may get one; nil means
	// now.
	gapDue     bool
	gapAllowed <-chan time.Time
	// quiet counts the polls since the last event. unconfirmed says that the last poll found a
	// difference that may be in flight.
	quiet       int
	unconfirmed bool

	clock storeClock
	// showsViewing counts the followers that show who has which requests open.
	showsViewing atomic.Int64

	mu sync.Mutex
	// window holds the newest batches, numbered from 1.
	window window[*batch]
	// gapAt is the number of the last gap for all followers, in the numbering of batches.
	gapAt int64
	// requested is the snapshot that followers wait for, or nil.
	requested *snapshotCall
	viewing   viewing
}

// startInbox subscribes to notices before it returns.
func startInbox(hub *Hub) *inbox {
	ctx, cancel := context.WithCancel(context.Background())
	in := &inbox{
		hub: hub, notices: newNoticeQueue(), cancel: cancel, stopped: make(chan struct{}),
		log: newInboxLog(hub.options.Store), window: newWindow[*batch](inboxEvents, inboxBytes),
	}
	in.unsubscribe = hub.options.Store.Subscribe(in.notices.add)
	go in.run(ctx)
	return in
}

func (in *inbox) stop() {
	in.unsubscribe()
	in.cancel()
	<-in.stopped
}

func (in *inbox) run(ctx context.Context) {
	defer close(in.stopped)
	poll := time.NewTimer(in.hub.options.PollInterval)
	defer poll.Stop()
	for {
		var pause time.Duration
		err := in.hub.guard("the inbox of streams", func() (err error) {
			pause, err = in.process(ctx)
			return err
		})
		if err != nil && ctx.Err() == nil {
			in.report(ctx, err)
			pause = in.hub.options.PollInterval
		}
		if pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			continue
		}
		select {
		case <-in.notices.ready:
		case <-in.gapAllowed:
			in.gapAllowed = nil
		case <-poll.C:
			poll.Reset(in.poll(ctx))
		case <-ctx.Done():
			return
		}
	}
}

func (in *inbox) report(ctx context.Context, err error) {
	in.hub.options.Logger.LogAttrs(ctx, slog.LevelWarn, "read the inbox for streams", slog.String("error", err.Error()))
}

// process publishes the events of the notices and then reads the requested snapshot, so events read
// before a snapshot are also published before it. It returns how long to pause.
func (in *inbox) process(ctx context.Context) (pause time.Duration, err error) {
	notices, lost := in.notices.drain()
	if lost {
		// The database may have lost events and reused their ids.
		in.log.forget()
	}
	if in.gapDue = in.gapDue || lost; in.gapDue {
		// The snapshot after the gap includes the changes in the notices.
		in.gapAll()
		notices = nil
	}
	for len(notices) > 0 {
		var events []*model.Event
		if events, notices, err = in.log.read(ctx, notices); err != nil {
			in.gapDue = true
			if !errors.Is(err, errFarBehind) {
				return 0, err
			}
			in.gapAll()
			break
		}
		in.publish(events)
		pause = inboxPause
	}
	call := in.requestedSnapshot()
	if call == nil {
		return pause, nil
	}
	snapshot, err := readOpen(ctx, in.hub.options.Store, reads.Scope{})
	if err == nil {
		in.shown.snapshot(snapshot)
		in.clock.set(snapshot.NowMs)
		if snapshot.unknown != nil {
			in.report(ctx, snapshot.unknown)
		}
	}
	in.answer(call, snapshot, err)
	return inboxPause, err
}

// gapAll sends all followers a gap. When they just had one, it waits for gapAllowed.
func (in *inbox) gapAll() {
	if in.gapAllowed != nil {
		return
	}
	in.gapDue, in.gapAllowed = false, time.After(gapPause)
	in.shown = shownState{}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.window.head++
	in.gapAt = in.window.head
	in.window.drop()
	in.window.wake()
}

// poll looks for changes without a notice and returns when to poll again.
func (in *inbox) poll(ctx context.Context) (again time.Duration) {
	if in.quiet++; in.quiet == quietPolls {
		in.mu.Lock()
		in.window.drop()
		in.mu.Unlock()
	}
	var found checked
	err := in.hub.guard("the inbox of streams", func() (err error) {
		if err := in.clock.refresh(ctx, in.hub.options.Store); err != nil {
			return err
		}
		found, err = in.shown.check(ctx, in.hub.options.Store)
		return errors.Join(err, in.readViewing(ctx)) // a failing read of who is there must not end the checks
	})
	if err != nil && ctx.Err() == nil {
		in.report(ctx, err)
	}
	// Among many changes some are always in flight, so confirm only once.
	if in.unconfirmed = found.unconfirmed && !in.unconfirmed; in.unconfirmed {
		return min(confirmAfter, in.hub.options.PollInterval)
	}
	in.gapDue = in.gapDue || found.missed
	return max(in.hub.options.PollInterval, found.pause)
}

// publish adds events to the followers' window.
func (in *inbox) publish(events []*model.Event) {
	if len(events) == 0 {
		return
	}
	in.quiet = 0
	for _, event := range events {
		in.shown.event(event)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.window.add(newBatch(in.window.head+1, events))
}

// inboxView is the inbox as a follower sees it.
type inboxView struct {
	batches []*batch
	head    int64
	// gap says why the batches after the follower's cursor are gone; empty when they are not.
	gap     string
	changed <-chan struct{}
	viewing viewing
}

func (in *inbox) after(cursor int64) inboxView {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case cursor < in.gapAt:
		return inboxView{gap: GapMissed}
	case cursor < in.window.base:
		return inboxView{gap: GapSlow}
	}
	return inboxView{batches: in.window.after(cursor), head: in.window.head, changed: in.window.changed, viewing: in.viewing}
}

// requestSnapshot returns the next snapshot to be read.
func (in *inbox) requestSnapshot() *snapshotCall {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.requested == nil {
		in.requested = &snapshotCall{done: make(chan struct{})}
		in.notices.signal()
	}
	return in.requested
}

// requestedSnapshot returns the snapshot that followers wait for, if any. More followers may join
// until it is answered, because commits after its read are published after it.
func (in *inbox) requestedSnapshot() *snapshotCall {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.requested
}

func (in *inbox) answer(call *snapshotCall, snapshot *InboxSnapshot, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	call.snapshot, call.at, call.err = snapshot, in.window.head, err
	in.requested = nil
	close(call.done)
}
