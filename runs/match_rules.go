package runs

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// RuleReader reads the rules that commands are matched against.
type RuleReader interface {
	// StandingRules returns the rules of a session, or those of rules.AllSessions, that are in
	// force and not exact, in no order, at most limit and of maxBytes of matches, texts and
	// reasons, whether these are all, and their version at that moment. The version grows with
	// each change of such a rule, in the change's own transaction; 0 stands for no rules.
	StandingRules(ctx context.Context, sessionID string, limit, maxBytes int) (version int64, standing []*rules.Rule, complete bool, err error)
	// RuleChanges returns what has changed in the rules of all sessions after a version that
	// StandingRules or RuleChanges has returned. whole is false when that is not known or is more
	// than limit changes or maxBytes: then StandingRules tells.
	RuleChanges(ctx context.Context, since int64, limit, maxBytes int) (changes RuleChanges, whole bool, err error)
}

// RuleChanges are the changes of the rules of all sessions up to a version. Of the rules with the
// RuleIDs, some of them more than once, those in Standing are in force and not exact, as
// they are at that version; the others are not.
type RuleChanges struct {
	Version  int64
	RuleIDs  []string
	Standing []*rules.Rule
}

// RuleSets are the rules that are in force in a session, without the exact ones, as they were
// at some versions.
type RuleSets struct {
	OfAll, OfSession *rules.Set // nil for none
	Versions         RuleVersions
}

// RulesChanged returns the versions of a [RulesChangedError] in err, and whether there is one.
func RulesChanged(err error) (RuleVersions, bool) {
	var changed *RulesChangedError
	if errors.As(err, &changed) {
		return changed.Versions, true
	}
	return RuleVersions{}, false
}

// RaisesApprovals reports whether rules may decide something that a prepared command asks.
func RaisesApprovals(command Command) bool { return command.Spec().raised != nil }

// MatchRules matches the approvals of a prepared command against rules, and stores the matches
// in the command. It runs without a lock, on the caller's time, because the caller chooses the
// inputs; [Decide] only compares the versions. It is bounded by one budget for the whole
// command (docs/spec/v1.md#glob). Call it again before the command is decided again. Errors:
// the context's.
func MatchRules(ctx context.Context, command Command, sets RuleSets) error {
	s := command.Spec().raised
	if s == nil {
		return nil
	}
	matched := &matchedRules{versions: sets.Versions, of: make([]*rules.Matches, len(s.Approvals))}
	budget := rules.NewBudget(1)
	bytes := 0
	for i := range s.Approvals {
		bytes += len(s.Approvals[i].Input)
	}
	// A short glob may take long on an input of a few kilobytes.
	const patternByte = 16
	return cpulimit.Do(ctx, bytes*patternByte, func() error {
		for i := range s.Approvals {
			if err := ctx.Err(); err != nil {
				return err
			}
			matched.of[i] = matchApproval(s, i, budget, sets.OfAll, sets.OfSession)
		}
		s.matched = matched
		return nil
	})
}

// AskDespiteRules makes a prepared command one whose approvals no rule decides, because its
// rules change faster than it can be matched against them.
func AskDespiteRules(command Command) {
	if s := command.Spec().raised; s != nil {
		s.matched = &matchedRules{undecided: true}
	}
}

// MeetRules lets a command be decided as if the rules were still those that it was matched
// against, and returns their versions; exact rules about its inputs must be none. The
// transaction sees to both. It returns false for a command that rules may have nothing to do
// with.
func (r *Remembered) MeetRules(command Command) (versions RuleVersions, meets bool) {
	s := command.Spec().raised
	if s == nil || s.matched != nil && s.matched.undecided {
		return RuleVersions{}, false
	}
	if s.matched != nil {
		versions = s.matched.versions
	}
	r.State.RuleVersions = versions
	return versions, true
}
