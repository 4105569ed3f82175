package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// BacklogReader counts open prompts and queued runs.
type BacklogReader interface {
	// Backlogs returns the backlog of each principal that has one, in any order.
	Backlogs(ctx context.Context) ([]model.Backlog, error)
}

// Backlog limits each principal's open prompts and queued runs. It counts the database from time to
// time and adds everything that this process added since, including calls in progress, so this
// process never exceeds a limit. Between two counts it admits at most a share of each limit, so
// several processes exceed it by at most one share each. When counting fails, calls that need a
// count are refused. A nil Backlog has no limits.
//
// The duration of a count depends on the number of rows. A caller that has waited for patience is
// judged by the latest known numbers. A share is also admitted before the first count is complete.
type Backlog struct {
	known, open Quota
	reader      BacklogReader
	now         func() time.Time
	patience    time.Duration

	mu       sync.Mutex
	callers  map[string]*waits
	begun    int64     // number of started counts
	counted  int64     // number of the newest complete count
	under    *counting // nil while no count is running
	lookedAt time.Time // start of the newest count
	took     time.Duration
}

// counting is a running count. Its error is set when it is done.
type counting struct {
	number int64
	done   chan struct{}
	err    error
}

// Waiting is a number of prompts and queued runs.
type Waiting struct{ Prompts, Queued int64 }

// Taken is the result of a call that wanted to add to the backlog.
type Taken int

// Results.
const (
	// TakenNothing added nothing, TakenAll added everything; with TakenUnknown the result is
	// unknown.
	TakenNothing Taken = iota
	TakenAll
	TakenUnknown
)

const (
	// shares is the number of parts of a limit. One part is admitted between two counts.
	shares = 16
	// recountAfter is the minimum age of a count before a caller at the limit causes another.
	recountAfter = time.Second
	// restOfCounts times the duration of the last count is another minimum age.
	restOfCounts = 20
	// defaultPatience is how long a caller waits for an optional count.
	defaultPatience = 100 * time.Millisecond
	// unknownFor is longer than any call with an unknown result can still take effect.
	unknownFor = time.Minute
)

// waits is a principal's backlog. The members are pairs: prompts and queued runs.
type waits struct {
	counted [2]int64
	// added was committed since the last count began. before is the value of added when the running
	// count began. pending is in progress. unknown may have been committed.
	added, before, pending, unknown [2]int64
	unknownAt                       time.Time
	unknownBefore                   bool
}

func (w *waits) own(kind int) int64 { return w.added[kind] + w.pending[kind] + w.unknown[kind] }

func (w *waits) idle() bool {
	none := [2]int64{}
	return w.counted == none && w.added == none && w.pending == none && w.unknown == none
}

// NewBacklog returns a backlog with the limits of a quota. now is the process's clock.
func NewBacklog(quota Quota, reader BacklogReader, now func() time.Time) *Backlog {
	return &Backlog{
		known: quota.orDefault(), open: quota.ofAll(), reader: reader, now: now,
		patience: defaultPatience, callers: map[string]*waits{},
	}
}

// Take adds to a principal's backlog. Call the returned function with the result. Callers without
// credentials share one backlog. Errors: too_many_prompts, too_many_queued_runs, and errors of the
// reader.
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

// admit admits or refuses a call. It does neither when a count is needed that starts after the
// given one. An impatient caller does without a count where possible.
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
			return nil, refusal.New(code, "%s has %d %s, and the maximum is %d", principal, w.counted[kind]+own, what, limits[kind])
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

// count returns the running count, or starts one.
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
	// Others wait for the count even when its caller gives up.
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

// read turns a panic of the reader into an error.
func (b *Backlog) read(ctx context.Context) (found []model.Backlog, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the count panicked: %v", cause)
		}
	}()
	return b.reader.Backlogs(ctx)
}

// take replaces the numbers from before the count with the counted ones.
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

// Use returns the largest backlogs that this process knows of.
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
