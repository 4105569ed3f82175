package door

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/facts"
	"github.com/holdpoint/holdpoint/store/lanes"
)

// carryOut decides calls in as few transactions as possible and answers them. On the first try, it
// decides those whose facts are cached, without reading. The others, and those whose facts turn out to
// be stale, it decides from facts that it loads under the locks of their sessions. It returns the
// calls of sessions that another transaction has locked. After an error the remaining calls have no
// answer.
func (d *Door) carryOut(lane int, calls []*call, mode lanes.Mode) (locked []*call, err error) {
	var stale *facts.Use
	if mode == lanes.Together {
		if use := d.facts.Cached(); use != nil {
			if calls, err = d.carryOutCached(lane, calls, use); err != nil || len(calls) == 0 {
				return nil, err
			}
			stale = use
		}
	}
	b := &batch{door: d, lane: lane, use: d.facts.Loading(stale), background: mode == lanes.Background}
	if err := b.run(calls, b.load); err != nil {
		return nil, err
	}
	return b.left, nil
}

// carryOutCached returns the calls that have to be decided from loaded facts.
func (d *Door) carryOutCached(lane int, calls []*call, use *facts.Use) (left []*call, err error) {
	b := &batch{door: d, lane: lane, use: use}
	err = b.run(calls, nil)
	switch {
	case err == nil:
		return b.left, nil
	case errors.Is(err, errPanicked):
		return nil, err
	case !use.Stale(err, errors.Is(err, ErrRefused)):
		d.fail(b.decided(), err) // the outcome is unknown
		return b.left, nil
	}
	d.options.Logger.Debug("batch refused, deciding it again", slog.Int("commands", len(calls)), slog.Any("error", err))
	for _, waiting := range b.decided() {
		waiting.Leave()
	}
	return calls, nil
}

// errPanicked is wrapped by the error of a batch that panicked.
var errPanicked = errors.New("the transaction panicked")

// batch is the decisions of one transaction, and the facts that they are made from.
type batch struct {
	decisions
	door       *Door
	lane       int
	use        *facts.Use
	background bool
	// transaction has loaded the facts. It is nil if they were cached.
	transaction Batch
	// left are the calls that were not decided because facts are missing.
	left []*call
}

// run decides calls, commits and answers those that it decided. load, if set, begins the transaction.
// After an error no call is answered.
func (b *batch) run(calls []*call, load func(context.Context, []*call) error) (err error) {
	d := b.door
	ctx, cancel := context.WithTimeout(context.Background(), d.options.Timeout)
	defer cancel()
	defer b.use.End()
	answered, written := false, false
	var done func()
	if load != nil {
		ctx, done = d.observe(ctx, calls, &Transaction{Lane: b.lane, Read: true, Commands: len(calls)}, &written, &err)
		defer done()
	}
	defer func() {
		if cause := recover(); cause != nil {
			d.panicked(cause)
			b.use.Forget()
			if !answered {
				err = fmt.Errorf("%w: %v", errPanicked, cause)
			}
		}
	}()
	if load != nil {
		if err := load(ctx, calls); err != nil {
			return err
		}
		defer b.transaction.Rollback(ctx)
	}
	b.decide(calls)
	if len(b.all) == 0 && load == nil {
		return nil
	}
	failpoint.Hit("door.begun")
	defer b.endHandover(errNotHandedOver)
	d.handOver(b)
	if len(b.changes) > 0 {
		failpoint.Hit("door.decided")
		if load == nil {
			var traced []*call
			if d.options.Tracer != nil {
				traced = b.decided()
			}
			ctx, done = d.observe(ctx, traced, &Transaction{Lane: b.lane, Commands: len(b.all)}, &written, &err)
		}
		err = b.commit(ctx)
		written = err == nil
		if load == nil {
			done() // before the calls are answered, so that their callers find it counted
		}
		if err != nil {
			return err
		}
	}
	if b.background {
		// Yield so that the lane can use the released connection before the answered callers send
		// more work.
		runtime.Gosched()
	}
	answered = true
	d.committed(&b.decisions)
	b.use.Committed()
	return nil
}

// load begins the transaction and loads what the calls need.
func (b *batch) load(ctx context.Context, calls []*call) (err error) {
	loads := loadsOf(calls, b.door.takerWaiting() != nil)
	if b.transaction, err = b.door.engine.Begin(ctx, loads); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if b.use.Began(b.transaction.NowMs(), b.transaction.Incarnation()) {
		b.door.anotherDatabase()
	}
	for i := range loads {
		b.use.Loaded(loads[i].SessionID, b.transaction.State(loads[i].SessionID), loads[i].Needs)
	}
	return nil
}

// decide decides as many calls as possible. After one that lacks facts, it skips the later calls of
// that session too, to keep them in order.
func (b *batch) decide(calls []*call) {
	b.grow(len(calls))
	lacks := map[string]bool{}
	for _, waiting := range calls {
		if lacks[waiting.Key] || !b.decideOne(waiting) {
			lacks[waiting.Key] = true
			b.left = append(b.left, waiting)
		}
	}
}

