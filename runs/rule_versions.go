package runs

import "github.com/holdpoint/holdpoint/runs/rules"

// RuleVersions are the versions of the non-exact rules for all sessions and for one session. 0
// says that none is in force. Versions that are the [RuleVersions.Same] stand for the same
// rules, some of which may have expired since.
type RuleVersions struct {
	OfAll, OfSession int64
	// Incarnation identifies the database server that assigned these versions. After a loss of
	// acknowledged commits, another server may assign the same versions to other rules
	// (docs/reliability.md#under-which-settings).
	Incarnation int64
}

// Same reports whether two versions stand for the same rules. Without rules, the incarnation does
// not matter.
func (v RuleVersions) Same(other RuleVersions) bool {
	if v.Incarnation != other.Incarnation && (v.OfAll != 0 || v.OfSession != 0) {
		return false
	}
	return v.OfAll == other.OfAll && v.OfSession == other.OfSession
}

// RulesChangedError says that the rules have changed since the command was matched against them.
// Match it against the rules of these versions, or later ones, and decide again. A Door never
// returns it.
type RulesChangedError struct{ Versions RuleVersions }

// Error implements error.
func (e *RulesChangedError) Error() string {
	return "the rules have changed since the command was matched against them"
}

// matchedRules are the rule matches of a suspension's approvals, computed by MatchRules.
type matchedRules struct {
	versions RuleVersions
	of       []*rules.Matches
	// undecided says that a person is asked regardless of the rules.
	undecided bool
}
