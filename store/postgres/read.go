package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// sqlBeginSnapshot makes all statements of a read see the same moment: a run that
// waits is never shown without what it waits for.
const sqlBeginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

// snapshot answers several questions about one moment in one round trip.
func (s *Store) snapshot(ctx context.Context, ask func(*pgx.Batch)) error {
	batch := &pgx.Batch{}
	batch.Queue(sqlBeginSnapshot)
	ask(batch)
	batch.Queue(sqlCommit)
	return s.reads.SendBatch(ctx, batch).Close()
}

const sqlRun = `
SELECT` + runColumns + `,` + queuedAhead + `
FROM runs AS r WHERE r.run_id = $1`

const sqlRunPayload = `SELECT r.session_id, r.run_id, r.input, r.checkpoint FROM runs AS r WHERE r.run_id = $1`

// The requests and outputs of one run, or of several, for their views.
const (
	oneRun = `
FROM (SELECT $1::text AS run_id) AS k` + runOfID
	severalRuns = `
FROM unnest($1::text[]) AS k (run_id)` + runOfID

	sqlRequestsOfRun  = `SELECT` + requestColumns + oneRun + shownRequests + ` ORDER BY q.number`
	sqlRequestsOfRuns = `SELECT` + requestColumns + severalRuns + shownRequests + ` ORDER BY q.session_id, q.run_id, q.number`
	sqlOutputsOfRun   = `SELECT o.run_id, o.body ` + oneRun + shownOutputs + ` WHERE r.output_count > 0 ORDER BY o.event_id`
	sqlOutputsOfRuns  = `SELECT o.run_id, o.body ` + severalRuns + shownOutputs + ` WHERE r.output_count > 0 ORDER BY o.session_id, o.event_id`

	// shownOutputs takes the newest outputs of r, at most as many as a view shows
	// (runs.MaxOutputsShown).
	shownOutputs = `
CROSS JOIN LATERAL (
	SELECT e.session_id, e.event_id, e.run_id, e.body FROM events AS e
	WHERE e.session_id = r.session_id AND e.type = 'output'
		AND e.event_id BETWEEN r.first_event_id AND r.last_event_id AND e.run_id = r.run_id
	ORDER BY e.event_id DESC LIMIT 100
) AS o`
)

// Run implements runs.Reader.
func (s *Store) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	return s.run(ctx, runID, false)
}

// ClaimedRun implements runs.Reader.
func (s *Store) ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error) {
	return s.run(ctx, runID, true)
}

func (s *Store) run(ctx context.Context, runID string, withPayload bool) (*model.RunRecord, error) {
	if !refusal.ValidID(runID) {
		return nil, refusal.UnknownRun(runID)
	}
	var found records
	err := s.snapshot(ctx, func(batch *pgx.Batch) {
		batch.Queue(sqlRun, runID).Query(found.takeRuns)
		batch.Queue(sqlRequestsOfRun, runID).Query(found.takeRequests)
		batch.Queue(sqlOutputsOfRun, runID).Query(found.takeOutputs)
		if withPayload {
			batch.Queue(sqlRunPayload, runID).Query(found.takePayloads)
		}
	})
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	if len(found.list) == 0 {
		return nil, refusal.UnknownRun(runID)
	}
	return found.list[0], nil
}

const sqlSettledAfter = `
SELECT` + requestColumns + `
FROM runs AS r
JOIN requests AS q ON q.session_id = r.session_id AND q.run_id = r.run_id
	AND ` + openOrAfter + ` > $2::bigint AND q.settled_number IS NOT NULL
WHERE r.run_id = $1
ORDER BY q.settled_number`

// SettledAfter implements runs.Reader.
func (s *Store) SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error) {
	if !refusal.ValidID(runID) {
		return nil, nil, refusal.UnknownRun(runID)
	}
	var found records
	var settled []model.Request
	err := s.snapshot(ctx, func(batch *pgx.Batch) {
		batch.Queue(sqlRun, runID).Query(found.takeRuns)
		batch.Queue(sqlSettledAfter, runID, after).Query(func(rows pgx.Rows) error {
			return each(rows, requestTargets, func(q *model.Request) { settled = append(settled, *q) })
		})
	})
	if err != nil {
		return nil, nil, readFailure(ctx, err)
	}
	if len(found.list) == 0 {
		return nil, nil, refusal.UnknownRun(runID)
	}
	return &found.list[0].Run, settled, nil
}

