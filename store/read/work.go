package read

import (
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/columns"
)

// distinct returns texts in order, each once.
func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

// now appends the current time to the arguments, if the statement needs it.
func (r *Reader) now(args ...any) []any { return append(args, r.db.Now()...) }

// Claimable implements reads.Reader. Runs with the same time are ordered by id.
func (r *Reader) Claimable(ctx context.Context, q reads.ClaimableQuery) ([]reads.Claimable, error) {
	known := slices.DeleteFunc(distinct(q.AgentIDs), func(id string) bool { return !storable(id) })
	sql, args := r.sql.Claimable, r.now(max(q.Limit, 0))
	switch {
	case r.scope.Bounded():
		f := filter{args: r.now()}
		if len(q.AgentIDs) > 0 {
			f.oneOf("c.agent_id", known)
		}
		f.runWithin(&r.scope, "c")
		sql = f.with(r.sql.ClaimableWithin) + "\nORDER BY c.claimable_at_ms, c.run_id\nLIMIT CAST(" + f.argument(max(q.Limit, 0)) + " AS bigint)"
		args = f.args
	case len(q.AgentIDs) > 0:
		sql, args = r.sql.ClaimableOfAgents, r.now(r.db.List(known), max(q.Limit, 0))
	}
	targets := func(c *reads.Claimable) []any { return []any{&c.RunID, &c.SessionID, &c.AgentID, &c.ClaimableAtMs} }
	return List(ctx, r.db, targets, sql, args...)
}

// Due implements reads.Worklist. The limit applies to requests, so it may return fewer runs if one
// has several due requests.
func (r *Reader) Due(ctx context.Context, limit int) ([]reads.DueRun, error) {
	targets := func(d *reads.DueRun) []any { return []any{&d.SessionID, &d.RunID} }
	found, err := List(ctx, r.db, targets, r.sql.Due, r.now(max(limit, 0))...)
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(d reads.DueRun) bool {
		again := seen[d.RunID]
		seen[d.RunID] = true
		return again
	}), err
}

// DueEffects implements reads.Worklist.
func (r *Reader) DueEffects(ctx context.Context, limit int) ([]reads.DueEffect, error) {
	targets := func(d *reads.DueEffect) []any { return []any{&d.SessionID, &d.EffectID} }
	return List(ctx, r.db, targets, r.sql.DueEffects, r.now(max(limit, 0))...)
}

const (
	sqlSessionBehind = `
SELECT s.session_id FROM sessions AS s WHERE s.session_id > $1 ORDER BY s.session_id LIMIT 1 OFFSET $2`

	// The subquery makes one lookup per session: with a join, the planner might read all runs.
	sqlWedgedSessions = `
SELECT s.session_id, s.active_run_id FROM sessions AS s
WHERE s.session_id > $1 AND ($2 = '' OR s.session_id <= $2) AND s.active_run_id IS NOT NULL AND (
	SELECT r.finished_at_ms FROM runs AS r WHERE r.session_id = s.session_id AND r.run_id = s.active_run_id LIMIT 1
) IS NOT NULL
ORDER BY s.session_id LIMIT CAST($3 AS bigint)`
)

// WedgedSessions implements upkeep.Keeper.
func (r *Reader) WedgedSessions(ctx context.Context, after string, limit int) (wedged []reads.DueRun, next string, err error) {
	limit = max(limit, 1)
	ends, err := List(ctx, r.db, columns.Itself[string], sqlSessionBehind, after, limit-1)
	if err != nil {
		return nil, "", err
	}
	if len(ends) > 0 {
		next = ends[0]
	}
	targets := func(d *reads.DueRun) []any { return []any{&d.SessionID, &d.RunID} }
	wedged, err = List(ctx, r.db, targets, sqlWedgedSessions, after, next, limit)
	return wedged, next, err
}

const sqlDataKeys = `
SELECT r.run_id, r.session_id, r.data_key FROM runs AS r
WHERE r.data_key IS NOT NULL AND r.run_id > $1
ORDER BY r.run_id LIMIT CAST($2 AS bigint)`

