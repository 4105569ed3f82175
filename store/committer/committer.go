package committer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/facts"
)

// Options configure a Committer. Zero fields get the default named in their comment.
type Options struct {
	// Lanes is how many batches may be in flight at once. Sessions are spread over all lanes if
	// every lane has enough work, and share the first lane otherwise. Default: 2.
	Lanes int
	// Shard returns the shard of a session in a sharded database. If shards are numbered from 0 and
	// there are at least as many lanes, no transaction spans two shards. With Shard set, all lanes
	// are always used. Default: a hash, for an unsharded database.
	Shard func(sessionID string) uint64
	// MaxBatch is the maximum number of commands in a transaction. Default: 128.
	MaxBatch int
	// MaxBatchRows and MaxBatchBytes limit the input (events, checkpoints and so on) of all
	// commands in a transaction. A command that exceeds them gets its own transaction. Default:
	// 1,024 and 4 MiB.
	MaxBatchRows, MaxBatchBytes int
	// LockWait is how long a command waits for a session that another transaction has locked. The
	// lane goes on with other sessions meanwhile. Default: 5 s.
	LockWait time.Duration
	// StallAfter is how long a batch may be in flight before Stalled reports its lane. Default: 5
	// s.
	StallAfter time.Duration
	// CloseWithin limits how long Close waits. Default: 20 s.
	CloseWithin time.Duration
	// Values reads the requests whose schemas validate a caller's values, before the command enters
	// a lane. Default: the decision validates under the session's lock, which is for tests only.
	Values runs.ValueReader
	// Rules reads the rules that a command is matched against before it enters a lane. Default: the
	// decision matches exact rules only, which is for tests only.
	Rules runs.RuleReader
	// Webhooks reads the webhooks that receive events. Default: none.
	Webhooks facts.WebhookReader
	// NotifyAfter is how long a request is open before people are notified. Default: never.
	NotifyAfter time.Duration
	// NotifyAddressed notifies people only while somebody has a verified address. Until then a request
	// costs no effect.
	NotifyAddressed bool
	// DefaultExpiry is the deadline of requests that are raised without one. Default: none.
	DefaultExpiry time.Duration
	// NewID creates the identifiers that a command leaves empty. Default: runs.NewID.
	NewID runs.IDSource
	// Stamp creates the stamps of decisions (see runs.State). Default: random numbers.
	Stamp func() int64
	// Announce is called for every session that a committed batch changed, after the callers were
	// answered. It runs on the lane, so it must not block or call the Committer. Default: no-op.
	Announce func(runs.Notice)
	// Retries is how often a command that the database refused is tried in the background. Default:
	// 5.
	Retries int
	// Timeout limits one transaction. Default: 30 s.
	Timeout time.Duration
	// RememberedRuns is the size of the cache from run to session. Default: 65,536.
	RememberedRuns int
	// RememberedBytes limits the cache of session rows, which saves decisions from reading the
	// database. A negative value disables the cache. Default: 64 MiB.
	RememberedBytes int
	// ClockTolerance is how far the time of a decision may be from the deciding clock if that clock
	// was not read for it. Default: 100 ms.
	ClockTolerance time.Duration
	// Clock runs at the pace of the deciding clock, in milliseconds, and is never negative.
	// Default: a monotonic clock.
	Clock func() int64
	// Logger logs panics and failed transactions. Default: discards.
	Logger *slog.Logger
	// Observer receives events of the lanes, for metrics. Default: none.
	Observer Observer
	// Tracer creates spans. Default: none.
	Tracer Tracer
}

// ErrPanicked is wrapped by the error of a command whose decision panicked. The command had no
// effect.
var ErrPanicked = errors.New("the decision panicked")

