package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/committer"
)

// rulesGate is the advisory lock between decisions that are made from rules and
// changes of rules that must hold at once. A rule of all sessions is read under no lock
// of a session, so without it a decision that has read a rule could be committed after
// the reply that the rule is revoked. Any number will do that nothing else locks in the
// same database; every replica must have the same one, of whatever version it is.
//
// The lock is of the transaction and not of the connection, so it also holds behind a
// proxy that pools by transaction. It comes before the locks of the sessions: then
// nobody who waits for it holds what somebody else needs to let go of it.
const rulesGate = `7525352681032215653` // "holdrule"

const (
	sqlShareRules  = `SELECT pg_advisory_xact_lock_shared(` + rulesGate + `)`
	sqlChangeRules = `SELECT pg_advisory_xact_lock(` + rulesGate + `)`
)

// queueGate asks for the gate when the loads need it: together with other decisions
// that are made from rules, or alone. It must be the first question.
func queueGate(batch *pgx.Batch, loads []committer.Load) {
	switch {
	case slices.ContainsFunc(loads, func(l committer.Load) bool { return l.ChangesRules }):
		batch.Queue(sqlChangeRules)
	case slices.ContainsFunc(loads, func(l committer.Load) bool { return l.Rules }):
		batch.Queue(sqlShareRules)
	}
}

const (
	// sqlLoadRules loads the rules that look at more than one exact input, and those
	// about the inputs that are there. Only rules_standing steps over all other inputs.
	sqlLoadRules = `
SELECT` + ruleColumns + `
FROM (
	SELECT u.session_id, NULL AS input_digest FROM unnest($1::text[]) AS u (session_id)
) AS k
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.session_id = k.session_id AND one.input_digest IS NULL AND one.revoked_at_ms IS NULL OFFSET 0
) AS l
UNION ALL
SELECT` + ruleColumns + `
FROM unnest($2::text[], $3::text[]) AS k (session_id, input_digest)
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.session_id = k.session_id AND one.input_digest = k.input_digest AND one.revoked_at_ms IS NULL OFFSET 0
) AS l`

	sqlLoadSessionRules = `
SELECT` + ruleColumns + `
FROM unnest($1::text[]) AS k (session_id)
CROSS JOIN LATERAL (
	SELECT * FROM rules AS one
	WHERE one.session_id = k.session_id AND one.revoked_at_ms IS NULL OFFSET 0
) AS l`

	// sqlLockRules loads rules that are named, whatever their sessions. Their rows are
	// locked, because the lock of the session that asks need not be that of the rule's.
	sqlLockRules = `
SELECT` + ruleColumns + `
FROM rules AS l
WHERE l.rule_id = ANY($1::text[])
ORDER BY l.rule_id
FOR UPDATE`
)

// standing says which rules of all sessions go into a state.
type standing struct {
	state   *runs.State
	digests []string
}

// queueRules asks for rules. A session need not be there to have some.
func (l *loader) queueRules(batch *pgx.Batch, loads []committer.Load) {
	var matched, whole, named []string
	var digests keys
	asked := map[[2]string]bool{}
	addDigest := func(sessionID, digest string) {
		if key := [2]string{sessionID, digest}; !asked[key] {
			asked[key] = true
			digests.add(sessionID, digest)
		}
	}
	for i := range loads {
		load := &loads[i]
		state := l.states[load.SessionID]
		if load.Rules {
			if len(matched) == 0 {
				matched = append(matched, rules.AllSessions)
			}
			l.standing = append(l.standing, standing{state, load.RuleDigests})
			if load.SessionID != rules.AllSessions {
				matched = append(matched, load.SessionID)
			}
			for _, digest := range load.RuleDigests {
				addDigest(rules.AllSessions, digest)
				addDigest(load.SessionID, digest)
			}
		}
		if load.SessionRules {
			whole = append(whole, load.SessionID)
		}
		for _, ruleID := range load.RuleIDs {
			l.named[ruleID] = append(l.named[ruleID], state)
			named = append(named, ruleID)
		}
	}
	if len(matched) > 0 {
		batch.Queue(sqlLoadRules, matched, digests[0], digests[1]).Query(l.takeStanding)
	}
	if len(whole) > 0 {
		batch.Queue(sqlLoadSessionRules, whole).Query(l.takeSessionRules)
	}
	// Last: what is locked is newer than what was only read.
	if len(named) > 0 {
		batch.Queue(sqlLockRules, named).Query(l.takeNamedRules)
	}
}

func (l *loader) takeStanding(rows pgx.Rows) error {
	return each(rows, ruleTargets, func(rule *rules.Rule) {
		if rule.SessionID != rules.AllSessions {
			l.states[rule.SessionID].Rules[rule.RuleID] = rule
			return
		}
		for _, one := range l.standing {
			if rule.Match.InputDigest == "" || slices.Contains(one.digests, rule.Match.InputDigest) {
				one.state.Rules[rule.RuleID] = rule
			}
		}
	})
}

func (l *loader) takeSessionRules(rows pgx.Rows) error {
	return each(rows, ruleTargets, func(rule *rules.Rule) { l.states[rule.SessionID].Rules[rule.RuleID] = rule })
}

func (l *loader) takeNamedRules(rows pgx.Rows) error {
	return each(rows, ruleTargets, func(rule *rules.Rule) {
		for _, state := range l.named[rule.RuleID] {
			state.Rules[rule.RuleID] = rule
		}
	})
}