// DataKeys implements reads.Worklist.
func (r *Reader) DataKeys(ctx context.Context, after string, limit int) ([]reads.RunKey, error) {
	targets := func(k *reads.RunKey) []any { return []any{&k.RunID, &k.SessionID, &k.DataKey} }
	return List(ctx, r.lists, targets, sqlDataKeys, after, max(limit, 0))
}

// Rows without a callback are returned, too, so that the work of a call is bounded if few have
// one.
const sqlSealedRequests = `
SELECT q.session_id, q.run_id, q.request_id, CASE WHEN q.sealed LIKE '{"callback":%' THEN q.sealed END FROM requests AS q
WHERE (q.session_id, q.run_id, q.request_id) > ($1, $2, $3)
ORDER BY q.session_id, q.run_id, q.request_id LIMIT CAST($4 AS bigint)`

// SealedRequests implements upkeep.Rewrapper.
func (r *Reader) SealedRequests(ctx context.Context, after upkeep.SealedRequest, limit int) ([]upkeep.SealedRequest, error) {
	return List(ctx, r.lists, sealedTargets, sqlSealedRequests, after.SessionID, after.RunID, after.RequestID, max(limit, 0))
}

func sealedTargets(q *upkeep.SealedRequest) []any {
	return []any{&q.SessionID, &q.RunID, &q.RequestID, (*[]byte)(&q.Sealed)}
}

// The id of a delivery to a callback ends with the handle of its request.
const sqlOwedCallbacks = `
SELECT q.session_id, q.run_id, q.request_id, q.sealed FROM effects AS f
JOIN requests AS q ON q.session_id = f.session_id AND q.run_id = f.run_id AND f.effect_id LIKE '%:' || q.handle
WHERE f.webhook_id = 'callback' AND f.webhook_id <> '' AND f.state = 'pending' AND q.sealed LIKE '{"callback":%'
LIMIT CAST($1 AS bigint)`

// No index has the open requests with a callback, so few of all that are open are looked at.
const sqlOpenCallbacks = `
SELECT page.session_id, page.run_id, page.request_id, page.sealed
FROM (
	SELECT q.session_id, q.run_id, q.request_id, q.sealed FROM requests AS q
	WHERE q.kind IN ('approval', 'question') AND q.settled_number IS NULL AND q.outcome IS NULL
	LIMIT 10000
) AS page
WHERE page.sealed LIKE '{"callback":%'
LIMIT CAST($1 AS bigint)`

// OwedCallbacks implements upkeep.Rewrapper.
func (r *Reader) OwedCallbacks(ctx context.Context, limit int) ([]upkeep.SealedRequest, error) {
	owed, err := List(ctx, r.lists, sealedTargets, sqlOwedCallbacks, max(limit, 0))
	if err != nil {
		return nil, err
	}
	open, err := List(ctx, r.lists, sealedTargets, sqlOpenCallbacks, max(limit, 0))
	return append(owed, open...), err
}

// NextDueAtMs implements reads.Worklist.
func (r *Reader) NextDueAtMs(ctx context.Context) (dueAtMs, nowMs int64, err error) {
	targets := func(at *[2]int64) []any { return []any{&at[0], &at[1]} }
	at, err := first(ctx, r.db, targets, errNoRow, r.sql.NextDue, r.now()...)
	if err != nil {
		return 0, 0, err
	}
	return at[0], at[1], nil
}

// NowMs implements upkeep.Keeper.
func (r *Reader) NowMs(ctx context.Context) (int64, error) {
	return count(ctx, r.db, r.sql.Now, r.now()...)
}

// Rule implements reads.Reader.
func (r *Reader) Rule(ctx context.Context, ruleID string) (*rules.Record, error) {
	unknown := refusal.UnknownRule(ruleID)
	if !refusal.ValidID(ruleID) {
		return nil, unknown
	}
	f := filter{args: []any{ruleID}}
	f.inSessionWithin(&r.scope, "l.session_id")
	return first(ctx, r.db, columns.RuleRecord, unknown, f.with(r.sql.Rule), f.args...)
}

