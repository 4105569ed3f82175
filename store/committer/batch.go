package committer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// process answers every call of a batch. It skips abandoned calls, and calls of locked sessions
// keep waiting in the lane.
func (c *Committer) process(l *lane, batch []*call) {
	batch = slices.DeleteFunc(batch, func(w *call) bool { return w.abandoned() || w.answered() })
	if len(batch) == 0 {
		return
	}
	l.batches++
	defer c.watch(l, batch)()
	if c.spread != nil {
		c.spread.note(len(batch))
		if now := c.spread.generation.Load(); now != l.generation {
			l.generation = now
			l.memory.forget()
		}
	}
	if batch = c.decideRemembered(l, batch); len(batch) == 0 {
		return
	}
	locked, err := c.tryCommit(l, batch, inLane)
	for _, waiting := range locked {
		c.waitForSession(l, waiting)
	}
	if err == nil {
		return
	}
	if !errors.Is(err, ErrRefused) {
		c.giveUp(batch, err)
		return
	}
	c.options.Logger.Debug("batch refused, trying its commands one by one",
		slog.Int("commands", len(batch)), slog.Any("error", err))
	c.tryOneByOne(l, batch, err)
}

// tryOneByOne runs each call of a refused batch in its own transaction. A call that is refused
// again is taken off the lane with its session.
func (c *Committer) tryOneByOne(l *lane, batch []*call, err error) {
	waits, lockTries := map[string]bool{}, 0
	for _, waiting := range batch {
		if waits[waiting.sessionID] {
			c.waitForSession(l, waiting)
			continue
		}
		refusal, locked := err, []*call(nil)
		switch {
		case len(batch) == 1:
		case lockTries >= maxLockTries:
			refusal = nil
		default:
			if locked, refusal = c.tryCommit(l, []*call{waiting}, inLane); refusal == nil && len(locked) == 0 {
				continue
			}
		}
		waits[waiting.sessionID] = true
		switch {
		case len(locked) > 0:
			c.waitForSession(l, waiting)
		case refusal != nil && !errors.Is(refusal, ErrRefused):
			c.giveUp([]*call{waiting}, refusal)
			waits[waiting.sessionID] = false
		default:
			if errors.Is(refusal, ErrLocked) {
				lockTries++
			}
			c.setAside(l, waiting, refusal)
		}
	}
}

// giveUp answers calls whose outcome is unknown, or which the database keeps refusing.
func (c *Committer) giveUp(calls []*call, err error) {
	c.options.Logger.Error("transaction failed", slog.Int("commands", len(calls)), slog.Any("error", err))
	for _, waiting := range calls {
		waiting.answer(runs.Reply{}, fmt.Errorf("%w: %w", runs.ErrUnavailable, err))
	}
}

// decision is the outcome of a call, held until the transaction is durable.
type decision struct {
	call  *call
	reply runs.Reply
	err   error
}

// decisions collects the decisions of one transaction.
type decisions struct {
	all       []decision
	changes   []runs.Change
	changed   []*changedSession
	bySession map[string]*changedSession
	// handed are the claims that were decided for waiting workers.
	handed []handed
	taker  runs.Taker
}

func (d *decisions) grow(calls int) {
	d.all = slices.Grow(d.all, calls)
	d.changes = slices.Grow(d.changes, calls)
	d.changed = slices.Grow(d.changed, calls)
}

// add records a decision and applies its change to the state.
func (d *decisions) add(decided *call, state *runs.State, nowMs int64, change runs.Change, reply runs.Reply, err error) {
	d.all = append(d.all, decision{decided, reply, err})
	if !change.Empty() {
		d.apply(state, nowMs, change)
	}
}

func (d *decisions) apply(state *runs.State, nowMs int64, change runs.Change) {
	session := d.bySession[state.SessionID]
	if session == nil {
		session = &changedSession{state: state, nowMs: nowMs, claimableBefore: map[string]int64{}}
		if d.bySession == nil {
			d.bySession = map[string]*changedSession{}
		}
		d.bySession[state.SessionID] = session
		d.changed = append(d.changed, session)
	}
	session.addChange(change)
	state.Apply(change)
	d.changes = append(d.changes, change)
}

