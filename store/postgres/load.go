package postgres

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/committer"
)

const sqlLockSessions = `
SELECT` + sessionColumns + `
FROM sessions AS s
WHERE s.session_id = ANY($1::text[])
ORDER BY s.session_id` + lockRows

// The pieces that reach rows by the keys of k. Each is a subquery of its own that
// cannot be pulled up, so that the planner has no choice but to look up one key
// after the other.
const (
	runOfKey = `
CROSS JOIN LATERAL (
	SELECT * FROM runs AS one
	WHERE one.session_id = k.session_id AND one.run_id = k.run_id LIMIT 1
) AS r`
	runOfID = `
CROSS JOIN LATERAL (
	SELECT * FROM runs AS one
	WHERE one.run_id = k.run_id LIMIT 1
) AS r`
	unfinishedRunsOfKey = `
CROSS JOIN LATERAL (
	SELECT * FROM runs AS one
	WHERE one.session_id = k.session_id AND one.finished_at_ms IS NULL OFFSET 0
) AS r`
	// shownRequests are the open requests of r and those of its Resume.
	shownRequests = `
CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = r.session_id AND one.run_id = r.run_id
		AND coalesce(one.settled_number, 9223372036854775807) > r.resume_after OFFSET 0
) AS q`
)

// sqlLoadRuns loads the runs that are named, the active ones, and the head of each
// queue, as long as it is asked for.
const sqlLoadRuns = `
SELECT` + runColumns + `,` + queuedAhead + `
FROM (
	SELECT u.session_id, u.run_id FROM unnest($3::text[], $4::text[]) AS u (session_id, run_id)
	UNION
	SELECT s.session_id, s.active_run_id FROM sessions AS s
	WHERE s.session_id = ANY($1::text[]) AND s.active_run_id IS NOT NULL
	UNION
	SELECT u.session_id, head.run_id
	FROM unnest($1::text[], $2::bigint[]) AS u (session_id, most)
	CROSS JOIN LATERAL (
		SELECT h.run_id FROM runs AS h
		WHERE h.session_id = u.session_id AND h.finished_at_ms IS NULL AND h.status = 'queued'
		ORDER BY h.first_event_id LIMIT u.most
	) AS head
) AS k` + runOfKey

// sqlLoadRequests loads what is open, or belongs to the Resume, of the runs that
// are named and of the active ones. A queued run has asked for nothing yet.
const sqlLoadRequests = `
SELECT` + requestColumns + `
FROM (
	SELECT u.session_id, u.run_id FROM unnest($2::text[], $3::text[]) AS u (session_id, run_id)
	UNION
	SELECT s.session_id, s.active_run_id FROM sessions AS s
	WHERE s.session_id = ANY($1::text[]) AND s.active_run_id IS NOT NULL
) AS k` + runOfKey + shownRequests

const sqlLoadNamedRequests = `
SELECT` + requestColumns + `
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (session_id, run_id, request_id)
CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.request_id = k.request_id AND one.run_id = k.run_id LIMIT 1
) AS q`

const sqlLoadSuspensions = `
SELECT` + requestColumns + `
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (session_id, run_id, suspension_id)
CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.run_id = k.run_id AND one.suspension_id = k.suspension_id OFFSET 0
) AS q`

const sqlLoadSessionRequests = `
SELECT` + requestColumns + `
FROM unnest($1::text[], $2::text[]) AS k (session_id, request_id)
CROSS JOIN LATERAL (
	SELECT * FROM requests AS one
	WHERE one.session_id = k.session_id AND one.request_id = k.request_id OFFSET 0
) AS q`

const sqlLoadUnfinishedRuns = `
SELECT` + runColumns + `
FROM unnest($1::text[]) AS k (session_id)` + unfinishedRunsOfKey

const sqlLoadUnfinishedRequests = `
SELECT` + requestColumns + `
FROM unnest($1::text[]) AS k (session_id)` + unfinishedRunsOfKey + shownRequests