const (
	sqlSession = `SELECT` + sessionColumns + ` FROM sessions AS s WHERE s.session_id = $1`

	activeRun = `
FROM (SELECT s.session_id, s.active_run_id AS run_id FROM sessions AS s WHERE s.session_id = $1) AS k` + runOfKey

	sqlActiveRun         = `SELECT` + runColumns + `, 0::bigint` + activeRun
	sqlActiveRunRequests = `SELECT` + requestColumns + activeRun + shownRequests + ` ORDER BY q.number`
	sqlActiveRunOutputs  = `SELECT o.run_id, o.body` + activeRun + shownOutputs + ` WHERE r.output_count > 0 ORDER BY o.event_id`

	sqlQueuedRunIDs = `
SELECT r.run_id FROM runs AS r
WHERE r.session_id = $1 AND r.finished_at_ms IS NULL AND r.status = 'queued'
ORDER BY r.first_event_id`
	sqlSessionOutputs = `
SELECT e.body FROM events AS e
WHERE e.session_id = $1 AND e.type = 'output'
ORDER BY e.event_id DESC LIMIT 100`

	// sqlSessionClarifications goes from the open questions to their runs: the queue of
	// the session may be long.
	sqlSessionClarifications = `
SELECT` + requestColumns + `, r.agent_id, r.kind, r.requester
FROM requests AS q
CROSS JOIN LATERAL (
	SELECT * FROM runs AS one
	WHERE one.session_id = q.session_id AND one.run_id = q.run_id LIMIT 1
) AS r` + waitingClarification + `
	AND q.kind = 'question' AND q.session_id = $1 AND q.settled_number IS NULL
ORDER BY q.run_id, q.request_id
LIMIT $2::bigint`
)

// Session implements runs.Reader.
func (s *Store) Session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	if !refusal.ValidID(sessionID) {
		return nil, refusal.UnknownSession(sessionID)
	}
	var sessions []*model.Session
	var active records
	record := &model.SessionRecord{}
	err := s.snapshot(ctx, func(batch *pgx.Batch) {
		batch.Queue(sqlSession, sessionID).Query(func(rows pgx.Rows) error {
			return each(rows, sessionTargets, func(s *model.Session) { sessions = append(sessions, s) })
		})
		batch.Queue(sqlActiveRun, sessionID).Query(active.takeRuns)
		batch.Queue(sqlActiveRunRequests, sessionID).Query(active.takeRequests)
		batch.Queue(sqlActiveRunOutputs, sessionID).Query(active.takeOutputs)
		batch.Queue(sqlSessionClarifications, sessionID, api.MaxClarificationsShown).Query(func(rows pgx.Rows) error {
			return each(rows, requestRowTargets, func(r *requestRow) {
				record.Clarifications = append(record.Clarifications, r.pending())
			})
		})
		batch.Queue(sqlQueuedRunIDs, sessionID).Query(func(rows pgx.Rows) (err error) {
			record.QueuedRunIDs, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
		batch.Queue(sqlSessionOutputs, sessionID).Query(func(rows pgx.Rows) (err error) {
			bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
			if err != nil {
				return err
			}
			slices.Reverse(bodies)
			for _, body := range bodies {
				output, err := outputOf(body)
				if err != nil {
					return err
				}
				record.Outputs = append(record.Outputs, output)
			}
			return nil
		})
	})
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	if len(sessions) == 0 {
		return nil, refusal.UnknownSession(sessionID)
	}
	record.Session = *sessions[0]
	if len(active.list) > 0 {
		record.Active = active.list[0]
	}
	return record, nil
}

// SessionHead implements runs.Reader.
func (s *Store) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	if !refusal.ValidID(sessionID) {
		return nil, refusal.UnknownSession(sessionID)
	}
	session := &model.Session{}
	err := s.reads.QueryRow(ctx, sqlSession, sessionID).Scan(sessionTargets(session)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, refusal.UnknownSession(sessionID)
	}
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	return session, nil
}

// records puts runs together with what their views need.
type records struct {
	list  []*model.RunRecord
	byRun map[string]*model.RunRecord
}

func (f *records) takeRuns(rows pgx.Rows) error {
	if f.byRun == nil {
		f.byRun = map[string]*model.RunRecord{}
	}
	return each(rows, shownRunTargets, func(r *model.Run) {
		record := &model.RunRecord{Run: *r}
		f.list = append(f.list, record)
		f.byRun[r.RunID] = record
	})
}

func (f *records) takeRequests(rows pgx.Rows) error {
	return each(rows, requestTargets, func(q *model.Request) {
		if record := f.byRun[q.RunID]; record != nil {
			record.Requests = append(record.Requests, *q)
		}
	})
}

func (f *records) takePayloads(rows pgx.Rows) error {
	return each(rows, payloadTargets, func(p *payload) {
		if record := f.byRun[p.runID]; record != nil {
			record.Run.Input, record.Run.Checkpoint = p.input, p.checkpoint
		}
	})
}

type outputRow struct {
	runID string
	body  []byte
}

func (f *records) takeOutputs(rows pgx.Rows) error {
	var unreadable []error
	targets := func(o *outputRow) []any { return []any{&o.runID, &o.body} }
	err := each(rows, targets, func(o *outputRow) {
		output, err := outputOf(o.body)
		if err != nil {
			unreadable = append(unreadable, err)
		}
		if record := f.byRun[o.runID]; record != nil {
			record.Outputs = append(record.Outputs, output)
		}
	})
	return errors.Join(append(unreadable, err)...)
}

// outputOf takes the output record out of the body of an output event.
func outputOf(body []byte) (api.OutputRecord, error) {
	var event struct {
		Output api.OutputRecord `json:"output"`
	}
	err := json.Unmarshal(body, &event)
	return event.Output, err
}
