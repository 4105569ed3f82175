package read

import (
	"context"
	"math"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Kinds of rows in the result of Statements.Vitals.
const (
	CountedWaits       = "waits"
	CountedOwed        = "owed"
	CountedGivenUp     = "given_up"
	CountedClaimable   = "claimable"
	CountedOverdue     = "overdue"
	CountedDeadLetters = "dead_letters"
	CountedRules       = "rules"
	CountedIntake      = "intake"
	CountedRefusedRuns = "refused_runs"
)

type vitalsRow struct {
	counted, kind string
	age           int64
	model.Tally
}

// backlogRows is how many rows one statement of Backlogs reads. That takes some ten milliseconds
// in a large table; then another list may run.
const backlogRows = 5_000

// Backlogs returns each principal's pending work. It is not a snapshot: rows that are settled or
// created meanwhile may or may not count, and all others count once.
func (r *Reader) Backlogs(ctx context.Context) ([]model.Backlog, error) {
	counted := map[string]*model.Backlog{}
	of := func(principal string) *model.Backlog {
		if counted[principal] == nil {
			counted[principal] = &model.Backlog{Principal: principal}
		}
		return counted[principal]
	}
	type tally struct {
		principal string
		count     int64
	}
	targets := func(t *tally) []any { return []any{&t.principal, &t.count} }
	// Kinds are words, which are before a tilde.
	type position struct{ kind, sessionID, runID, requestID string }
	places := func(p *position) []any { return []any{&p.kind, &p.sessionID, &p.runID, &p.requestID} }
	for after, last := (position{}), (position{kind: "~"}); after != last; {
		to := last
		ends, err := List(ctx, r.lists, places, r.sql.OpenRequestAfter, after.kind, after.sessionID, after.runID, after.requestID, backlogRows-1)
		if err != nil {
			return nil, err
		}
		if len(ends) > 0 {
			to = ends[0]
		}
		tallies, err := List(ctx, r.lists, targets, r.sql.PromptsOf,
			after.kind, after.sessionID, after.runID, after.requestID, to.kind, to.sessionID, to.runID, to.requestID)
		if err != nil {
			return nil, err
		}
		for _, t := range tallies {
			of(t.principal).Prompts += t.count
		}
		after = to
	}
	for after, last := int64(-1), int64(math.MaxInt64); after != last; {
		to := last
		ends, err := List(ctx, r.lists, columns.Itself[int64], r.sql.UnfinishedRunAfter, after, backlogRows-1)
		if err != nil {
			return nil, err
		}
		if len(ends) > 0 {
			to = ends[0]
		}
		tallies, err := List(ctx, r.lists, targets, r.sql.QueuedOf, after, to)
		if err != nil {
			return nil, err
		}
		for _, t := range tallies {
			of(t.principal).Queued += t.count
		}
		after = to
	}
	backlogs := make([]model.Backlog, 0, len(counted))
	for _, backlog := range counted {
		backlogs = append(backlogs, *backlog)
	}
	return backlogs, nil
}

// Vitals implements reads.Gauge.
func (r *Reader) Vitals(ctx context.Context, limit int) (*model.Vitals, error) {
	targets := func(row *vitalsRow) []any { return []any{&row.counted, &row.kind, &row.age, &row.Count, &row.OldestMs} }
	var rows []vitalsRow
	var now []int64
	err := r.lists.AskAtOneMoment(ctx,
		Query{r.sql.Vitals, r.now(max(limit, 0)), into(targets, &rows)},
		Query{r.sql.Now, r.now(), into(columns.Itself[int64], &now)})
	if err != nil {
		return nil, err
	}
	vitals := &model.Vitals{NowMs: now[0]}
	for _, row := range rows {
		switch row.counted {
		case CountedWaits:
			vitals.Waits = append(vitals.Waits, model.WaitTally{Kind: model.RequestKind(row.kind), Age: model.WaitAge(row.age), Tally: row.Tally})
		case CountedOwed:
			vitals.Effects = append(vitals.Effects, model.EffectTally{Kind: api.EffectKind(row.kind), State: api.EffectPending, Tally: row.Tally})
		case CountedGivenUp:
			vitals.Effects = append(vitals.Effects, model.EffectTally{Kind: api.EffectKind(row.kind), State: api.EffectFailed, Tally: row.Tally})
		case CountedClaimable:
			vitals.Claimable = row.Tally
		case CountedOverdue:
			vitals.Overdue = row.Tally
		case CountedDeadLetters:
			vitals.DeadLetters = row.Tally
		case CountedRules:
			vitals.Rules = row.Tally
		case CountedIntake:
			vitals.Intake = row.Tally
		case CountedRefusedRuns:
			vitals.RefusedRuns = row.Tally
		}
	}
	return vitals, nil
}