// sqlLoadChosenRuns names no session: whether an id is taken is a question to all
// of them.
const sqlLoadChosenRuns = `
SELECT` + runColumns + `,` + queuedAhead + `
FROM unnest($1::text[]) AS k (run_id)` + runOfID

const sqlLoadChosenRequests = `
SELECT` + requestColumns + `
FROM unnest($1::text[]) AS k (run_id)` + runOfID + shownRequests

const sqlLoadPayloads = `
SELECT r.session_id, r.run_id, r.input, r.checkpoint
FROM unnest($1::text[], $2::text[]) AS k (session_id, run_id)` + runOfKey

const sqlLoadRecords = `
SELECT` + recordColumns + `
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (scope, operation, idempotency_key)
CROSS JOIN LATERAL (
	SELECT * FROM idempotency_records AS one
	WHERE one.scope = k.scope AND one.operation = k.operation AND one.idempotency_key = k.idempotency_key LIMIT 1
) AS i`

// sqlClock is asked last: the locks are held and everything is loaded.
const sqlClock = `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// loader fills the states of a batch.
type loader struct {
	states map[string]*runs.State
	// sessions are the rows as they were loaded.
	sessions map[string]*model.Session
	// chosen, records, named and standing tell which states a row goes to that is not
	// of one session.
	chosen   map[string][]*runs.State
	records  map[model.RecordKey][]*runs.State
	named    map[string][]*runs.State
	standing []standing
}

// queue puts the questions about the loads into the pipeline. Those that nobody
// asks are left out.
func (l *loader) queue(batch *pgx.Batch, loads []committer.Load) {
	var sessions, unfinished, chosen []string
	var most []int64
	var runIDs, requests, suspensions, sessionRequests, payloads, records keys
	for i := range loads {
		load := &loads[i]
		state := runs.NewState(load.SessionID)
		l.states[load.SessionID] = state
		sessions = append(sessions, load.SessionID)
		most = append(most, int64(load.Commands+1))
		if load.UnfinishedRuns {
			unfinished = append(unfinished, load.SessionID)
		}
		for _, id := range load.RunIDs {
			runIDs.add(load.SessionID, id)
		}
		for _, id := range load.ChosenRunIDs {
			l.chosen[id] = append(l.chosen[id], state)
			chosen = append(chosen, id)
		}
		for _, key := range load.Requests {
			requests.add(load.SessionID, key.RunID, key.RequestID)
		}
		for _, key := range load.Suspensions {
			suspensions.add(load.SessionID, key.RunID, key.SuspensionID)
		}
		for _, id := range load.SessionRequestIDs {
			sessionRequests.add(load.SessionID, id)
		}
		for _, id := range load.PayloadRunIDs {
			payloads.add(load.SessionID, id)
		}
		for _, key := range load.Records {
			l.records[key] = append(l.records[key], state)
			records.add(key.Scope, string(key.Operation), key.IdempotencyKey)
		}
	}
	batch.Queue(sqlLockSessions, sessions).Query(l.takeSessions)
	batch.Queue(sqlLoadRuns, sessions, most, runIDs[0], runIDs[1]).Query(l.takeRuns)
	batch.Queue(sqlLoadRequests, sessions, runIDs[0], runIDs[1]).Query(l.takeRequests)
	if len(requests[0]) > 0 {
		batch.Queue(sqlLoadNamedRequests, requests[0], requests[1], requests[2]).Query(l.takeRequests)
	}
	if len(suspensions[0]) > 0 {
		batch.Queue(sqlLoadSuspensions, suspensions[0], suspensions[1], suspensions[2]).Query(l.takeRequests)
	}
	if len(sessionRequests[0]) > 0 {
		batch.Queue(sqlLoadSessionRequests, sessionRequests[0], sessionRequests[1]).Query(l.takeRequests)
	}
	if len(unfinished) > 0 {
		batch.Queue(sqlLoadUnfinishedRuns, unfinished).Query(l.takeUnfinished)
		batch.Queue(sqlLoadUnfinishedRequests, unfinished).Query(l.takeRequests)
	}
	if len(chosen) > 0 {
		batch.Queue(sqlLoadChosenRuns, chosen).Query(l.takeChosen)
		batch.Queue(sqlLoadChosenRequests, chosen).Query(l.takeChosenRequests)
	}
	l.queueClarifications(batch, loads)
	l.queueRules(batch, loads)
	// After all runs: the payloads go into them.
	if len(payloads[0]) > 0 {
		batch.Queue(sqlLoadPayloads, payloads[0], payloads[1]).Query(l.takePayloads)
	}
	if len(records[0]) > 0 {
		batch.Queue(sqlLoadRecords, records[0], records[1], records[2]).Query(l.takeRecords)
	}
}

// keys are the columns of a list of keys of up to three parts.
type keys [3][]string

func (k *keys) add(parts ...string) {
	for i, part := range parts {
		k[i] = append(k[i], part)
	}
}

func (l *loader) takeSessions(rows pgx.Rows) error {
	return each(rows, sessionTargets, func(s *model.Session) {
		l.states[s.SessionID].Session = s
		l.sessions[s.SessionID] = s
	})
}

func shownRunTargets(r *model.Run) []any { return append(runTargets(r), &r.QueuedAhead) }

func (l *loader) takeRuns(rows pgx.Rows) error {
	return each(rows, shownRunTargets, func(r *model.Run) { l.states[r.SessionID].Runs[r.RunID] = r })
}

// takeUnfinished counts the places in the queue itself: the whole queue is there,
// and counting each run's place in SQL would be quadratic in its length.
func (l *loader) takeUnfinished(rows pgx.Rows) error {
	queues := map[string][]*model.Run{}
	err := each(rows, runTargets, func(r *model.Run) {
		l.states[r.SessionID].Runs[r.RunID] = r
		if r.Status == api.StatusQueued {
			queues[r.SessionID] = append(queues[r.SessionID], r)
		}
	})
	for _, queue := range queues {
		slices.SortFunc(queue, func(a, b *model.Run) int { return cmp.Compare(a.FirstEventID, b.FirstEventID) })
		for ahead, run := range queue {
			run.QueuedAhead = int64(ahead)
		}
	}
	return err
}

func (l *loader) takeChosen(rows pgx.Rows) error {
	return each(rows, shownRunTargets, func(r *model.Run) {
		for _, state := range l.chosen[r.RunID] {
			state.Runs[r.RunID] = r
		}
	})
}

func (l *loader) takeRequests(rows pgx.Rows) error {
	return each(rows, requestTargets, func(q *model.Request) {
		l.states[q.SessionID].Requests[runs.RequestKey{RunID: q.RunID, RequestID: q.RequestID}] = q
	})
}

func (l *loader) takeChosenRequests(rows pgx.Rows) error {
	return each(rows, requestTargets, func(q *model.Request) {
		for _, state := range l.chosen[q.RunID] {
			state.Requests[runs.RequestKey{RunID: q.RunID, RequestID: q.RequestID}] = q
		}
	})
}

// payload is what may be large of a run.
type payload struct {
	sessionID, runID  string
	input, checkpoint []byte
}

func payloadTargets(p *payload) []any {
	return []any{&p.sessionID, &p.runID, &p.input, &p.checkpoint}
}

func (l *loader) takePayloads(rows pgx.Rows) error {
	return each(rows, payloadTargets, func(p *payload) {
		if run := l.states[p.sessionID].Runs[p.runID]; run != nil {
			run.Input, run.Checkpoint = p.input, p.checkpoint
		}
	})
}

func (l *loader) takeRecords(rows pgx.Rows) error {
	return each(rows, recordTargets, func(i *model.IdempotencyRecord) {
		for _, state := range l.records[i.RecordKey] {
			state.Records[i.RecordKey] = i
		}
	})
}
