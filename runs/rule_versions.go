package runs

import "github.com/holdpoint/holdpoint/runs/rules"

// RuleVersions are the versions of the rules of all sessions and of those of one session that
// are not exact. A version of 0 says that there have never been any. Versions that are the [RuleVersions.Same]
// are of the same rules, which may since have expired.
type RuleVersions struct {
	OfAll, OfSession int64
	// Incarnation is that of the database in which they have these versions. Another one gives the
	// same versions to other rules when what was acknowledged before is lost
	// (docs/reliability.md#under-which-settings).
	Incarnation int64
}

// Same reports whether two versions are the same rules. Of no rules it does not matter where.
func (v RuleVersions) Same(other RuleVersions) bool {
	if v.Incarnation != other.Incarnation && (v.OfAll != 0 || v.OfSession != 0) {
		return false
	}
	return v.OfAll == other.OfAll && v.OfSession == other.OfSession
}

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