// committed answers the calls of durable decisions and announces their changes.
func (c *Committer) committed(d *decisions) {
	for i := range d.changes {
		for _, run := range d.changes[i].NewRuns {
			c.sessionOf.Add(run.RunID, run.SessionID)
		}
	}
	c.acknowledge(d)
	failpoint.Hit("committer.committed")
	for i := range d.all {
		if d.all[i].err == nil && d.all[i].call.needs.ChangesRules {
			c.answerChange(d.all[i])
		} else {
			d.all[i].call.answer(d.all[i].reply, d.all[i].err)
		}
	}
	d.endHandover(nil)
	failpoint.Hit("committer.answered")
	for _, session := range d.changed {
		c.options.Announce(session.notice())
	}
	if c.options.Observer != nil && len(d.changes) > 0 {
		c.options.Observer.Committed(d.changes)
	}
}

// panicked logs a panic of the calling goroutine.
func (c *Committer) panicked(cause any) {
	c.options.Logger.Error("batch panicked", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
}

// Where a transaction runs.
const (
	inLane       = false
	inBackground = true
)

// tryCommit decides the calls in one transaction and answers them. It returns the calls of locked
// sessions. After an error no call is answered. A background transaction does not touch the lane's
// memory, which belongs to another goroutine.
func (c *Committer) tryCommit(l *lane, calls []*call, background bool) (locked []*call, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Timeout)
	defer cancel()

	answered, written := false, false
	ctx, observed := c.observe(ctx, calls, &Transaction{Lane: l.number, Read: true, Commands: len(calls)}, &written, &err)
	defer observed()
	defer func() {
		if cause := recover(); cause != nil {
			c.panicked(cause)
			if !answered {
				locked, err = nil, fmt.Errorf("the transaction panicked: %v", cause)
			}
		}
	}()

	loads := loadsOf(calls, c.takerWaiting() != nil)
	batch, err := c.engine.Begin(ctx, loads)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer batch.Rollback(ctx)
	failpoint.Hit("committer.begun")

	c.meet(batch, loads)
	remembered := c.rememberLoaded(batch, loads)
	if !background {
		l.memory.loaded(batch, loads)
	}
	d := &decisions{}
	d.grow(len(calls))
	defer d.endHandover(errNotHandedOver)
	for _, waiting := range calls {
		state := batch.State(waiting.sessionID)
		if state == nil {
			locked = append(locked, waiting)
			continue
		}
		if !waiting.beginDeciding() {
			continue
		}
		nowMs := c.momentFor(state, batch.NowMs())
		change, reply, err := c.decideCommand(state, waiting.command, nowMs)
		d.add(waiting, state, nowMs, change, reply, err)
		if r := remembered[waiting.sessionID]; r != nil {
			r.Applied(&change)
		}
	}
	c.handOver(d, remembered)
	failpoint.Hit("committer.decided")
	if len(d.changes) > 0 {
		if err := batch.Commit(ctx, runs.Gather(d.changes)); err != nil {
			return nil, fmt.Errorf("commit: %w", err)
		}
		written = true
	}
	if background {
		// Yield so that the lane can use the released connection before the answered callers send
		// more work.
		runtime.Gosched()
	}
	answered = true
	c.committed(d)
	if c.unread != nil && !background {
		for _, r := range remembered {
			r.Committed()
			l.memory.put(r)
		}
	}
	return locked, nil
}

// meet stores the database's incarnation in the loaded states. If it has changed, meet forgets the
// sessions of all runs and notifies every subscriber.
func (c *Committer) meet(batch Batch, loads []Load) {
	incarnation := batch.Incarnation()
	for i := range loads {
		if state := batch.State(loads[i].SessionID); state != nil {
			state.RuleVersions.Incarnation = incarnation
		}
	}
	if before := c.incarnation.Swap(incarnation); before != incarnation && before != 0 {
		c.sessionOf.Purge()
		c.options.Logger.Warn("the database server was started anew, or is another one: what was remembered of it is read again")
		// Earlier notices may describe commits that the database has lost.
		c.options.Announce(runs.Notice{})
		c.lookForLost()
	}
}

