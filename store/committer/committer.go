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

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Options set up a Committer. Members that are left zero get the default that is
// named beside them.
type Options struct {
	// Lanes is how many batches may be in flight at once. Sessions are spread over them while each
	// has enough to do, else all of them go in the first. Default: 2.
	Lanes int
	// Shard returns the shard of a session, where the database is spread over several. With at
	// least as many lanes as shards that follow each other from 0, no transaction holds sessions of
	// two shards. With it all lanes are used all the time. Default: a hash, for a database of one piece.
	Shard func(sessionID string) uint64
	// MaxBatch is how many commands one transaction takes at most. Default: 128.
	MaxBatch int
	// MaxBatchRows and MaxBatchBytes bound what the commands of one transaction bring
	// together (inputs, events, checkpoints and so on). A command that is larger by itself
	// gets a transaction of its own. Default: 1,024 and 4 MiB.
	MaxBatchRows, MaxBatchBytes int
	// LockWait is how long a command waits for a session that another transaction has
	// locked. Meanwhile the lane goes on with other sessions. Default: 5 s.
	LockWait time.Duration
	// StallAfter is how long a batch may be in flight before Stalled names its lane.
	// Default: 5 s.
	StallAfter time.Duration
	// CloseWithin bounds Close. Default: 20 s.
	CloseWithin time.Duration
	// Values shows the requests whose schemas a caller's values are checked against,
	// before the command is given to a lane. Default: a decision checks by itself, under
	// the lock, which only tests want.
	Values runs.ValueReader
	// Rules reads the rules that a command is matched against before it is given to a lane.
	// Default: a decision matches by itself, from the exact rules alone, which only tests want.
	Rules runs.RuleReader
	// Webhooks reads the webhooks that events are owed to. Default: there are none.
	Webhooks WebhookReader
	// NotifyAfter is how long a request is open before people are told of it. Default: never.
	NotifyAfter time.Duration
	// NewID makes the identifiers that a command leaves to the service. Default:
	// runs.NewID.
	NewID runs.IDSource
	// Stamp makes the stamps of decisions (see runs.State). Default: random numbers.
	Stamp func() int64
	// Announce is told of every session that a committed batch changed, after the
	// callers have been answered. It runs on the lane: it must not block and must not
	// call the Committer. Default: nobody is told.
	Announce func(runs.Notice)
	// Retries is how often a command that the database refuses is tried, beside its lane after
	// the first time. Default: 5.
	Retries int
	// Timeout bounds one transaction. Default: 30 s.
	Timeout time.Duration
	// RememberedRuns is how many runs' sessions are kept in memory. Default: 65,536.
	RememberedRuns int
	// RememberedBytes bounds the rows of sessions that are kept in memory, so that the next
	// decisions about them read nothing. Below 0 nothing is kept. Default: 64 MiB.
	RememberedBytes int
	// ClockTolerance is by how much the moment of a decision may differ from the clock that
	// decides, when the clock was not read for it. Default: 100 ms.
	ClockTolerance time.Duration
	// Clock goes at the pace of the clock that decides, in milliseconds, and is not negative.
	// Default: a clock that nobody sets.
	Clock func() int64
	// Logger is told of panics and of transactions that failed. Default: discards.
	Logger *slog.Logger
	// Observer is told what the lanes do. Default: nobody is.
	Observer Observer
	// Tracer makes spans. Default: nobody does.
	Tracer Tracer
}

// ErrPanicked is wrapped by the error of a command whose decision panicked. It
// took no effect.
var ErrPanicked = errors.New("the decision panicked")

// Committer carries commands through an Engine in as few transactions as it can.
// It is safe for concurrent use.
type Committer struct {
	engine Engine
	// unread is the engine if it can write without having read, else nil.
	unread Unread
	// parted is the engine if it writes large commands in parts, else nil.
	parted Parted
	clock  clock
	taker  atomic.Pointer[runs.Taker]
	// incarnation is that of the database as it was met last, 0 before the first.
	incarnation atomic.Int64
	options     Options
	sessionOf   *lru.Cache[string, string]
	// versioned is the engine if its database may lose what it has committed, else nil, and acknowledged
	// has what was told to callers last.
	versioned    Versioned
	acknowledged *lru.Cache[string, acknowledged]
	// retains is the shortest known horizon of retention in nanoseconds, 0 for none.
	retains  atomic.Int64
	rules    *ruleCache    // nil without Options.Rules
	webhooks *webhookCache // nil without Options.Webhooks
	lanes    []*lane
	spread   *spread // nil with Options.Shard
	running  sync.WaitGroup

	mu      sync.RWMutex
	closed  bool
	closing chan struct{}
	// finished is closed when no lane runs any more, gone when Close did not wait for that.
	finished, gone chan struct{}
	// senders are the calls of Do that may still put something into a lane.
	senders sync.WaitGroup
}

