package lanes

import (
	"context"
	"errors"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"
)

// Errors that Carry returns to say that a batch had no effect.
var (
	// ErrRefused means that the batch was refused. Its items may be tried one by one.
	ErrRefused = errors.New("database refused the transaction")
	// ErrLocked wraps ErrRefused: a lock was not granted in time. Its item is tried in the background.
	ErrLocked error = lockedError{}
)

type lockedError struct{}

func (lockedError) Error() string { return ErrRefused.Error() + ": a lock was not granted in time" }
func (lockedError) Unwrap() error { return ErrRefused }

// Errors of items that were not carried out.
var (
	// ErrKeyLocked means that somebody else kept the key locked for Options.LockWait.
	ErrKeyLocked = errors.New("another transaction keeps the session locked")
	// ErrKeyFailing means that earlier items of the key were refused for Options.LockWait.
	ErrKeyFailing = errors.New("the database refuses earlier commands of the session")
	// ErrClosed means that the lanes were closed first.
	ErrClosed = errors.New("the lanes are closed")
	// ErrGone means that closing has not waited for the item, which may or may not be carried out.
	ErrGone = errors.New("the store was closed before its lane came to an end")
)

// Mode is how a batch is tried.
type Mode int

// Modes of a batch.
const (
	// Together is the first try of a batch.
	Together Mode = iota
	// Alone is another try of an item whose batch was refused.
	Alone
	// Background is a try of an item next to its lane, on another goroutine.
	Background
)

// Options configure lanes. All fields without a comment about nil are required.
type Options[W Work] struct {
	// Lanes is how many batches may be in flight at once.
	Lanes int
	// Shard returns the shard of a key: keys of different shards share no batch. If it is nil, keys
	// are spread over all lanes when every lane has enough work, and share the first lane otherwise.
	Shard func(key string) uint64
	// MaxBatch, MaxRows and MaxBytes limit a batch. A larger item gets its own batch.
	MaxBatch, MaxRows, MaxBytes int
	// LockWait is how long an item waits for its key. StallAfter is how long a batch may be in flight
	// before Stalled reports its lane. CloseWithin limits how long Close waits.
	LockWait, StallAfter, CloseWithin time.Duration
	// Retries is how often an item that is refused is tried in the background.
	Retries int
	// ExtraRows returns how many more rows each item counts.
	ExtraRows func() int
	// Carry carries out the items of a batch and ends them. It returns those whose key somebody else
	// has locked. After an error, items that have not ended had no effect if the error wraps
	// ErrRefused, and an unknown one otherwise.
	Carry func(lane int, batch []W, mode Mode) (locked []W, err error)
	// Fail ends items that are not carried out, or whose outcome is unknown.
	Fail func(items []W, err error)
	// Began is called when an item is tried, with the time since it was enqueued and the size of its
	// batch. Nil for none.
	Began func(work W, waited time.Duration, items int)
	// Clock returns milliseconds that are never negative.
	Clock  func() int64
	Logger *slog.Logger
}

// Lanes carry out work in batches. They are safe for concurrent use.
type Lanes[W Work] struct {
	options Options[W]
	lanes   []*lane[W]
	spread  *spread // nil with Options.Shard
	running sync.WaitGroup

	mu      sync.RWMutex
	closed  bool
	closing chan struct{}
	// finished is closed when all lanes have ended, and gone when Close stopped waiting for them.
	finished, gone chan struct{}
	// senders counts the calls of Do that may still send to a lane.
	senders sync.WaitGroup
}

// New starts lanes. The caller must close them.
func New[W Work](options Options[W]) *Lanes[W] {
	s := &Lanes[W]{closing: make(chan struct{}), finished: make(chan struct{}), gone: make(chan struct{})}
	if options.Shard == nil {
		s.spread = &spread{lanes: options.Lanes}
		seed := maphash.MakeSeed()
		options.Shard = func(key string) uint64 { return s.spread.lane(maphash.String(seed, key)) }
	}
	s.options = options
	for number := range options.Lanes {
		l := &lane[W]{
			Lanes: s, number: number, arrivals: make(chan W, options.MaxBatch),
			locked: map[string]*lockedKey[W]{}, attempted: make(chan *attempt[W], 1),
		}
		s.lanes = append(s.lanes, l)
		s.running.Go(l.run)
	}
	return s
}

// Do gives work to the lane of its key and returns nil once it has ended. If the context ends while
// the work is queued, the work is withdrawn. If it ends later, the outcome is unknown. Errors: the
// context's, ErrClosed and ErrGone.
func (s *Lanes[W]) Do(ctx context.Context, work W) error {
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return ErrClosed
	}
	s.senders.Add(1)
	s.mu.RUnlock()
	item := work.item()
	item.enqueued, item.done = time.Now(), make(chan struct{})
	if err := s.send(ctx, work); err != nil {
		return err
	}
	select {
	case <-item.done:
		return nil
	case <-ctx.Done():
		if item.abandon() {
			return ctx.Err()
		}
	case <-s.gone:
		return ErrGone
	}
	// The work has begun. Return its outcome if it is there, or the context's error.
	select {
	case <-item.done:
		return nil
	default:
		return ctx.Err()
	}
}

func (s *Lanes[W]) send(ctx context.Context, work W) error {
	defer s.senders.Done()
	if s.spread != nil {
		s.spread.stalled(s.lanes[0].busy())
	}
	l := s.lanes[s.options.Shard(work.item().Key)%uint64(len(s.lanes))]
	select {
	case l.arrivals <- work:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return ErrClosed
	}
}

// Go runs a function that Close waits for, in its own goroutine. Call it before Close, or within
// Carry.
func (s *Lanes[W]) Go(run func()) { s.running.Go(run) }

// Closed reports whether Close was called.
func (s *Lanes[W]) Closed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// Closing is closed when Close is called.
func (s *Lanes[W]) Closing() <-chan struct{} { return s.closing }

// Close rejects new work, finishes the queued work and returns once nothing is in flight. It returns
// false after Options.CloseWithin: a lane is still busy, and its callers get ErrGone. Items that wait
// for a locked key get one more try and then ErrClosed. Close may be called again.
func (s *Lanes[W]) Close() (finished bool) {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		select {
		case <-s.finished:
			return true
		case <-s.gone:
			return false
		}
	}
	close(s.closing)
	go func() {
		s.senders.Wait()
		for _, l := range s.lanes {
			close(l.arrivals)
		}
		s.running.Wait()
		close(s.finished)
	}()
	select {
	case <-s.finished:
		return true
	case <-time.After(s.options.CloseWithin):
		lane, busy, _ := s.Stalled()
		s.options.Logger.Error("closing without waiting any longer", slog.Int("lane", lane), slog.Duration("busy", busy))
		close(s.gone)
		return false
	}
}
