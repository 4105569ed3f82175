package runs

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// RuleReader reads the rules that commands are matched against.
type RuleReader interface {
	// StandingRules returns the non-exact rules in force in a session, or in rules.AllSessions, in
	// no order. It returns at most limit rules, with up to maxBytes of matches, texts and reasons;
	// complete says whether these are all. The version grows in the transaction of every change of
	// such a rule; 0 means that there are no rules.
	StandingRules(ctx context.Context, sessionID string, limit, maxBytes int) (version int64, standing []*rules.Rule, complete bool, err error)
	// RuleChanges returns the rule changes in all sessions after a version that StandingRules or
	// RuleChanges returned. If whole is false, the changes are unknown or exceed limit or maxBytes:
	// call StandingRules instead.
	RuleChanges(ctx context.Context, since int64, limit, maxBytes int) (changes RuleChanges, whole bool, err error)
}

// RuleChanges are the rule changes in all sessions up to a version. RuleIDs names the changed
// rules and may have duplicates. Standing has those of them that are in force and not exact at that
// version.
type RuleChanges struct {
	Version  int64
	RuleIDs  []string
	Standing []*rules.Rule
}

// RuleSets are the non-exact rules in force in a session, at known versions.
type RuleSets struct {
	OfAll, OfSession *rules.Set // nil for none
	Versions         RuleVersions
}

// RulesChanged returns the versions of a [RulesChangedError] in err, and whether there is one.
func RulesChanged(err error) (RuleVersions, bool) {
	if changed, ok := errors.AsType[*RulesChangedError](err); ok {
		return changed.Versions, true
	}
	return RuleVersions{}, false
}

// RaisesApprovals reports whether a prepared command may raise approvals that rules can decide.
func RaisesApprovals(command Command) bool { return command.Spec().raised != nil }

// MatchRules matches the approvals of a prepared command against rules, and stores the matches
// in the command. It runs without a lock, on the caller's time, because the caller chooses the
// inputs; [Decide] only compares the versions. One budget limits the whole command
// (docs/spec/v1.md#glob). Call it again before deciding the command again. Errors: the context's.
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
	// Even a short glob may be expensive on an input of a few kilobytes, and many rules are on
	// many short ones.
	const patternByte = 16
	var end func()
	defer func() {
		if end != nil {
			end()
		}
	}()
	for i := range s.Approvals {
		if err := ctx.Err(); err != nil {
			return err
		}
		if end == nil && bytes*patternByte+budget.Spent() >= cpulimit.Bytes {
			var err error
			if end, err = cpulimit.Begin(ctx); err != nil {
				return err
			}
		}
		matched.of[i] = matchApproval(s, i, budget, sets.OfAll, sets.OfSession)
	}
	s.matched = matched
	return nil
}

// AskDespiteRules leaves all approvals of a prepared command to people. Use it when rules change
// faster than the command can be matched against them.
func AskDespiteRules(command Command) {
	if s := command.Spec().raised; s != nil {
		s.matched = &matchedRules{undecided: true}
	}
}

// MeetRules lets a command be decided from remembered rows, on the assumption that the rules are
// unchanged since the match. It returns the versions of the matched rules. The transaction must
// verify them, and that no exact rule matches the inputs. It returns false if rules
// cannot decide any of the command's approvals.
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
