package read

import (
	"context"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
)

// The sizes of the rows of each list, in the place of its rows. They are measured before a row
// is read.
var (
	sqlSessionSizes  = `SELECT ` + columns.Sessions.Size() + fromSessions
	sqlRequestSizes  = `SELECT ` + columns.Requests.Size() + ` + coalesce(octet_length(r.requester), 0) + coalesce(octet_length(` + sqlAbout + `), 0)` + fromRequests
	sqlDecisionSizes = sqlRequestSizes
	sqlEffectSizes   = `SELECT ` + columns.Effects.Size() + ` FROM `
	sqlRuleSizes     = `SELECT ` + columns.Rules.Size() + ` FROM rules AS l`
	sqlRunSizes      = `SELECT ` + RunSize + ` FROM runs AS r`
)

// RunSize is the size of a row r of runs with the requests that its view shows.
var RunSize = columns.Runs.Size() + ` + (
	SELECT coalesce(sum(` + columns.Requests.Size() + `), 0) FROM requests AS q
	WHERE q.session_id = r.session_id AND q.run_id = r.run_id
		AND coalesce(q.settled_number, 9223372036854775807) > r.resume_after
)`

// fitting returns how many of the measured rows are within a budget. used is what earlier
// statements took from it.
func fitting(ask func(...Query) error, budget *reads.Budget, used *int, sql string, args []any) (fit int, err error) {
	first := *used == 0
	err = ask(Query{sql, args, func(rows columns.Rows) error {
		return columns.Each(rows, columns.Itself[int64], func(size *int64) {
			if budget.Cut {
				return
			}
			if *used += int(*size); *used > budget.MaxBytes && !(first && fit == 0) {
				budget.Cut = true
				return
			}
			fit++
		})
	}})
	return fit, err
}

// listWithin returns the rows of a page that are within a budget, all without one. build makes a
// list statement from its columns and a limit. The rows are measured and read in one snapshot, so a
// row that comes or goes meanwhile takes no other row's place.
func listWithin[R any](ctx context.Context, db Database, budget *reads.Budget, limit int, targets func(*R) []any,
	sizes, rows string, build func(statement string, limit int) (string, []any),
) ([]R, error) {
	if budget == nil {
		sql, args := build(rows, limit)
		return List(ctx, db, targets, sql, args...)
	}
	budget.Cut = false
	var found []R
	err := db.Snapshot(ctx, func(ask func(...Query) error) error {
		used := 0
		sql, args := build(sizes, limit)
		fit, err := fitting(ask, budget, &used, sql, args)
		if err != nil || fit == 0 {
			return err
		}
		sql, args = build(rows, fit)
		return ask(Query{sql, args, into(targets, &found)})
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