// RulesFor implements reads.Reader.
func (r *Reader) RulesFor(ctx context.Context, sessionID string, limit int, budget *reads.Budget) (standing []rules.Rule, nowMs int64, err error) {
	sessions := []string{rules.AllSessions}
	if refusal.ValidID(sessionID) {
		sessions = append(sessions, sessionID)
	}
	reached, err := r.reachesRulesOf(ctx, sessionID)
	if err != nil {
		return nil, 0, err
	}
	if !reached {
		limit = 0
	}
	var now []int64
	budget.Cut = false
	err = r.lists.Snapshot(ctx, func(ask func(...Query) error) error {
		used := 0
		fit, err := fitting(ask, budget, &used, r.sql.RuleSizesFor, []any{r.db.List(sessions), max(limit, 0)})
		if err != nil {
			return err
		}
		return ask(
			Query{r.sql.RulesFor, []any{r.db.List(sessions), fit}, into(columns.Rules.Targets, &standing)},
			Query{r.sql.Now, r.now(), into(columns.Itself[int64], &now)})
	})
	if err != nil {
		return nil, 0, err
	}
	return standing, now[0], nil
}

// StandingRules implements runs.RuleReader. A row that is beyond the bytes is read and forgotten.
func (r *Reader) StandingRules(ctx context.Context, sessionID string, limit, maxBytes int) (version int64, standing []*rules.Rule, complete bool, err error) {
	var versions []int64
	complete = true
	err = r.db.AskAtOneMoment(ctx,
		Query{r.sql.RuleVersion, []any{sessionID}, into(columns.Itself[int64], &versions)},
		Query{r.sql.StandingRules, r.now(sessionID, max(limit, 0)+1), func(rows columns.Rows) error {
			bytes := 0
			return columns.Rules.Each(rows, func(rule *rules.Rule) {
				bytes += rule.Bytes()
				if complete = complete && len(standing) < limit && bytes <= maxBytes; complete {
					standing = append(standing, rule)
				}
			})
		}})
	if err != nil || len(versions) == 0 {
		return 0, nil, true, err
	}
	return versions[0], standing, complete, nil
}

// RuleChanges implements runs.RuleReader.
func (r *Reader) RuleChanges(ctx context.Context, since int64, limit, maxBytes int) (changes runs.RuleChanges, whole bool, err error) {
	type change struct {
		version, previous int64
		ruleID            string
	}
	var versions []int64
	var changed []change
	fits := true
	err = r.db.AskAtOneMoment(ctx,
		Query{r.sql.RuleVersion, []any{rules.AllSessions}, into(columns.Itself[int64], &versions)},
		Query{r.sql.RuleChanges, []any{since, max(limit, 0) + 1}, into(func(c *change) []any { return []any{&c.version, &c.previous, &c.ruleID} }, &changed)},
		Query{r.sql.ChangedRules, r.now(since, max(limit, 0)+1), func(rows columns.Rows) error {
			bytes := 0
			return columns.Rules.Each(rows, func(rule *rules.Rule) {
				bytes += rule.Bytes()
				if fits = fits && bytes <= maxBytes; fits {
					changes.Standing = append(changes.Standing, rule)
				}
			})
		}})
	if err != nil || !fits || len(versions) == 0 || versions[0] < since || len(changed) > limit {
		return runs.RuleChanges{}, false, err
	}
	// A line that is missing in between, or another history of the database, breaks the chain of versions.
	reached := since
	for _, c := range changed {
		if c.version != reached && c.previous != reached {
			return runs.RuleChanges{}, false, nil
		}
		reached = c.version
		changes.RuleIDs = append(changes.RuleIDs, c.ruleID)
	}
	changes.Version = versions[0]
	return changes, reached == versions[0], nil
}

