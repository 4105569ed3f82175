package runs

import "github.com/holdpoint/holdpoint/runs/rules"

// RuleVersions are the versions of the rules of all sessions and of those of one session that
// are not exact. Two equal versions are the same rules, which may since have expired.
type RuleVersions struct{ OfAll, OfSession int64 }

// RulesChangedError says that a decision met other rules than those that its command was
// matched against. Match it against the rules of these versions, or later ones, and decide
// again. A Door never returns it.
type RulesChangedError struct{ Versions RuleVersions }

// Error implements error.
func (e *RulesChangedError) Error() string {
	return "the rules have changed since the command was matched against them"
}

// matchedRules are the matches of the approvals of a suspension, as MatchRules found them.
type matchedRules struct {
	versions RuleVersions
	of       []*rules.Matches
	// undecided says that a person is asked, whatever the rules say.
	undecided bool
}
