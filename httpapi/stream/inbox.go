package stream

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// inboxEvents and inboxBytes bound what the inbox keeps for followers that are
	// behind.
	inboxEvents = 8192
	inboxBytes  = 8 << 20
	// inboxQuiet is after how many looks without an event what is kept is let go.
	inboxQuiet = 10
	// inboxPause is how long the inbox lets notices and followers gather after it read
	// something. At rest it reads at once.
	inboxPause = time.Millisecond
	// lookAgain is after how long a difference that no notice has told of is taken for a
	// notice that was lost, and not for one that is under way.
	lookAgain = 100 * time.Millisecond
	// gapPause is the least time between two gaps that all followers have.
	gapPause = 250 * time.Millisecond
)

// inbox reads what happens to the requests of all sessions. It reads once for all its
// followers, and ends with the last of them.
type inbox struct {
	hub *Hub
	// users is how many subscriptions there are; the hub's lock guards it.
	users int

	notices     *intake
	unsubscribe func()
	cancel      context.CancelFunc
	stopped     chan struct{}

	// log and told belong to the goroutine that reads.
	log  *inboxLog
	told told
	// owed says that followers must be told of a gap; gapped fires when they may, and is
	// nil when they may now.
	owed   bool
	gapped <-chan time.Time
	// quiet counts the looks since there was an event. doubted says that the last one is
	// to be confirmed.
	quiet   int
	doubted bool

	mu sync.Mutex
	// window holds the newest batches; the number of its last one is head, and that of
	// its first one base+1. Its elements are never written to again.
	window      []*batch
	count, size int
	base, head  int64
	// gapAt is the number at which all followers had a gap.
	gapAt int64
	// asked is what followers wait for, nil when none waits.
	asked *snapshotCall
	// changed is closed, and replaced, when there is another batch or a gap.
	changed chan struct{}
}

// startInbox hears of commits from the moment it returns.
func startInbox(hub *Hub) *inbox {
	ctx, cancel := context.WithCancel(context.Background())
	in := &inbox{
		hub: hub, notices: newIntake(), cancel: cancel, stopped: make(chan struct{}),
		log: newInboxLog(hub.store), changed: make(chan struct{}),
	}
	in.unsubscribe = hub.store.Subscribe(in.notices.add)
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
	look := time.NewTimer(in.hub.pollInterval)
	defer look.Stop()
	for {
		pause, err := in.turn(ctx)
		if err != nil && ctx.Err() == nil {
			in.report(ctx, err)
			pause = in.hub.pollInterval
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
		case <-in.notices.wake:
		case <-in.gapped:
			in.gapped = nil
		case <-look.C:
			look.Reset(in.look(ctx))
		case <-ctx.Done():
			return
		}
	}
}

func (in *inbox) report(ctx context.Context, err error) {
	in.hub.logger.LogAttrs(ctx, slog.LevelWarn, "read the inbox for streams", slog.String("error", err.Error()))
}

// turn tells what there are notices of, and then takes the snapshot that is asked
// for: whatever was read before it has been told before it. It returns how long the
// next turn must wait.
func (in *inbox) turn(ctx context.Context) (pause time.Duration, err error) {
	notices, lost := in.notices.take()
	if in.owed = in.owed || lost; in.owed {
		// What the notices were of is in the snapshot that comes after the gap.
		in.gapAll()
	} else if len(notices) > 0 {
		events, err := in.log.read(ctx, notices)
		if err != nil {
			in.owed = true
			return 0, err
		}
		in.tell(events)
		pause = inboxPause
	}
	call := in.askedFor()
	if call == nil {
		return pause, nil
	}
	snapshot, err := readOpen(ctx, in.hub.store)
	if err == nil {
		in.told.begin(snapshot)
	}
	in.answer(call, snapshot, err)
	return inboxPause, err
}

// gapAll tells all followers that they may have missed something, unless that was
// only just said: then it is said again when gapped fires.
func (in *inbox) gapAll() {
	if in.gapped != nil {
		return
	}
	in.owed, in.gapped = false, time.After(gapPause)
	in.told.forget()
	in.mu.Lock()
	defer in.mu.Unlock()
	in.head++
	in.gapAt = in.head
	in.letGo()
	in.wakeAll()
}

// look finds what no notice told of, and returns when to look again.
func (in *inbox) look(ctx context.Context) (again time.Duration) {
	if in.quiet++; in.quiet == inboxQuiet {
		in.mu.Lock()
		in.letGo()
		in.mu.Unlock()
	}
	found, err := in.told.check(ctx, in.hub.store)
	if err != nil && ctx.Err() == nil {
		in.report(ctx, err)
	}
	// Among many changes some are always under way: it looks again once.
	if in.doubted = found.doubt && !in.doubted; in.doubted {
		return min(lookAgain, in.hub.pollInterval)
	}
	in.owed = in.owed || found.missed
	return max(in.hub.pollInterval, found.cost)
}

// tell adds events to what followers see.
func (in *inbox) tell(events []*model.Event) {
	if len(events) == 0 {
		return
	}
	in.quiet = 0
	for _, event := range events {
		in.told.fold(event)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	one := newBatch(events)
	in.window = append(in.window, one)
	in.count, in.size, in.head = in.count+len(one.events), in.size+one.size, in.head+1
	if in.count > inboxEvents || in.size > inboxBytes {
		in.trim()
	}
	in.wakeAll()
}

// trim drops the older half, so that it is not called for each batch. It copies what
// stays, because the old array would keep what went.
func (in *inbox) trim() {
	first, last := 0, len(in.window)-1
	for first < last && (in.count > inboxEvents/2 || in.size > inboxBytes/2) {
		in.count, in.size = in.count-len(in.window[first].events), in.size-in.window[first].size
		first++
	}
	in.base += int64(first)
	in.window = slices.Clone(in.window[first:])
}

// letGo drops the whole window. The lock is held.
func (in *inbox) letGo() {
	in.window, in.count, in.size, in.base = nil, 0, 0, in.head
}

// wakeAll wakes all followers. The lock is held.
func (in *inbox) wakeAll() {
	close(in.changed)
	in.changed = make(chan struct{})
}

// inboxSight is what a follower sees of the inbox.
type inboxSight struct {
	batches []*batch
	head    int64
	// gap is why there are batches after the follower's place that are gone; empty when
	// there are none.
	gap     string
	changed <-chan struct{}
}

func (in *inbox) after(cursor int64) inboxSight {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case cursor < in.gapAt:
		return inboxSight{gap: GapMissed}
	case cursor < in.base:
		return inboxSight{gap: GapSlow}
	}
	return inboxSight{batches: in.window[cursor-in.base:], head: in.head, changed: in.changed}
}
