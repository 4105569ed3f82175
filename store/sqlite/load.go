package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/committer"
)

// load fills the states of the batch's sessions.
func (b *batch) load(ctx context.Context, loads []committer.Load) error {
	for i := range loads {
		b.states[loads[i].SessionID] = runs.NewState(loads[i].SessionID)
	}
	if err := b.loadSessions(ctx, loads); err != nil {
		return err
	}
	for i := range loads {
		if err := b.loadQueue(ctx, &loads[i]); err != nil {
			return err
		}
		if err := b.loadClarifications(ctx, &loads[i]); err != nil {
			return err
		}
		if err := b.loadSessionRequests(ctx, &loads[i]); err != nil {
			return err
		}
	}
	if err := b.loadRuns(ctx, loads); err != nil {
		return err
	}
	if err := b.loadLiveRequests(ctx); err != nil {
		return err
	}
	for i := range loads {
		if err := b.loadNamed(ctx, &loads[i]); err != nil {
			return err
		}
	}
	if err := b.loadRules(ctx, loads); err != nil {
		return err
	}
	if err := b.loadOwed(ctx, loads); err != nil {
		return err
	}
	return b.loadPayloads(ctx, loads)
}

func (b *batch) loadSessions(ctx context.Context, loads []committer.Load) error {
	ids := make([]string, len(loads))
	for i := range loads {
		ids[i] = loads[i].SessionID
	}
	argument, err := jsonList(ids)
	if err != nil {
		return err
	}
	sessions, err := list(ctx, b.write, scanSession,
		`SELECT `+sessionColumns+` FROM sessions WHERE session_id IN (SELECT value FROM json_each(?))`, argument)
	for _, session := range sessions {
		b.states[session.SessionID].Session = session
	}
	return err
}

// loadQueue loads the head of the session's queue, or all of it together with every
// other run that is not over.
func (b *batch) loadQueue(ctx context.Context, load *committer.Load) error {
	state := b.states[load.SessionID]
	if state.Session == nil {
		return nil
	}
	if load.UnfinishedRuns {
		unfinished, err := list(ctx, b.write, scanRun,
			`SELECT `+runColumns+` FROM runs WHERE session_id = ? AND finished_at_ms IS NULL AND status <> 'queued'`, load.SessionID)
		if err != nil {
			return err
		}
		for _, run := range unfinished {
			state.Runs[run.RunID] = run
		}
	}
	if state.Session.QueuedCount == 0 {
		return nil
	}
	limit := load.Commands + 1
	if load.UnfinishedRuns {
		limit = -1
	}
	queued, err := list(ctx, b.write, scanRun,
		`SELECT `+runColumns+` FROM runs WHERE session_id = ? AND finished_at_ms IS NULL AND status = 'queued' ORDER BY first_event_id LIMIT ?`, load.SessionID, limit)
	for place, run := range queued {
		run.QueuedAhead = int64(place)
		state.Runs[run.RunID] = run
	}
	return err
}

// loadClarifications loads the session's parent clarifications that are not over.
func (b *batch) loadClarifications(ctx context.Context, load *committer.Load) error {
	state := b.states[load.SessionID]
	if state.Session == nil || !load.Clarifications || load.UnfinishedRuns {
		return nil
	}
	clarifications, err := list(ctx, b.write, scanRun,
		`SELECT `+runColumns+` FROM runs WHERE session_id = ? AND finished_at_ms IS NULL AND kind = 'parent_clarification'`, load.SessionID)
	for _, run := range clarifications {
		state.Runs[run.RunID] = run
	}
	return err
}

// loadSessionRequests loads the requests that are named without their run.
func (b *batch) loadSessionRequests(ctx context.Context, load *committer.Load) error {
	if b.states[load.SessionID].Session == nil || len(load.SessionRequestIDs) == 0 {
		return nil
	}
	return b.addRequests(ctx, `SELECT `+requestColumns+` FROM requests
		WHERE session_id = ?2 AND request_id IN (SELECT value FROM json_each(?1))`, load.SessionRequestIDs, load.SessionID)
}

