package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/committer"
)

// Rules are reached by rules_standing, which SQLite does not choose by itself once
// there are many: it is the one way that steps over all exact inputs but those that
// are meant.
const (
	rulesOfAnyInput = `SELECT ` + ruleColumns + ` FROM json_each(?) AS wanted
		CROSS JOIN rules INDEXED BY rules_standing
		ON rules.session_id = wanted.value AND rules.input_digest IS NULL AND rules.revoked_at_ms IS NULL`
	rulesOfInput = `SELECT ` + ruleColumns + ` FROM json_each(?) AS wanted
		CROSS JOIN rules INDEXED BY rules_standing
		ON rules.session_id = wanted.value ->> 0 AND rules.input_digest = wanted.value ->> 1 AND rules.revoked_at_ms IS NULL`
	rulesOfSession = `SELECT ` + ruleColumns + ` FROM json_each(?) AS wanted
		CROSS JOIN rules INDEXED BY rules_standing
		ON rules.session_id = wanted.value AND rules.revoked_at_ms IS NULL`
	rulesNamed = `SELECT ` + ruleColumns + ` FROM json_each(?) AS wanted
		CROSS JOIN rules ON rules.rule_id = wanted.value`
)

// loadRules loads the rules that commands need, with at most one statement for each
// way in which they are named. A session need not be there to have rules.
func (b *batch) loadRules(ctx context.Context, loads []committer.Load) error {
	matched := map[string][]*runs.State{}
	ofInput := map[[2]string][]*runs.State{}
	whole := map[string][]*runs.State{}
	named := map[string][]*runs.State{}
	for i := range loads {
		load, state := &loads[i], b.states[loads[i].SessionID]
		if load.Rules {
			for _, sessionID := range []string{load.SessionID, rules.AllSessions} {
				matched[sessionID] = append(matched[sessionID], state)
				for _, digest := range load.RuleDigests {
					key := [2]string{sessionID, digest}
					ofInput[key] = append(ofInput[key], state)
				}
			}
		}
		if load.SessionRules {
			whole[load.SessionID] = append(whole[load.SessionID], state)
		}
		for _, ruleID := range load.RuleIDs {
			named[ruleID] = append(named[ruleID], state)
		}
	}
	err := addRules(ctx, b, rulesOfAnyInput, matched, func(r *rules.Rule) string { return r.SessionID })
	if err != nil {
		return err
	}
	err = addRules(ctx, b, rulesOfInput, ofInput, func(r *rules.Rule) [2]string { return [2]string{r.SessionID, r.Match.InputDigest} })
	if err != nil {
		return err
	}
	err = addRules(ctx, b, rulesOfSession, whole, func(r *rules.Rule) string { return r.SessionID })
	if err != nil {
		return err
	}
	return addRules(ctx, b, rulesNamed, named, func(r *rules.Rule) string { return r.RuleID })
}

// addRules runs a query, whose argument is the list of what is wanted, and puts each
// rule into the states that want it.
func addRules[K comparable](ctx context.Context, b *batch, query string, wanted map[K][]*runs.State, key func(*rules.Rule) K) error {
	if len(wanted) == 0 {
		return nil
	}
	argument, err := jsonList(slices.Collect(maps.Keys(wanted)))
	if err != nil {
		return err
	}
	return b.write.each(ctx, query, []any{argument}, func(rows *sql.Rows) error {
		rule, err := scanRule(rows)
		for _, state := range wanted[key(rule)] {
			state.Rules[rule.RuleID] = rule
		}
		return err
	})
}
