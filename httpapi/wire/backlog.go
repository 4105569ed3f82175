package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// BacklogReader counts what waits.
type BacklogReader interface {
	// Backlogs returns what each principal has waiting, in no order; none for those who have nothing.
	Backlogs(ctx context.Context) ([]model.Backlog, error)
}

// Backlog bounds what each principal has waiting: its open prompts and its queued runs. What is in
// the database is counted now and then, and what this process has added since is added to it, calls under way
// included: it admits nothing beyond a limit. Of each limit it admits a share at most before it
// counts anew, so several processes exceed it by no more than one share each. When nothing can be
// counted, what would need it is refused. A nil Backlog bounds nothing.
//
// A count takes as long as there are rows. Whoever has waited for patience is judged by what is
// known: a share is admitted also before the first count has come to its end.
type Backlog struct {
	known, open Quota
	reader      BacklogReader
	now         func() time.Time
	patience    time.Duration

	mu       sync.Mutex
	callers  map[string]*waits
	begun    int64     // counts that were begun
	counted  int64     // the newest count that came to its end, by its number
	under    *counting // nil when nobody counts
	lookedAt time.Time // when the newest count began
	took     time.Duration
}

// counting is a count that is under way. Its error is there when it is done.
type counting struct {
	number int64
	done   chan struct{}
	err    error
}

// Waiting is how much something adds to what waits.
type Waiting struct{ Prompts, Queued int64 }

// Taken says what became of what was to be added.
type Taken int

// What became of it.
const (
	// TakenNothing added nothing, TakenAll added all of it, and of TakenUnknown it is not known.
	TakenNothing Taken = iota
	TakenAll
	TakenUnknown
)

const (
	// shares is in how many parts a limit is admitted before the next count.
	shares = 16
	// recountAfter is how old a count must be for another one on behalf of somebody at the limit.
	recountAfter = time.Second
	// restOfCounts is how many times as long as it took a count must be old, too.
	restOfCounts = 20
	// defaultPatience is how long a caller waits for a count that it can do without.
	defaultPatience = 100 * time.Millisecond
	// unknownFor is longer than anything of which it is not known whether it takes effect may take.
	unknownFor = time.Minute
)

// waits is what a principal has waiting. The members are pairs: prompts, and queued runs.
type waits struct {
	counted [2]int64
	// added is what was committed since the count began, before what had been when the count that is
	// under way began, pending what is under way, and unknown what may have been committed.
	added, before, pending, unknown [2]int64
	unknownAt                       time.Time
	unknownBefore                   bool
}

func (w *waits) own(kind int) int64 { return w.added[kind] + w.pending[kind] + w.unknown[kind] }

func (w *waits) idle() bool {
	none := [2]int64{}
	return w.counted == none && w.added == none && w.pending == none && w.unknown == none
}

// NewBacklog returns a backlog with the limits of a quota. The clock is that of the process.
func NewBacklog(quota Quota, reader BacklogReader, now func() time.Time) *Backlog {
	return &Backlog{
		known: quota.orDefault(), open: quota.ofAll(), reader: reader, now: now,
		patience: defaultPatience, callers: map[string]*waits{},
	}
}

