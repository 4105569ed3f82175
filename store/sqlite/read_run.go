package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Run implements [runs.Reader].
func (s *Store) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	return s.runRecord(ctx, runID, false)
}

// ClaimedRun implements [runs.Reader].
func (s *Store) ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error) {
	return s.runRecord(ctx, runID, true)
}

func (s *Store) runRecord(ctx context.Context, runID string, payload bool) (*model.RunRecord, error) {
	var records []model.RunRecord
	err := s.snapshot(ctx, func(c *connection) error {
		run, err := runOf(ctx, c, runID)
		if err != nil {
			return err
		}
		if payload {
			wanted := map[string][]*model.Run{runID: {run}}
			err := c.each(ctx, `SELECT run_id, member, value FROM run_payloads WHERE run_id = ?`, []any{runID},
				func(rows *sql.Rows) error { return scanPayload(rows, wanted) })
			if err != nil {
				return err
			}
		}
		records, err = recordsOf(ctx, c, []*model.Run{run})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &records[0], nil
}

// runOf returns a run or the error that it is not there.
func runOf(ctx context.Context, c *connection, runID string) (*model.Run, error) {
	run, there, err := one(ctx, c, scanShownRun, `SELECT `+shownRunColumns+` FROM runs WHERE run_id = ?`, runID)
	if err == nil && !there {
		return nil, refusal.UnknownRun(runID)
	}
	return run, err
}

// recordsOf adds to runs what their views need, with at most one statement for
// each kind of thing, however many the runs are.
func recordsOf(ctx context.Context, c *connection, list []*model.Run) ([]model.RunRecord, error) {
	records := make([]model.RunRecord, len(list))
	byID := make(map[string]*model.RunRecord, len(list))
	var waiting, resumed, withOutput []string
	for i, run := range list {
		records[i].Run = *run
		byID[run.RunID] = &records[i]
		if run.RaisedCount > run.SettledCount {
			waiting = append(waiting, run.RunID)
		}
		if run.SettledCount > run.ResumeAfter {
			resumed = append(resumed, run.RunID)
		}
		if run.OutputCount > 0 {
			withOutput = append(withOutput, run.RunID)
		}
	}
	add := func(query string, ids []string) error {
		if len(ids) == 0 {
			return nil
		}
		argument, err := jsonList(ids)
		if err != nil {
			return err
		}
		return c.each(ctx, query, []any{argument}, func(rows *sql.Rows) error {
			request, err := scanRequest(rows)
			record := byID[request.RunID]
			record.Requests = append(record.Requests, request)
			return err
		})
	}
	err := add(`SELECT `+requestColumns+` FROM json_each(?) AS wanted
		CROSS JOIN requests ON requests.run_id = wanted.value AND requests.outcome IS NULL`, waiting)
	if err != nil {
		return nil, err
	}
	err = add(`SELECT `+requestColumns+` FROM json_each(?) AS wanted
		CROSS JOIN runs ON runs.run_id = wanted.value
		CROSS JOIN requests ON requests.run_id = runs.run_id AND requests.settled_number > runs.resume_after`, resumed)
	if err != nil {
		return nil, err
	}
	for i := range records {
		slices.SortFunc(records[i].Requests, func(a, b model.Request) int { return int(a.Number - b.Number) })
	}
	return records, addOutputs(ctx, c, byID, withOutput)
}

// addOutputs gives each of the runs its newest output records, oldest first.
func addOutputs(ctx context.Context, c *connection, byID map[string]*model.RunRecord, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	argument, err := jsonList(ids)
	if err != nil {
		return err
	}
	return c.each(ctx, `SELECT newest.run_id, newest.body FROM json_each(?1) AS wanted
		CROSS JOIN (
			SELECT run_id, event_id, body, row_number() OVER (PARTITION BY run_id ORDER BY event_id DESC) AS place
			FROM events WHERE type = 'output' AND run_id IN (SELECT value FROM json_each(?1))
		) AS newest ON newest.run_id = wanted.value AND newest.place <= ?2
		ORDER BY newest.run_id, newest.event_id`, []any{argument, api.MaxOutputsShown}, func(rows *sql.Rows) error {
		var runID string
		var body jsonText
		if err := rows.Scan(&runID, &body); err != nil {
			return err
		}
		output, err := outputOf(body)
		record := byID[runID]
		record.Outputs = append(record.Outputs, output)
		return err
	})
}

// outputOf reads the output record out of the body of its event.
func outputOf(body []byte) (api.OutputRecord, error) {
	var event struct {
		Output api.OutputRecord `json:"output"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return api.OutputRecord{}, fmt.Errorf("output event: %w", err)
	}
	return event.Output, nil
}

// SettledAfter implements [runs.Reader].
func (s *Store) SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error) {
	var run *model.Run
	var settled []model.Request
	err := s.snapshot(ctx, func(c *connection) error {
		var err error
		if run, err = runOf(ctx, c, runID); err != nil {
			return err
		}
		settled, err = list(ctx, c, scanRequest, `SELECT `+requestColumns+` FROM requests
			WHERE run_id = ? AND settled_number > ? ORDER BY settled_number`, runID, after)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return run, settled, nil
}
