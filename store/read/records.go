package read

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
)

// records combines runs with the rows of their views. Runs come first.
type records struct {
	list  []*model.RunRecord
	byRun map[string]*model.RunRecord
}

func (f *records) readRuns(rows columns.Rows) error {
	if f.byRun == nil {
		f.byRun = map[string]*model.RunRecord{}
	}
	return columns.Each(rows, columns.ShownRun, func(r *model.Run) {
		record := &model.RunRecord{Run: *r}
		f.list = append(f.list, record)
		f.byRun[r.RunID] = record
	})
}

func (f *records) readRequests(rows columns.Rows) error {
	return columns.Requests.Each(rows, func(q *model.Request) {
		if record := f.byRun[q.RunID]; record != nil {
			record.Requests = append(record.Requests, *q)
		}
	})
}

type payload struct {
	runID             string
	input, checkpoint []byte
}

func (f *records) readPayloads(rows columns.Rows) error {
	targets := func(p *payload) []any { return []any{&p.runID, &p.input, &p.checkpoint} }
	return columns.Each(rows, targets, func(p *payload) {
		if record := f.byRun[p.runID]; record != nil {
			record.Run.Input, record.Run.Checkpoint = p.input, p.checkpoint
		}
	})
}

type place struct {
	runID string
	ahead int64
}

func (f *records) readPlaces(rows columns.Rows) error {
	targets := func(p *place) []any { return []any{&p.runID, &p.ahead} }
	return columns.Each(rows, targets, func(p *place) { f.byRun[p.runID].Run.QueuedAhead = p.ahead })
}

// complete asks for the requests and the places in the queue of the runs.
func (f *records) complete(r *Reader, ask func(...Query) error) error {
	if len(f.list) == 0 {
		return nil
	}
	var runIDs, queued, sessions []string
	for _, record := range f.list {
		run := &record.Run
		runIDs = append(runIDs, run.RunID)
		if run.Status == api.StatusQueued {
			queued, sessions = append(queued, run.RunID), append(sessions, run.SessionID)
		}
	}
	queries := []Query{{r.sql.RequestsOfRuns, []any{r.db.List(runIDs)}, f.readRequests}}
	if len(queued) > 0 {
		queries = append(queries, Query{r.sql.QueuePlaces, []any{r.db.List(distinct(sessions)), r.db.List(queued)}, f.readPlaces})
	}
	return ask(queries...)
}

// outputs are the newest output records within a budget.
type outputs struct {
	list  []api.OutputRecord
	count int64
}

// read reads bodies of output events, each with how many there are.
func (o *outputs) read(rows columns.Rows) error {
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body, &o.count); err != nil {
			return err
		}
		output, err := model.OutputOf(body)
		if err != nil {
			return err
		}
		o.list = append(o.list, output)
	}
	return rows.Err()
}

func (o *outputs) truncated() bool { return int64(len(o.list)) < o.count }
