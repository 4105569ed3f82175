package postgres

import (
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// storable reports whether a text can be compared with a column at all: Postgres
// refuses a parameter that is not UTF-8 or holds a NUL byte. What is not storable
// is not stored.
func storable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		return !utf8.ValidString(text) || slices.Contains([]byte(text), 0)
	})
}

// sessionRow is a session with what its line in a list tells.
type sessionRow struct {
	session              model.Session
	status               string
	approvals, questions int
}

// Sessions implements runs.Reader.
func (s *Store) Sessions(ctx context.Context, q runs.SessionQuery) ([]model.SessionSummary, error) {
	if !storable(string(q.Status), q.AgentID, q.After) {
		return nil, nil
	}
	sql, args := sessionList(q)
	rows, err := s.reads.Query(ctx, sql, args...)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	defer rows.Close()
	var list []model.SessionSummary
	targets := func(r *sessionRow) []any {
		return append(sessionTargets(&r.session), &r.status, &r.approvals, &r.questions)
	}
	err = each(rows, targets, func(r *sessionRow) {
		list = append(list, model.SessionSummary{
			Session: r.session, Status: api.Status(r.status), PendingApprovals: r.approvals, PendingQuestions: r.questions,
		})
	})
	return list, readFailure(ctx, err)
}

// CountSessions implements runs.Reader.
func (s *Store) CountSessions(ctx context.Context, q runs.SessionQuery) (int64, error) {
	if !storable(string(q.Status), q.AgentID) {
		return 0, nil
	}
	sql, args := sessionCount(q)
	return s.count(ctx, sql, args)
}

// sqlQueuePlaces counts the places in the queues of whole sessions in one pass.
const sqlQueuePlaces = `
SELECT place.run_id, place.ahead
FROM (
	SELECT r.run_id, row_number() OVER (PARTITION BY r.session_id ORDER BY r.first_event_id) - 1 AS ahead
	FROM runs AS r
	WHERE r.session_id = ANY($1::text[]) AND r.finished_at_ms IS NULL AND r.status = 'queued'
) AS place
WHERE place.run_id = ANY($2::text[])`

// Runs implements runs.Reader. It asks once for the runs and once for all that
// their views need, at one moment.
func (s *Store) Runs(ctx context.Context, q runs.RunQuery) ([]model.RunRecord, error) {
	if !storable(q.SessionID, q.AgentID, string(q.Status), string(q.Kind)) || q.After != nil && !storable(q.After.RunID) {
		return nil, nil
	}
	var found records
	moment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.reads, moment, func(tx pgx.Tx) error {
		for _, part := range runParts(q) {
			sql, args, ok := runList(q, part, q.Limit-len(found.list))
			if !ok || len(found.list) >= q.Limit {
				continue
			}
			rows, err := tx.Query(ctx, sql, args...)
			if err != nil {
				return err
			}
			err = found.takeRuns(rows)
			rows.Close()
			if err != nil {
				return err
			}
		}
		return found.complete(ctx, tx)
	})
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	list := make([]model.RunRecord, 0, len(found.list))
	for _, record := range found.list {
		list = append(list, *record)
	}
	if q.Last {
		slices.Reverse(list)
	}
	return list, nil
}

// complete asks for the requests, outputs and places in the queue of the runs that
// were found.
func (f *records) complete(ctx context.Context, tx pgx.Tx) error {
	if len(f.list) == 0 {
		return nil
	}
	runIDs := make([]string, 0, len(f.list))
	var queued, sessions []string
	outputs := false
	for _, record := range f.list {
		runIDs = append(runIDs, record.Run.RunID)
		outputs = outputs || record.Run.OutputCount > 0
		if record.Run.Status == api.StatusQueued {
			queued = append(queued, record.Run.RunID)
			sessions = append(sessions, record.Run.SessionID)
		}
	}
	batch := &pgx.Batch{}
	batch.Queue(sqlRequestsOfRuns, runIDs).Query(f.takeRequests)
	if outputs {
		batch.Queue(sqlOutputsOfRuns, runIDs).Query(f.takeOutputs)
	}
	if len(queued) > 0 {
		slices.Sort(sessions)
		batch.Queue(sqlQueuePlaces, slices.Compact(sessions), queued).Query(f.takePlaces)
	}
	return tx.SendBatch(ctx, batch).Close()
}

