package committer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// work carries the calls of one lane. While a batch is in flight the next one
// gathers in the channel; at rest a batch is one call and waits for nobody.
func (c *Committer) work(lane chan *call) {
	for first := range lane {
		batch := []*call{first}
	gather:
		for len(batch) < c.options.MaxBatch {
			select {
			case next, open := <-lane:
				if !open {
					break gather
				}
				batch = append(batch, next)
			default:
				break gather
			}
		}
		c.process(batch)
	}
}

// process answers every call of a batch that has not been abandoned.
func (c *Committer) process(batch []*call) {
	batch = slices.DeleteFunc(batch, (*call).abandoned)
	if len(batch) == 0 {
		return
	}
	err := c.tryCommit(batch)
	if err == nil {
		return
	}
	if !errors.Is(err, ErrRefused) {
		c.giveUp(batch, err)
		return
	}
	c.options.Logger.Debug("batch refused, trying its commands one by one",
		slog.Int("commands", len(batch)), slog.Any("error", err))
	for _, one := range batch {
		c.retryIndividually(one, len(batch) == 1)
	}
}

// retryIndividually tries one call by itself, a few times: what refused it was often another
// transaction that made the same row, and then that row is found.
func (c *Committer) retryIndividually(one *call, tried bool) {
	tries := c.options.Retries
	if tried {
		tries--
	}
	err := ErrRefused
	for try := range max(tries, 1) {
		if try > 0 {
			time.Sleep(time.Millisecond << min(try, 6))
		}
		if err = c.tryCommit([]*call{one}); err == nil {
			return
		}
		if !errors.Is(err, ErrRefused) {
			break
		}
	}
	c.giveUp([]*call{one}, err)
}

// giveUp answers calls of which it is not known whether they took effect, or which
// the database keeps refusing.
func (c *Committer) giveUp(calls []*call, err error) {
	c.options.Logger.Error("transaction failed", slog.Int("commands", len(calls)), slog.Any("error", err))
	for _, one := range calls {
		one.answer(runs.Reply{}, fmt.Errorf("%w: %w", runs.ErrUnavailable, err))
	}
}

// decision is the outcome of a call, kept until it is durable.
type decision struct {
	call  *call
	reply runs.Reply
	err   error
}

// tryCommit decides the calls in one transaction and answers them. After an error it
// has answered none.
func (c *Committer) tryCommit(calls []*call) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.options.Timeout)
	defer cancel()

	answered := false
	defer func() {
		if cause := recover(); cause != nil {
			c.options.Logger.Error("batch panicked", slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			if !answered {
				err = fmt.Errorf("the transaction panicked: %v", cause)
			}
		}
	}()

	batch, err := c.engine.Begin(ctx, loadsOf(calls))
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer batch.Rollback(ctx)
	failpoint.Hit("committer.begun")

	decisions, changes, changed := c.decide(batch, calls)
	failpoint.Hit("committer.decided")
	if len(changes) > 0 {
		if err := batch.Commit(ctx, runs.Gather(changes)); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		for i := range changes {
			for _, run := range changes[i].NewRuns {
				c.sessionOf.Add(run.RunID, run.SessionID)
			}
		}
	}
	failpoint.Hit("committer.committed")
	answered = true
	for _, d := range decisions {
		d.call.answer(d.reply, d.err)
	}
	failpoint.Hit("committer.answered")
	for _, session := range changed {
		c.options.Announce(session.notice(batch.NowMs()))
	}
	return nil
}

// decide decides the calls in their order, each on the state that those before it
// left.
func (c *Committer) decide(batch Batch, calls []*call) ([]decision, []runs.Change, []*changedSession) {
	decisions := make([]decision, 0, len(calls))
	changes := make([]runs.Change, 0, len(calls))
	var changed []*changedSession
	bySession := map[string]*changedSession{}
	for _, one := range calls {
		if !one.beginDeciding() {
			continue
		}
		state := batch.State(one.sessionID)
		change, reply, err := c.decideOne(state, one.command, batch.NowMs())
		decisions = append(decisions, decision{one, reply, err})
		if change.Empty() {
			continue
		}
		session := bySession[one.sessionID]
		if session == nil {
			session = &changedSession{state: state, claimableBefore: map[string]int64{}}
			bySession[one.sessionID] = session
			changed = append(changed, session)
		}
		session.note(change)
		state.Apply(change)
		changes = append(changes, change)
	}
	return decisions, changes, changed
}

// decideOne keeps a panic of one decision from reaching the others.
func (c *Committer) decideOne(state *runs.State, command runs.Command, nowMs int64) (change runs.Change, reply runs.Reply, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			c.options.Logger.Error("decision panicked",
				slog.String("command", fmt.Sprintf("%T", command)), slog.String("session_id", state.SessionID),
				slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			change, reply, err = runs.Change{}, runs.Reply{}, fmt.Errorf("%w: %v", ErrPanicked, cause)
		}
	}()
	return runs.Decide(state, command, nowMs)
}

// changedSession is what a notice is made from.
type changedSession struct {
	state *runs.State
	// claimableBefore holds the ClaimableAtMs that the changed runs had before the
	// batch, in the order of touched.
	claimableBefore map[string]int64
	touched         []string
	// owed are the effects that the batch made due.
	owed []string
	// events are those of the batch.
	events  []*model.Event
	prompts bool
}

// note must be called before the change is applied.
func (s *changedSession) note(change runs.Change) {
	s.events = append(s.events, change.Events...)
	for _, event := range change.Events {
		s.prompts = s.prompts || model.AboutRequest(event.Type)
	}
	for _, list := range [][]*model.Effect{change.NewEffects, change.UpdatedEffects} {
		for _, effect := range list {
			if !slices.Contains(s.owed, effect.EffectID) {
				s.owed = append(s.owed, effect.EffectID)
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

func (s *changedSession) notice(nowMs int64) runs.Notice {
	notice := runs.Notice{SessionID: s.state.SessionID, Prompts: s.prompts, Events: s.events}
	if len(s.events) > 0 {
		notice.FirstEventID = s.events[0].EventID
	}
	if s.state.Session != nil {
		notice.LastEventID = s.state.Session.LastEventID
	}
	for _, runID := range s.touched {
		run := s.state.Runs[runID]
		if at := run.ClaimableAtMs; at != 0 && at <= nowMs && at != s.claimableBefore[runID] {
			notice.Claimable = append(notice.Claimable, runs.Claimable{
				RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID, ClaimableAtMs: at,
			})
		}
	}
	for _, effectID := range s.owed {
		if effect := s.state.Effects[effectID]; effect.DueAtMs != 0 && effect.DueAtMs <= nowMs {
			notice.Owed = append(notice.Owed, runs.DueEffect{SessionID: s.state.SessionID, EffectID: effectID})
		}
	}
	return notice
}