// momentFor returns the time of a decision about a session: now, or the session's last change if
// that is later. Runs count too, because a release changes only its run. The last change may come
// from an estimate that was slightly ahead, and later decisions must still see its results as due.
// A change further ahead than the tolerance is ignored: the clock was set back.
func (c *Committer) momentFor(state *runs.State, nowMs int64) int64 {
	latest, moment := nowMs+c.options.ClockTolerance.Milliseconds(), nowMs
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
func (c *Committer) decideCommand(state *runs.State, command runs.Command, nowMs int64) (change runs.Change, reply runs.Reply, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.options.Logger.Error("decision panicked",
				slog.String("command", command.Spec().Name), slog.String("session_id", state.SessionID),
				slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			change, reply, err = runs.Change{}, runs.Reply{}, fmt.Errorf("%w: %v", ErrPanicked, cause)
		}
	}()
	c.withWebhooks(state)
	state.Stamp = c.options.Stamp()
	return runs.Decide(state, command, nowMs)
}

// changedSession collects the changes of one session for its notice.
type changedSession struct {
	state *runs.State
	// nowMs is the time of all its decisions in the batch.
	nowMs int64
	// claimableBefore holds the ClaimableAtMs of each changed run before the batch. touched has
	// their ids in order.
	claimableBefore map[string]int64
	touched         []string
	// changedEffects are the ids of the effects written by the batch.
	changedEffects []string
	// events are the events written by the batch.
	events  []*model.Event
	prompts bool
}

// addChange must be called before the change is applied to the state.
func (s *changedSession) addChange(change runs.Change) {
	s.events = append(s.events, change.Events...)
	for _, event := range change.Events {
		s.prompts = s.prompts || model.AboutRequest(event.Type)
	}
	for _, list := range [][]*model.Effect{change.NewEffects, change.UpdatedEffects} {
		for _, effect := range list {
			if !slices.Contains(s.changedEffects, effect.EffectID) {
				s.changedEffects = append(s.changedEffects, effect.EffectID)
			}
		}
	}
	for _, list := range [][]*model.Run{change.NewRuns, change.UpdatedRuns} {
		for _, run := range list {
			if _, seen := s.claimableBefore[run.RunID]; seen {
				continue
			}
			var before int64
			if row := s.state.Runs[run.RunID]; row != nil {
				before = row.ClaimableAtMs
			}
			s.claimableBefore[run.RunID] = before
			s.touched = append(s.touched, run.RunID)
		}
	}
}

// claimable returns the runs that became claimable in the batch.
func (s *changedSession) claimable() []runs.Claimable {
	var claimable []runs.Claimable
	for _, runID := range s.touched {
		run := s.state.Runs[runID]
		if at := run.ClaimableAtMs; at != 0 && at <= s.nowMs && at != s.claimableBefore[runID] {
			claimable = append(claimable, runs.Claimable{
				RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID, ClaimableAtMs: at, Principal: run.Principal, HolderPrincipal: run.HolderPrincipal,
			})
		}
	}
	return claimable
}

func (s *changedSession) notice() runs.Notice {
	notice := runs.Notice{SessionID: s.state.SessionID, Prompts: s.prompts, Events: s.events}
	if len(s.events) > 0 {
		notice.FirstEventID = s.events[0].EventID
	}
	if s.state.Session != nil {
		notice.LastEventID, notice.Life = s.state.Session.LastEventID, model.MarkOf(s.state.Session.Life)
	}
	notice.Claimable = s.claimable()
	for _, effectID := range s.changedEffects {
		if effect := s.state.Effects[effectID]; effect.DueAtMs != 0 && effect.DueAtMs <= s.nowMs {
			notice.Owed = append(notice.Owed, runs.DueEffect{SessionID: s.state.SessionID, EffectID: effectID})
		}
	}
	return notice
}