const sqlOwners = `
SELECT r.run_id, coalesce(r.principal, ''), coalesce(r.holder_principal, ''), r.session_id, coalesce(r.parent_run_id, '') FROM runs AS r`

const sqlHoldings = `
SELECT r.run_id, r.attached, r.fence, r.started_at_ms = r.submitted_at_ms AND r.fence = 1 FROM runs AS r`

// Owners implements reads.Worklist.
func (r *Reader) Owners(ctx context.Context, runIDs []string) (map[string]reads.Owners, error) {
	targets := func(o *reads.Owners) []any {
		return []any{&o.Principal, &o.HolderPrincipal, &o.SessionID, &o.ParentRunID}
	}
	return keyed(ctx, r.db, &filter{}, sqlOwners, "r.run_id", runIDs, targets)
}

const sqlRequesters = `
SELECT s.session_id, coalesce(s.requesters, ''), coalesce(s.parent_session_id, '') FROM sessions AS s`

// Requesters implements reads.Worklist.
func (r *Reader) Requesters(ctx context.Context, sessionIDs []string) (map[string]reads.Requesters, error) {
	targets := func(a *reads.Requesters) []any { return []any{&a.Names, &a.ParentSessionID} }
	return keyed(ctx, r.db, &filter{}, sqlRequesters, "s.session_id", sessionIDs, targets)
}

// Holdings implements reads.Presence.
func (r *Reader) Holdings(ctx context.Context, runIDs []string) (map[string]reads.Holding, error) {
	targets := func(h *reads.Holding) []any { return []any{&h.Attached, &h.Claims, &h.InOneStep} }
	return keyed(ctx, r.db, &filter{}, sqlHoldings, "r.run_id", runIDs, targets)
}

const sqlWatched = `
SELECT q.handle, coalesce(r.lease_expires_at_ms, 0), f.payload
FROM requests AS q
JOIN runs AS r ON r.session_id = q.session_id AND r.run_id = q.run_id
JOIN effects AS f ON f.session_id = q.session_id AND f.effect_id = 'cancel_abandoned:' || q.handle AND f.state = 'pending'`

// Watched implements reads.Presence.
func (r *Reader) Watched(ctx context.Context, handles []string) (map[string]reads.Watched, error) {
	targets := func(w *reads.Watched) []any { return []any{&w.LeaseExpiresAtMs, (*[]byte)(&w.Payload)} }
	open := &filter{where: []string{"q.outcome IS NULL"}}
	return keyed(ctx, r.db, open, sqlWatched, "q.handle", handles, targets)
}

// maxKeysAsked bounds the arguments of one statement.
const maxKeysAsked = 1_000

// keyed returns the rows of a statement that fit a filter, by their key. The statement's first column is the key,
// and targets are of the others.
func keyed[Row any](ctx context.Context, db Database, within *filter, statement, key string, keys []string, targets func(*Row) []any) (map[string]Row, error) {
	type entry struct {
		key string
		row Row
	}
	rows := make(map[string]Row, len(keys))
	for part := range slices.Chunk(keys, maxKeysAsked) {
		f := filter{where: slices.Clone(within.where), args: slices.Clone(within.args)}
		f.oneOf(key, part)
		found, err := List(ctx, db, func(e *entry) []any { return append([]any{&e.key}, targets(&e.row)...) }, f.of(statement), f.args...)
		if err != nil {
			return nil, err
		}
		for i := range found {
			rows[found[i].key] = found[i].row
		}
	}
	return rows, nil
}

// FinishedRuns implements upkeep.Keeper.
func (r *Reader) FinishedRuns(ctx context.Context, beforeMs int64, after upkeep.FinishedRun, limit int) ([]upkeep.FinishedRun, error) {
	targets := func(f *upkeep.FinishedRun) []any { return []any{&f.FinishedAtMs, &f.RunID, &f.SessionID} }
	return List(ctx, r.lists, targets, r.sql.FinishedRuns, beforeMs, after.FinishedAtMs, after.RunID, max(limit, 0))
}
