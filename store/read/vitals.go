package read

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// What the rows of Statements.Vitals count.
const (
	CountedWaits       = "waits"
	CountedOwed        = "owed"
	CountedGivenUp     = "given_up"
	CountedClaimable   = "claimable"
	CountedOverdue     = "overdue"
	CountedDeadLetters = "dead_letters"
	CountedRules       = "rules"
)

type vitalsRow struct {
	counted, kind string
	age           int64
	model.Tally
}

// Backlogs returns what each principal has waiting.
func (r *Reader) Backlogs(ctx context.Context) ([]model.Backlog, error) {
	targets := func(row *model.Backlog) []any { return []any{&row.Principal, &row.Prompts, &row.Queued} }
	var rows []model.Backlog
	if err := r.lists.Ask(ctx, Query{r.sql.Backlogs, nil, into(targets, &rows)}); err != nil {
		return nil, err
	}
	return rows, nil
}

// Vitals implements runs.Gauge.
func (r *Reader) Vitals(ctx context.Context, limit int) (*model.Vitals, error) {
	targets := func(row *vitalsRow) []any { return []any{&row.counted, &row.kind, &row.age, &row.Count, &row.OldestMs} }
	var rows []vitalsRow
	var now []int64
	err := r.lists.AskAtOneMoment(ctx,
		Query{r.sql.Vitals, r.now(max(limit, 0)), into(targets, &rows)},
		Query{r.sql.Now, r.now(), into(itself[int64], &now)})
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
		}
	}
	return vitals, nil
}