// Take adds to what a principal has waiting, and returns what must be called when it is known what
// became of it. Where no credential is asked for, all callers are bounded together. Errors:
// too_many_prompts, too_many_queued_runs, and those of the reader.
func (b *Backlog) Take(ctx context.Context, principal string, open bool, adds Waiting) (done func(Taken), err error) {
	if b == nil {
		return func(Taken) {}, nil
	}
	quota, key := b.known, principal
	if open {
		quota, key = b.open, ""
	}
	limits, wanted := [2]int64{quota.Prompts, quota.Queued}, [2]int64{adds.Prompts, adds.Queued}
	for kind := range wanted {
		if limits[kind] < 0 {
			wanted[kind] = 0
		}
	}
	if wanted == [2]int64{} {
		return func(Taken) {}, nil
	}
	b.mu.Lock()
	asked := b.begun
	b.mu.Unlock()
	var impatient bool
	var patience <-chan time.Time
	for {
		admitted, refused := b.admit(key, principal, limits, wanted, asked, impatient)
		if admitted != nil || refused != nil {
			return admitted, refused
		}
		if patience == nil {
			timer := time.NewTimer(b.patience)
			defer timer.Stop()
			patience = timer.C
		}
		count := b.count(ctx)
		select {
		case <-count.done:
			if count.err != nil && count.number > asked {
				return nil, count.err
			}
		case <-patience:
			impatient = true
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// admit admits or refuses, or does neither when a count is needed that began after the one of the
// given number. An impatient caller does without, as far as that may be.
func (b *Backlog) admit(key, principal string, limits, wanted [2]int64, asked int64, impatient bool) (done func(Taken), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.callers[key]
	if w == nil {
		w = &waits{}
		b.callers[key] = w
	}
	fresh := b.counted > asked
	for kind, add := range wanted {
		if add == 0 {
			continue
		}
		own := w.own(kind)
		fits := w.counted[kind]+own+add <= limits[kind]
		known := b.counted > 0
		switch {
		case fits && fresh, fits && (known || impatient) && own+add <= limits[kind]/shares:
		case fits, !fresh && !known, !fresh && !impatient && b.now().Sub(b.lookedAt) >= max(recountAfter, restOfCounts*b.took):
			return nil, nil
		default:
			code, what := CodeTooManyPrompts, "open prompts"
			if kind == 1 {
				code, what = CodeTooManyQueuedRuns, "queued runs"
			}
			return nil, refusal.New(code, "%s has %d %s, and may have %d", principal, w.counted[kind]+own, what, limits[kind])
		}
	}
	w.add(&w.pending, wanted, 1)
	return func(taken Taken) {
		b.mu.Lock()
		defer b.mu.Unlock()
		w.add(&w.pending, wanted, -1)
		switch taken {
		case TakenNothing:
		case TakenAll:
			w.add(&w.added, wanted, 1)
		case TakenUnknown:
			w.add(&w.unknown, wanted, 1)
			w.unknownAt = b.now()
		}
	}, nil
}

func (*waits) add(to *[2]int64, wanted [2]int64, times int64) {
	for kind, add := range wanted {
		to[kind] += times * add
	}
}

// count returns the count that is under way, or begins one.
func (b *Backlog) count(ctx context.Context) *counting {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.under != nil {
		return b.under
	}
	b.begun++
	c, at := &counting{number: b.begun, done: make(chan struct{})}, b.now()
	b.under = c
	for _, w := range b.callers {
		w.before = w.added
		w.unknownBefore = at.Sub(w.unknownAt) > unknownFor
	}
	// Others wait for it when its caller does not any more.
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer close(c.done)
		found, err := b.read(ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.under = nil
		if c.err = err; err != nil {
			return
		}
		b.counted, b.lookedAt, b.took = c.number, at, b.now().Sub(at)
		b.take(found)
	}()
	return c
}

// read keeps a panic of the reader from the process.
func (b *Backlog) read(ctx context.Context) (found []model.Backlog, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the count panicked: %v", cause)
		}
	}()
	return b.reader.Backlogs(ctx)
}

// take puts what was counted in the place of what was known when the count began.
func (b *Backlog) take(found []model.Backlog) {
	for _, w := range b.callers {
		w.counted = [2]int64{}
		w.add(&w.added, w.before, -1)
		w.before = [2]int64{}
		if w.unknownBefore {
			w.unknown, w.unknownBefore = [2]int64{}, false
		}
	}
	all := [2]int64{}
	for _, one := range found {
		counts := [2]int64{one.Prompts, one.Queued}
		all[0], all[1] = all[0]+one.Prompts, all[1]+one.Queued
		if w := b.callers[one.Principal]; w != nil {
			w.counted = counts
		} else if one.Principal != "" {
			b.callers[one.Principal] = &waits{counted: counts}
		}
	}
	if w := b.callers[""]; w != nil {
		w.counted = all
	}
	for key, w := range b.callers {
		if w.idle() {
			delete(b.callers, key)
		}
	}
}

// Use says how much the busiest principals have waiting, as far as this process knows.
func (b *Backlog) Use() (most Waiting) {
	if b == nil {
		return most
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.callers {
		most.Prompts = max(most.Prompts, w.counted[0]+w.own(0))
		most.Queued = max(most.Queued, w.counted[1]+w.own(1))
	}
	return most
}