// Committer runs commands through an Engine in as few transactions as possible. It is safe for
// concurrent use.
type Committer struct {
	engine Engine
	// unread is the engine if it can write without reading first, or nil.
	unread  Unread
	facts   *facts.Cache
	taker   atomic.Pointer[runs.Taker]
	options Options
	// versioned is the engine if its database may lose commits, or nil. acknowledged holds the
	// newest state of each session that callers were told about.
	versioned    Versioned
	acknowledged *lru.Cache[string, acknowledged]
	// retains is the shortest known retention period in nanoseconds, or 0.
	retains atomic.Int64
	lanes   []*lane
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

// New starts a Committer over an engine. The caller must close it.
func New(engine Engine, options Options) *Committer {
	options.Lanes = cmp.Or(max(options.Lanes, 0), 2)
	options.MaxBatch = cmp.Or(max(options.MaxBatch, 0), 128)
	options.MaxBatchRows = cmp.Or(max(options.MaxBatchRows, 0), 1024)
	options.MaxBatchBytes = cmp.Or(max(options.MaxBatchBytes, 0), 4<<20)
	options.LockWait = cmp.Or(options.LockWait, 5*time.Second)
	options.StallAfter = cmp.Or(options.StallAfter, 5*time.Second)
	options.CloseWithin = cmp.Or(options.CloseWithin, 20*time.Second)
	options.Retries = cmp.Or(max(options.Retries, 0), 5)
	options.Timeout = cmp.Or(options.Timeout, 30*time.Second)
	options.RememberedBytes = cmp.Or(options.RememberedBytes, 64<<20)
	options.ClockTolerance = cmp.Or(options.ClockTolerance, 100*time.Millisecond)
	if options.Clock == nil {
		started := time.Now()
		options.Clock = func() int64 { return time.Since(started).Milliseconds() }
	}
	options.RememberedRuns = cmp.Or(max(options.RememberedRuns, 0), 1<<16)
	var over *spread
	if options.Shard == nil {
		over = &spread{lanes: options.Lanes}
		seed := maphash.MakeSeed()
		options.Shard = func(sessionID string) uint64 { return over.lane(maphash.String(seed, sessionID)) }
	}
	if options.NewID == nil {
		options.NewID = runs.NewID
	}
	if options.Stamp == nil {
		options.Stamp = func() int64 { return rand.Int64N(runs.MaxStamp) }
	}
	if options.Announce == nil {
		options.Announce = func(runs.Notice) {}
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Committer{
		engine: engine, options: options, spread: over,
		closing:  make(chan struct{}),
		finished: make(chan struct{}), gone: make(chan struct{}),
	}
	cache := facts.Options{
		Bytes: -1, Runs: options.RememberedRuns, Rules: options.Rules, Webhooks: options.Webhooks, Addresses: options.NotifyAddressed,
		Local: options.Clock, Tolerance: options.ClockTolerance,
	}
	if clocked, able := engine.(Clocked); able {
		cache.Decides = clocked.NowMs
	}
	if unread, able := engine.(Unread); able {
		c.unread, cache.Bytes = unread, options.RememberedBytes
	}
	c.facts = facts.New(cache)
	if versioned, able := engine.(Versioned); able {
		c.versioned = versioned
		c.acknowledged, _ = lru.New[string, acknowledged](maxAcknowledged)
	}
	if c.facts.Webhooks != nil {
		c.running.Go(func() { c.facts.Webhooks.Watch(c.closing, options.Logger) })
	}
	for number := range options.Lanes {
		l := &lane{
			number: number, calls: make(chan *call, options.MaxBatch), locked: map[string]*lockedSession{},
			attempted: make(chan *attempt, 1),
		}
		c.lanes = append(c.lanes, l)
		c.running.Go(func() { c.runLane(l) })
	}
	return c
}

// Do decides a command under the lock of its session and returns once any effect is committed. It
// implements runs.Door, which documents the errors. If the context ends while the command is
// queued, the command is withdrawn. If it ends later, the command may or may not have taken effect.
func (c *Committer) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	do := c.do
	if c.options.Tracer != nil {
		do = c.traced
	}
	if c.options.Observer == nil {
		return do(ctx, command)
	}
	begun := time.Now()
	reply, err := do(ctx, command)
	c.options.Observer.Answered(command, reply, err, time.Since(begun))
	return reply, err
}

func (c *Committer) do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	c.mu.RLock()
	closed := c.closed
	c.mu.RUnlock()
	if closed {
		return runs.Reply{}, runs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return runs.Reply{}, err
	}
	size := command.Spec().Size
	if err := cpulimit.Do(ctx, preparedBytes(size), func() error { return runs.Prepare(command, c.options.NewID) }); err != nil {
		return runs.Reply{}, err
	}
	cpulimit.Charge(ctx, time.Duration(cost(size))*costOfRow)
	if err := c.facts.Webhooks.Ensure(ctx); err != nil {
		return runs.Reply{}, err
	}
	return c.decide(ctx, command)
}