func (b *batch) decideOne(waiting *call) (done bool) {
	session := b.use.Of(waiting.Key, waiting.command, &waiting.needs, waiting.Waited())
	if session == nil {
		return false
	}
	if !waiting.Begin() {
		return true
	}
	nowMs := momentFor(session.State, b.use.NowMs)
	change, reply, err := b.door.decideCommand(session.State, waiting.command, nowMs)
	if !b.use.Proves(session, &waiting.needs, &change, err) {
		waiting.Leave()
		return false
	}
	b.add(waiting, session.State, nowMs, change, reply, err)
	b.use.Applied(session, &change)
	return true
}

// commit writes the changes. If they were decided from cached facts, it checks these.
func (b *batch) commit(ctx context.Context) (err error) {
	writes := runs.Gather(b.changes)
	if b.transaction != nil {
		err = b.transaction.Commit(ctx, writes)
	} else {
		var nowMs int64
		if nowMs, err = b.door.engine.Commit(ctx, b.use.ReadSet(), writes); err == nil {
			b.use.Observed(nowMs)
		}
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (b *batch) decided() []*call {
	calls := make([]*call, len(b.all))
	for i := range b.all {
		calls[i] = b.all[i].call
	}
	return calls
}

// committed answers the calls of durable decisions and announces their changes.
func (d *Door) committed(made *decisions) {
	for i := range made.changes {
		for _, run := range made.changes[i].NewRuns {
			d.facts.InSession(run.RunID, run.SessionID)
		}
	}
	d.acknowledge(made)
	failpoint.Hit("door.committed")
	for i := range made.all {
		if made.all[i].err == nil && made.all[i].call.needs.ChangesRules {
			d.answerChange(made.all[i])
		} else {
			made.all[i].call.answer(made.all[i].reply, made.all[i].err)
		}
	}
	if d.options.Observer != nil {
		for _, claimed := range made.handed {
			d.options.Observer.Answered(claimed.claim, claimed.reply, nil, 0)
		}
	}
	made.endHandover(nil)
	failpoint.Hit("door.answered")
	for _, session := range made.changed {
		d.options.Announce(session.notice())
	}
	if d.options.Observer != nil && len(made.changes) > 0 {
		d.options.Observer.Committed(made.changes)
	}
}

// answerChange answers a command that changed rules, once all decisions based on the old rules have
// ended. It waits in the background and does not block the lane.
func (d *Door) answerChange(one decision) {
	one.call.Settle()
	d.lanes.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), d.options.Timeout)
		defer cancel()
		if err := d.engine.AwaitRuleReaders(ctx); err != nil {
			one.reply = runs.Reply{}
			one.err = fmt.Errorf("%w: the rule is changed, but a decision that was made before may still be under way: %w", runs.ErrUnavailable, err)
		}
		one.call.answer(one.reply, one.err)
	})
}

// panicked logs a panic of the calling goroutine.
func (d *Door) panicked(cause any) {
	d.options.Logger.Error("batch panicked", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
}

// anotherDatabase is called when the incarnation of the database has changed.
func (d *Door) anotherDatabase() {
	d.options.Logger.Warn("the database server was restarted, or is another one: what was remembered of it is read again")
	// Earlier notices may describe commits that the database has lost.
	d.options.Announce(reads.Notice{})
	d.lookForLost()
}

// momentFor returns the time of a decision about a session: now, or the session's last change if
// that is later. Runs count too, because a release changes only its run. The last change may come
// from an estimate that was slightly ahead, and later decisions must still see its results as due.
// A change further ahead than the tolerance is ignored: the clock was set back.
func momentFor(state *runs.State, nowMs int64) int64 {
	latest, moment := nowMs+clockTolerance.Milliseconds(), nowMs
	if session := state.Session; session != nil && session.UpdatedAtMs <= latest {
		moment = max(moment, session.UpdatedAtMs)
	}
	for _, run := range state.Runs {
		if run.SessionID == state.SessionID && run.UpdatedAtMs <= latest {
			moment = max(moment, run.UpdatedAtMs)
		}
	}
	return moment
}

// decideCommand recovers a panic of one decision, so that it does not affect the others.
func (d *Door) decideCommand(state *runs.State, command runs.Command, nowMs int64) (change runs.Change, reply runs.Reply, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			d.options.Logger.Error("decision panicked",
				slog.String("command", command.Spec().Name), slog.String("session_id", state.SessionID),
				slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			change, reply, err = runs.Change{}, runs.Reply{}, fmt.Errorf("%w: %v", ErrPanicked, cause)
		}
	}()
	d.settings(state)
	state.Stamp = d.options.Stamp()
	return runs.Decide(state, command, nowMs)
}

// settings gives a state the cached webhooks and the settings of the process.
func (d *Door) settings(state *runs.State) {
	state.Webhooks = d.facts.Webhooks.Set()
	state.NotifyAfterMs, state.DefaultExpiryMs = d.options.NotifyAfter.Milliseconds(), d.options.DefaultExpiry.Milliseconds()
	state.Notifies, state.Escalations = state.NotifyAfterMs > 0, d.options.Escalations
	if d.options.NotifyAddressed && !d.facts.Webhooks.Anybody() {
		state.NotifyAfterMs = 0
	}
}
