package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/escalation"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/facts"
	"github.com/holdpoint/holdpoint/store/lanes"
)

// Options configure a Door. Zero fields get the default named in their comment.
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
	// Escalations are the settings of escalations; nil for none.
	Escalations *escalation.Settings
	// DefaultExpiry is the deadline of requests that are raised without one. Default: none.
	DefaultExpiry time.Duration
	// NewID creates the identifiers that a command leaves empty. Default: runs.NewID.
	NewID runs.IDSource
	// Stamp creates the stamps of decisions (see runs.State). Default: random numbers.
	Stamp func() int64
	// Announce is called for every session that a committed batch changed, after the callers were
	// answered. It runs on the lane, so it must not block or call the Door. Default: no-op.
	Announce func(reads.Notice)
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

const (
	// stallAfter is how long a batch may be in flight before Stalled reports its lane.
	stallAfter = 5 * time.Second
	// clockTolerance is how far the time of a decision may be from the deciding clock if that clock
	// was not read for it.
	clockTolerance = 100 * time.Millisecond
)

// ErrPanicked is wrapped by the error of a command whose decision panicked. The command had no
// effect.
var ErrPanicked = errors.New("the decision panicked")

// Door runs commands through an Engine in as few transactions as possible. It is safe for
// concurrent use.
type Door struct {
	engine  Engine
	facts   *facts.Cache
	lanes   *lanes.Lanes[*call]
	taker   atomic.Pointer[runs.Taker]
	options Options
	// versioned is the engine if its database may lose commits, or nil. acknowledged holds the
	// newest state of each session that callers were told about.
	versioned    Versioned
	acknowledged *lru.Cache[string, acknowledged]
	// lostChecks counts the checks for lost commits, of which the newest goes on. lostSince is when the first one began that
	// has not ended, in nanoseconds since the epoch, or 0.
	lostChecks, lostSince atomic.Int64
	// retains is the shortest known retention period in nanoseconds, or 0.
	retains atomic.Int64
}

// New starts a Door over an engine. The caller must close it.
func New(engine Engine, options Options) *Door {
	options.Lanes = cmp.Or(max(options.Lanes, 0), 2)
	options.MaxBatch = cmp.Or(max(options.MaxBatch, 0), 128)
	options.MaxBatchRows = cmp.Or(max(options.MaxBatchRows, 0), 1024)
	options.MaxBatchBytes = cmp.Or(max(options.MaxBatchBytes, 0), 4<<20)
	options.LockWait = cmp.Or(options.LockWait, 5*time.Second)
	options.CloseWithin = cmp.Or(options.CloseWithin, 20*time.Second)
	options.Retries = cmp.Or(max(options.Retries, 0), 5)
	options.Timeout = cmp.Or(options.Timeout, 30*time.Second)
	options.RememberedBytes = cmp.Or(options.RememberedBytes, 64<<20)
	if options.Clock == nil {
		started := time.Now()
		options.Clock = func() int64 { return time.Since(started).Milliseconds() }
	}
	options.RememberedRuns = cmp.Or(max(options.RememberedRuns, 0), 1<<16)
	if options.NewID == nil {
		options.NewID = runs.NewID
	}
	if options.Stamp == nil {
		options.Stamp = func() int64 { return rand.Int64N(runs.MaxStamp) }
	}
	if options.Announce == nil {
		options.Announce = func(reads.Notice) {}
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Door{engine: engine, options: options}
	cache := facts.Options{
		Bytes: options.RememberedBytes, Runs: options.RememberedRuns, Rules: options.Rules, Webhooks: options.Webhooks, Addresses: options.NotifyAddressed,
		Local: options.Clock, Tolerance: clockTolerance,
	}
	if clocked, able := engine.(Clocked); able {
		cache.Decides = clocked.NowMs
	}
	d.facts = facts.New(cache)
	if versioned, able := engine.(Versioned); able {
		d.versioned = versioned
		d.acknowledged, _ = lru.New[string, acknowledged](maxAcknowledged)
	}
	d.lanes = lanes.New(d.laneOptions())
	if d.facts.Webhooks != nil {
		d.lanes.Go(func() { d.facts.Webhooks.Watch(d.lanes.Closing(), options.Logger) })
	}
	return d
}

func (d *Door) laneOptions() lanes.Options[*call] {
	o := &d.options
	return lanes.Options[*call]{
		Lanes: o.Lanes, Shard: o.Shard, MaxBatch: o.MaxBatch, MaxRows: o.MaxBatchRows, MaxBytes: o.MaxBatchBytes,
		LockWait: o.LockWait, StallAfter: stallAfter, CloseWithin: o.CloseWithin, Retries: o.Retries,
		// A command may have one delivery for each webhook.
		ExtraRows: func() int { return d.facts.Webhooks.Set().Len() },
		Carry:     d.carryOut, Fail: d.fail, Began: d.began, Clock: o.Clock, Logger: o.Logger,
	}
}

// Do decides a command under the lock of its session and returns once any effect is committed. It
// implements runs.Door, which documents the errors. If the context ends while the command is
// queued, the command is withdrawn. If it ends later, the command may or may not have taken effect.
func (d *Door) Do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	do := d.do
	if d.options.Tracer != nil {
		do = d.traced
	}
	if d.options.Observer == nil {
		return do(ctx, command)
	}
	begun := time.Now()
	reply, err := do(ctx, command)
	d.options.Observer.Answered(command, reply, err, time.Since(begun))
	return reply, err
}

func (d *Door) do(ctx context.Context, command runs.Command) (runs.Reply, error) {
	if d.lanes.Closed() {
		return runs.Reply{}, runs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return runs.Reply{}, err
	}
	size := command.Spec().Size()
	if err := cpulimit.Do(ctx, preparedBytes(size), func() error { return runs.Prepare(command, d.options.NewID) }); err != nil {
		return runs.Reply{}, err
	}
	cpulimit.Charge(ctx, time.Duration(laneSize(size).Cost())*costOfRow)
	if err := d.facts.Webhooks.Ensure(ctx); err != nil {
		return runs.Reply{}, err
	}
	return d.decide(ctx, command)
}

// decideInLane sends a prepared command to the lane of its session and waits for the reply.
func (d *Door) decideInLane(ctx context.Context, command runs.Command, needs runs.Needs, sessionID string) (runs.Reply, error) {
	waiting := &call{
		Item:    lanes.Item{Key: sessionID, Caller: cpulimit.Caller(ctx), Size: laneSize(command.Spec().Size())},
		command: command, needs: needs, span: d.spanOf(ctx),
	}
	switch err := d.lanes.Do(ctx, waiting); {
	case err == nil:
		return waiting.reply, waiting.err
	case errors.Is(err, lanes.ErrClosed):
		return runs.Reply{}, runs.ErrClosed
	case errors.Is(err, lanes.ErrGone):
		return runs.Reply{}, fmt.Errorf("%w: %w", runs.ErrUnavailable, err)
	default:
		return runs.Reply{}, err
	}
}

// RefreshWebhooks reads the webhooks, so that later decisions create deliveries for the current
// ones. It returns the errors of the reader and of the context.
func (d *Door) RefreshWebhooks(ctx context.Context) error { return d.facts.Webhooks.Refresh(ctx) }

// Close rejects new commands, finishes the queued ones and returns once nothing is in flight. It
// returns false after Options.CloseWithin: a lane still uses the engine, and its callers get
// runs.ErrUnavailable. Commands that wait for a locked session get one more try and then
// runs.ErrClosed. Close may be called again.
func (d *Door) Close() (finished bool) { return d.lanes.Close() }