// decideInLane sends a prepared command to the lane of its session and waits for the reply.
func (c *Committer) decideInLane(ctx context.Context, command runs.Command, needs runs.Needs, sessionID string) (runs.Reply, error) {
	c.mu.RLock()
	if c.closed {
		c.mu.RUnlock()
		return runs.Reply{}, runs.ErrClosed
	}
	c.senders.Add(1)
	c.mu.RUnlock()

	waiting, err := c.enqueue(ctx, command, needs, sessionID)
	if err != nil {
		return runs.Reply{}, err
	}
	select {
	case <-waiting.done:
		return waiting.reply, waiting.err
	case <-ctx.Done():
		if waiting.abandon() {
			return runs.Reply{}, ctx.Err()
		}
	case <-c.gone:
		return runs.Reply{}, fmt.Errorf("%w: the store was closed before its lane came to an end", runs.ErrUnavailable)
	}
	// The command is being decided. Return the answer if it is there, or the context's error.
	select {
	case <-waiting.done:
		return waiting.reply, waiting.err
	default:
		return runs.Reply{}, ctx.Err()
	}
}

// enqueue sends a prepared command to its lane.
func (c *Committer) enqueue(ctx context.Context, command runs.Command, needs runs.Needs, sessionID string) (*call, error) {
	defer c.senders.Done()
	waiting := &call{command: command, needs: needs, sessionID: sessionID, size: command.Spec().Size, caller: cpulimit.Caller(ctx), enqueued: time.Now(), span: c.spanOf(ctx), done: make(chan struct{})}
	if c.spread != nil {
		c.spread.stalled(c.busy(c.lanes[0]))
	}
	l := c.lanes[c.options.Shard(sessionID)%uint64(len(c.lanes))]
	select {
	case l.calls <- waiting:
		return waiting, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closing:
		return nil, runs.ErrClosed
	}
}

// RefreshWebhooks reads the webhooks, so that later decisions create deliveries for the current
// ones. It returns the errors of the reader and of the context.
func (c *Committer) RefreshWebhooks(ctx context.Context) error { return c.facts.Webhooks.Refresh(ctx) }

// Close rejects new commands, finishes the queued ones and returns once nothing is in flight. It
// returns false after Options.CloseWithin: a lane still uses the engine, and its callers get
// runs.ErrUnavailable. Commands that wait for a locked session get one more try and then
// runs.ErrClosed. Close may be called again.
func (c *Committer) Close() (finished bool) {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if !first {
		select {
		case <-c.finished:
			return true
		case <-c.gone:
			return false
		}
	}
	close(c.closing)
	go func() {
		c.senders.Wait()
		for _, l := range c.lanes {
			close(l.calls)
		}
		c.running.Wait()
		close(c.finished)
	}()
	late := time.NewTimer(c.options.CloseWithin)
	defer late.Stop()
	select {
	case <-c.finished:
		return true
	case <-late.C:
		c.options.Logger.Error("closing without waiting any longer", slog.Any("error", c.Stalled()))
		close(c.gone)
		return false
	}
}