func (f *records) takePlaces(rows pgx.Rows) error {
	var runID string
	var ahead int64
	_, err := pgx.ForEachRow(rows, []any{&runID, &ahead}, func() error {
		f.byRun[runID].Run.QueuedAhead = ahead
		return nil
	})
	return err
}

// CountRuns implements runs.Reader.
func (s *Store) CountRuns(ctx context.Context, q runs.RunQuery) (int64, error) {
	if !storable(q.SessionID, q.AgentID, string(q.Status), string(q.Kind)) {
		return 0, nil
	}
	sql, args := runCount(q)
	return s.count(ctx, sql, args)
}

// requestRow is an open request with what its view tells of its run.
type requestRow struct {
	request       model.Request
	agentID, kind string
	requester     []byte
}

func requestRowTargets(r *requestRow) []any {
	return append(requestTargets(&r.request), &r.agentID, &r.kind, &r.requester)
}

func (r *requestRow) pending() model.PendingRequest {
	return model.PendingRequest{Request: r.request, AgentID: r.agentID, RunKind: api.RunKind(r.kind), Requester: r.requester}
}

// PendingRequests implements runs.Reader.
func (s *Store) PendingRequests(ctx context.Context, q runs.RequestQuery) ([]model.PendingRequest, error) {
	if !storable(string(q.Kind), q.SessionID) || q.After != nil && !storable(q.After.SessionID, q.After.RunID, q.After.RequestID) {
		return nil, nil
	}
	sql, args := requestList(q)
	rows, err := s.reads.Query(ctx, sql, args...)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	defer rows.Close()
	var list []model.PendingRequest
	err = each(rows, requestRowTargets, func(r *requestRow) { list = append(list, r.pending()) })
	return list, readFailure(ctx, err)
}

const sqlRequestByHandle = `
SELECT` + requestColumns + `, r.agent_id, r.kind, r.requester
FROM requests AS q JOIN runs AS r ON r.session_id = q.session_id AND r.run_id = q.run_id
WHERE q.handle = $1`

// RequestByHandle implements runs.Reader.
func (s *Store) RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error) {
	unknown := refusal.New(api.CodeRequestNotFound, "unknown request %s", handle)
	if !storable(handle) {
		return nil, unknown
	}
	var row requestRow
	err := s.reads.QueryRow(ctx, sqlRequestByHandle, handle).Scan(requestRowTargets(&row)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, unknown
	}
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	found := row.pending()
	return &found, nil
}

// Effects implements runs.Reader.
func (s *Store) Effects(ctx context.Context, q runs.EffectQuery) ([]model.Effect, error) {
	if !storable(string(q.State), q.SessionID) || q.After != nil && !storable(q.After.EffectID) {
		return nil, nil
	}
	sql, args := effectList(q)
	rows, err := s.reads.Query(ctx, sql, args...)
	if err != nil {
		return nil, readFailure(ctx, err)
	}
	defer rows.Close()
	var list []model.Effect
	err = each(rows, effectTargets, func(f *model.Effect) { list = append(list, *f) })
	return list, readFailure(ctx, err)
}

// CountPendingRequests implements runs.Reader.
func (s *Store) CountPendingRequests(ctx context.Context, q runs.RequestQuery) (int64, error) {
	if !storable(string(q.Kind), q.SessionID) {
		return 0, nil
	}
	sql, args := requestCount(q)
	return s.count(ctx, sql, args)
}

// CountEffects implements runs.Reader.
func (s *Store) CountEffects(ctx context.Context, q runs.EffectQuery) (int64, error) {
	if !storable(string(q.State), q.SessionID) {
		return 0, nil
	}
	sql, args := effectsCount(q)
	return s.count(ctx, sql, args)
}

func (s *Store) count(ctx context.Context, sql string, args []any) (count int64, err error) {
	err = s.reads.QueryRow(ctx, sql, args...).Scan(&count)
	return count, readFailure(ctx, err)
}