// loadRuns loads the active runs, those that the commands name, and those of the
// requests that are there already, as far as the queues did not bring them.
func (b *batch) loadRuns(ctx context.Context, loads []committer.Load) error {
	wanted := map[string][]*runs.State{}
	want := func(state *runs.State, runID string) {
		if runID != "" && state.Runs[runID] == nil {
			wanted[runID] = append(wanted[runID], state)
		}
	}
	for i := range loads {
		load, state := &loads[i], b.states[loads[i].SessionID]
		if state.Session != nil {
			want(state, state.Session.ActiveRunID)
		}
		for _, runID := range load.RunIDs {
			want(state, runID)
		}
		for _, runID := range load.ChosenRunIDs {
			want(state, runID)
		}
		for key := range state.Requests {
			want(state, key.RunID)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	argument, err := jsonList(slices.Collect(maps.Keys(wanted)))
	if err != nil {
		return err
	}
	return b.write.each(ctx, `SELECT `+shownRunColumns+` FROM runs WHERE run_id IN (SELECT value FROM json_each(?))`,
		[]any{argument}, func(rows *sql.Rows) error {
			run, err := scanShownRun(rows)
			for _, state := range wanted[run.RunID] {
				state.Runs[run.RunID] = run
			}
			return err
		})
}

// loadLiveRequests loads of every loaded run the requests that are open or belong
// to its Resume. The counters of the run tell whether there are any.
func (b *batch) loadLiveRequests(ctx context.Context) error {
	var open []string
	var resumed [][2]any
	for _, state := range b.states {
		for _, run := range state.Runs {
			if run.SessionID != state.SessionID {
				continue
			}
			if run.RaisedCount > run.SettledCount {
				open = append(open, run.RunID)
			}
			if run.SettledCount > run.ResumeAfter {
				resumed = append(resumed, [2]any{run.RunID, run.ResumeAfter})
			}
		}
	}
	if len(open) > 0 {
		err := b.addRequests(ctx, `SELECT `+requestColumns+` FROM json_each(?) AS wanted
			CROSS JOIN requests ON requests.run_id = wanted.value AND requests.outcome IS NULL`, open)
		if err != nil {
			return err
		}
	}
	if len(resumed) > 0 {
		return b.addRequests(ctx, `SELECT `+requestColumns+` FROM json_each(?) AS wanted
			CROSS JOIN requests ON requests.run_id = wanted.value ->> 0 AND requests.settled_number > wanted.value ->> 1`, resumed)
	}
	return nil
}

// loadNamed loads the requests and the records that commands name, also when the
// requests are settled.
func (b *batch) loadNamed(ctx context.Context, load *committer.Load) error {
	state := b.states[load.SessionID]
	for _, key := range load.Records {
		record, there, err := one(ctx, b.write, scanRecord,
			`SELECT `+recordColumns+` FROM idempotency_records WHERE operation = ? AND scope = ? AND idempotency_key = ?`,
			string(key.Operation), key.Scope, key.IdempotencyKey)
		if err != nil {
			return err
		}
		if there {
			state.Records[key] = record
		}
	}
	if state.Session == nil {
		return nil
	}
	for _, key := range load.Requests {
		if state.Requests[key] != nil {
			continue
		}
		err := b.addRequests(ctx, `SELECT `+requestColumns+` FROM requests
			WHERE session_id = ?2 AND run_id = ?3 AND request_id IN (SELECT value FROM json_each(?1))`,
			[]string{key.RequestID}, load.SessionID, key.RunID)
		if err != nil {
			return err
		}
	}
	for _, key := range load.Suspensions {
		err := b.addRequests(ctx, `SELECT `+requestColumns+` FROM requests
			WHERE session_id = ?2 AND run_id = ?3 AND suspension_id IN (SELECT value FROM json_each(?1))`,
			[]string{key.SuspensionID}, load.SessionID, key.RunID)
		if err != nil {
			return err
		}
	}
	return nil
}

// addRequests runs a query, whose first argument is a list, and puts its rows into
// the states of their sessions.
func (b *batch) addRequests(ctx context.Context, query string, wanted any, args ...any) error {
	argument, err := jsonList(wanted)
	if err != nil {
		return err
	}
	requests, err := list(ctx, b.write, scanRequest, query, append([]any{argument}, args...)...)
	for i := range requests {
		request := &requests[i]
		b.states[request.SessionID].Requests[runs.RequestKey{RunID: request.RunID, RequestID: request.RequestID}] = request
	}
	return err
}

func (b *batch) loadPayloads(ctx context.Context, loads []committer.Load) error {
	// A call that names the wrong session puts a run into two states.
	wanted := map[string][]*model.Run{}
	for i := range loads {
		for _, runID := range loads[i].PayloadRunIDs {
			if run := b.states[loads[i].SessionID].Runs[runID]; run != nil {
				wanted[runID] = append(wanted[runID], run)
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	argument, err := jsonList(slices.Collect(maps.Keys(wanted)))
	if err != nil {
		return err
	}
	return b.write.each(ctx, `SELECT run_id, member, value FROM run_payloads WHERE run_id IN (SELECT value FROM json_each(?))`,
		[]any{argument}, func(rows *sql.Rows) error { return scanPayload(rows, wanted) })
}

// scanPayload puts an input or a checkpoint into the images of its run.
func scanPayload(rows *sql.Rows, wanted map[string][]*model.Run) error {
	var runID, member string
	var value jsonText
	if err := rows.Scan(&runID, &member, &value); err != nil {
		return err
	}
	for _, run := range wanted[runID] {
		switch member {
		case memberInput:
			run.Input = api.JSON(value)
		case memberCheckpoint:
			run.Checkpoint = api.JSON(value)
		}
	}
	return nil
}