// New starts a Committer over an engine. It must be closed.
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
		options.Clock = monotonicMs()
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
	// The only error is a size below 1.
	sessionOf, _ := lru.New[string, string](options.RememberedRuns)
	c := &Committer{
		engine: engine, options: options, sessionOf: sessionOf, spread: over,
		closing:  make(chan struct{}),
		finished: make(chan struct{}), gone: make(chan struct{}),
		clock: clock{local: options.Clock},
	}
	if clocked, able := engine.(Clocked); able {
		c.clock.decides = clocked.NowMs
	}
	if unread, able := engine.(Unread); able && options.RememberedBytes > 0 {
		c.unread = unread
	}
	c.parted, _ = engine.(Parted)
	if versioned, able := engine.(Versioned); able {
		c.versioned = versioned
		c.acknowledged, _ = lru.New[string, acknowledged](maxAcknowledged)
	}
	if options.Rules != nil {
		c.rules = newRuleCache(options.Rules)
	}
	if options.Webhooks != nil {
		c.webhooks = &webhookCache{reader: options.Webhooks}
		c.running.Go(c.watchWebhooks)
	}
	for number := range options.Lanes {
		l := &lane{
			number: number, calls: make(chan *call, options.MaxBatch), locked: map[string]*lockedSession{},
			memory: newMemory(options.RememberedBytes / options.Lanes), attempted: make(chan *attempt, 1),
		}
		c.lanes = append(c.lanes, l)
		c.running.Go(func() { c.runLane(l) })
	}
	return c
}

// Do decides a command under the lock of its session and returns once its effect,
// if it has any, is committed. It implements runs.Door; see there for the errors.
// A context that ends while the command still waits for its turn takes the command
// back; one that ends later leaves it open whether the command took effect.
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
	if err := c.webhooks.ensure(ctx); err != nil {
		return runs.Reply{}, err
	}
	decide := func() (runs.Reply, error) { return c.decideInLane(ctx, command) }
	if c.rules != nil && runs.RaisesApprovals(command) {
		decide = func() (runs.Reply, error) { return c.decideMatched(ctx, command) }
	}
	if c.options.Values != nil {
		unchecked := decide
		decide = func() (runs.Reply, error) { return runs.DecideChecked(ctx, c.options.Values, command, unchecked) }
	}
	return c.decideWhereItIs(ctx, command, decide)
}

// decideWhereItIs decides a command. If the run is not in the session where it was last seen, the run is
// looked up again and the command decided there: a run id that retention has freed may be used in
// another session, by another replica.
func (c *Committer) decideWhereItIs(ctx context.Context, command runs.Command, decide func() (runs.Reply, error)) (runs.Reply, error) {
	needs := command.Needs()
	var before string
	if needs.SessionID == "" {
		before, _ = c.sessionOf.Get(needs.RunID)
	}
	reply, err := decide()
	if before == "" || refusal.CodeOf(err) != api.CodeRunNotFound {
		return reply, err
	}
	c.sessionOf.Remove(needs.RunID)
	now, lookedUp := c.session(ctx, needs)
	switch {
	case lookedUp != nil:
		return runs.Reply{}, lookedUp
	case now == before:
		return reply, err
	}
	return decide()
}

// decideInLane decides a prepared command, a second time when the decision lacked rows.
func (c *Committer) decideInLane(ctx context.Context, command runs.Command) (runs.Reply, error) {
	reply, err := c.decideOnce(ctx, command)
	if runs.Lacked(command, err) {
		return c.decideOnce(ctx, command)
	}
	return reply, err
}

// decideOnce gives a prepared command to the lane of its session and waits for the reply.
func (c *Committer) decideOnce(ctx context.Context, command runs.Command) (runs.Reply, error) {
	c.mu.RLock()
	if c.closed {
		c.mu.RUnlock()
		return runs.Reply{}, runs.ErrClosed
	}
	c.senders.Add(1)
	c.mu.RUnlock()

	waiting, err := c.enqueue(ctx, command)
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
	// It is being decided. Whoever gave up is told so, unless the answer is there.
	select {
	case <-waiting.done:
		return waiting.reply, waiting.err
	default:
		return runs.Reply{}, ctx.Err()
	}
}

// enqueue finds the session of a prepared command and gives the command to its lane.
func (c *Committer) enqueue(ctx context.Context, command runs.Command) (*call, error) {
	defer c.senders.Done()
	needs := command.Needs()
	sessionID, err := c.session(ctx, needs)
	if err != nil {
		return nil, err
	}
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

// session returns the session whose lock a command needs.
func (c *Committer) session(ctx context.Context, needs runs.Needs) (string, error) {
	// A text that nothing can be called by never reaches the database.
	if needs.SessionID != "" && needs.SessionID != rules.AllSessions && !refusal.ValidID(needs.SessionID) {
		return "", refusal.UnknownSession(needs.SessionID)
	}
	if needs.SessionID != "" {
		return needs.SessionID, nil
	}
	if !refusal.ValidID(needs.RunID) {
		return "", refusal.UnknownRun(needs.RunID)
	}
	if sessionID, known := c.sessionOf.Get(needs.RunID); known {
		return sessionID, nil
	}
	sessionID, err := c.engine.SessionOf(ctx, needs.RunID)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("%w: %w", runs.ErrUnavailable, err)
	case sessionID == "":
		return "", refusal.UnknownRun(needs.RunID)
	}
	c.sessionOf.Add(needs.RunID, sessionID)
	return sessionID, nil
}

// Close stops taking commands, finishes those that it has, and returns when nothing is in
// flight, or after Options.CloseWithin. Then it returns false: a lane still uses the engine,
// and whoever waits for it gets runs.ErrUnavailable. Commands that wait for a locked session
// are tried once more and end with runs.ErrClosed. Close may be called again.
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
