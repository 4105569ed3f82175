package door

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const (
	// maxRounds limits how often a command is decided because a fact was missing or stale.
	maxRounds = 16
	// maxRuleMatches limits how often it is matched because rules have changed. After that a person is
	// asked.
	maxRuleMatches = 5
)

// round is a command on its way through the loop of [Door.decide].
type round struct {
	*Door
	command runs.Command
	// sessionID is the session to lock. cached reports whether it comes from the cache of runs.
	sessionID string
	cached    bool
	// check and match report whether the values and the rules have to be looked at before the
	// decision. matches counts the changes of rules.
	check, match bool
	matches      int
}

// decide decides a prepared command until no fact that it used was missing or stale.
func (d *Door) decide(ctx context.Context, command runs.Command) (runs.Reply, error) {
	r := &round{
		Door: d, command: command,
		check: d.options.Values != nil, match: d.options.Rules != nil && runs.RaisesApprovals(command),
	}
	for range maxRounds {
		reply, err := r.decideOnce(ctx)
		if err == nil {
			return reply, nil
		}
		if again, failed := r.stale(ctx, err); failed != nil {
			return runs.Reply{}, failed
		} else if !again {
			return reply, err
		}
	}
	return runs.Reply{}, fmt.Errorf("%w: the rows of this decision change faster than they can be read", runs.ErrUnavailable)
}

// decideOnce does the work on values and rules, which are the caller's, and decides in the lane.
func (r *round) decideOnce(ctx context.Context) (_ runs.Reply, err error) {
	needs := r.command.Needs()
	if err := r.findSession(ctx, &needs); err != nil {
		return runs.Reply{}, err
	}
	if r.check {
		if err := runs.CheckValues(ctx, r.options.Values, r.command); err != nil {
			return runs.Reply{}, err
		}
	}
	if r.match {
		if err := runs.MatchRules(ctx, r.command, r.facts.Rules(r.sessionID)); err != nil {
			return runs.Reply{}, err
		}
	}
	r.check, r.match = false, false
	return r.decideInLane(ctx, r.command, needs, r.sessionID)
}

// stale finds out which fact a decision lacked, or found to be stale, and reads it. It returns false
// if err is the command's answer.
func (r *round) stale(ctx context.Context, err error) (again bool, failed error) {
	if met, changed := runs.RulesChanged(err); changed {
		if r.matches++; r.matches == maxRuleMatches {
			runs.AskDespiteRules(r.command)
			return true, nil
		}
		r.match = true
		return true, r.facts.ReadRules(ctx, r.sessionID, met)
	}
	if r.cached && refusal.CodeOf(err) == api.CodeRunNotFound {
		return r.movedSession(ctx)
	}
	again, r.check, failed = runs.Lacks(ctx, r.options.Values, r.command, err)
	return again, failed
}

// movedSession looks up the session of a run that was not found in its cached one. Another replica
// may have used the run's id again in another session, after retention has deleted the run.
func (r *round) movedSession(ctx context.Context) (moved bool, err error) {
	needs, before := r.command.Needs(), r.sessionID
	r.facts.InSession(needs.RunID, "")
	if err := r.findSession(ctx, &needs); err != nil {
		return false, err
	}
	return r.sessionID != before, nil
}

// findSession finds the session that the command has to lock.
func (r *round) findSession(ctx context.Context, needs *runs.Needs) error {
	// Invalid ids never reach the database.
	if needs.SessionID != "" && needs.SessionID != rules.AllSessions && !refusal.ValidID(needs.SessionID) {
		return refusal.UnknownSession(needs.SessionID)
	}
	if needs.SessionID != "" {
		r.sessionID = needs.SessionID
		return nil
	}
	if !refusal.ValidID(needs.RunID) {
		return refusal.UnknownRun(needs.RunID)
	}
	if sessionID := r.facts.SessionOf(needs.RunID); sessionID != "" {
		r.sessionID, r.cached = sessionID, true
		return nil
	}
	sessionID, err := r.engine.SessionOf(ctx, needs.RunID)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w", runs.ErrUnavailable, err)
	case sessionID == "":
		return refusal.UnknownRun(needs.RunID)
	}
	r.facts.InSession(needs.RunID, sessionID)
	r.sessionID, r.cached = sessionID, false
	return nil
}
