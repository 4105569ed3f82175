package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/facts"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// Two replicas append to one session in turns and concurrently. Each write makes the other's
// cached rows stale.
func TestTwoReplicasFightForOneSession(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{"straight": {NoListen: true}, "through a pool": {NoListen: true, Pooler: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.URL(t)
			replicas := []*Store{open(t, url, options), open(t, url, options)}
			do(t, replicas[0], &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
			do(t, replicas[1], &runs.ClaimRun{RunID: "r", WorkerID: "w"})
			note := func(by, n int) *runs.AppendEvents {
				return &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(fmt.Sprintf(`{"type":"note","by":%d,"n":%d}`, by, n))}}
			}
			const callers, each = 8, 25
			for n := range each { // in turns: every memory is one write old
				do(t, replicas[n%2], note(-1, n))
			}
			var group sync.WaitGroup
			for by := range callers {
				group.Go(func() {
					for n := range each {
						_, err := replicas[by%2].Do(context.Background(), note(by, n))
						require.NoError(t, err)
					}
				})
			}
			group.Wait()
			events, _, err := replicas[0].EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 1000, MaxBytes: api.MaxReplyBytes})
			require.NoError(t, err)
			seen := map[string]bool{}
			for i, event := range events {
				require.EqualValues(t, i+1, event.EventID)
				if event.Type == "note" {
					require.False(t, seen[string(event.Body)], "written twice: %s", event.Body)
					seen[string(event.Body)] = true
				}
			}
			require.Len(t, seen, (callers+1)*each)
		})
	}
}

// Changes by hand, or by a program without versions, are noticed.
func TestAChangeByHandIsNoticed(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"a run":       `UPDATE runs SET fence = 5 WHERE run_id = 'r'`,
		"a session":   `UPDATE sessions SET active_run_id = NULL WHERE session_id = 's'; UPDATE runs SET status = 'failed', finished_at_ms = 1, claimable_at_ms = NULL, lease_expires_at_ms = NULL WHERE run_id = 'r'`,
		"a deletion":  `DELETE FROM runs WHERE run_id = 'r'`,
		"a new owner": `UPDATE runs SET fence = fence + 1, worker_id = 'other' WHERE session_id = 's'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, postgrestest.URL(t), Options{NoListen: true})
			do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
			do(t, s, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
			do(t, s, &runs.Heartbeat{RunID: "r", Fence: 1})
			_, err := s.reads.Exec(t.Context(), statement)
			require.NoError(t, err)
			_, err = s.Do(t.Context(), &runs.Heartbeat{RunID: "r", Fence: 1})
			require.Contains(t, []api.Code{api.CodeLeaseLost, api.CodeRunNotFound, api.CodeRunStateConflict}, refusal.CodeOf(err))
		})
	}
}

func TestARequestSettledByHandIsNoticed(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	suspension := approval("q")
	do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Suspend: &suspension})
	_, err := s.reads.Exec(t.Context(), `UPDATE requests SET due_at_ms = NULL, outcome = 'denied', settled_number = 1, settled_at_ms = 1,
		resolution = '{"request_id":"q","outcome":"denied","behavior":"deny","resolved_by":"hand","resolved_at_ms":1,"via":"api"}'`)
	require.NoError(t, err)
	_, err = s.Do(t.Context(), &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "q", Behavior: api.BehaviorAllow}}})
	require.Error(t, err, "it was denied by hand")
	require.NotEmpty(t, refusal.CodeOf(err))
}

// The clock of the database rules: an estimate that is off is found out.
func TestAWrongEstimateOfTheClockIsRefused(t *testing.T) {
	t.Parallel()
	var offMs atomic.Int64
	started := time.Now()
	local := func() int64 { return time.Since(started).Milliseconds() + offMs.Load() }
	s := open(t, postgrestest.URL(t), Options{NoListen: true, Door: door.Options{Clock: local, Lanes: 1}})
	do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
	for _, jump := range []int64{3_600_000, 0, 10_000} {
		offMs.Store(jump)
		beforeMs, err := s.NowMs(t.Context())
		require.NoError(t, err)
		do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`)})
		nowMs, err := s.NowMs(t.Context())
		require.NoError(t, err)
		events, _, err := s.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
		require.NoError(t, err)
		atMs := events[len(events)-1].TimestampMs
		require.GreaterOrEqual(t, atMs, beforeMs-5_000, "after a jump of %d ms", jump)
		require.LessOrEqual(t, atMs, nowMs+5_000, "after a jump of %d ms", jump)
	}
}

// A decision from cached rows may have a time slightly ahead of the database's clock. A command
// that acts on it immediately, and reads, is not rejected.
func TestADecisionAheadOfTheClockIsActedOnAtOnce(t *testing.T) {
	t.Parallel()
	var offMs atomic.Int64
	started := time.Now()
	local := func() int64 { return time.Since(started).Milliseconds() + offMs.Load() }
	url := postgrestest.URL(t)
	ahead := open(t, url, Options{NoListen: true, Door: door.Options{Clock: local, Lanes: 1}})
	other := open(t, url, Options{NoListen: true})
	suspension := approval("q")
	do(t, ahead, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`), Suspend: &suspension})
	offMs.Store(90)
	do(t, ahead, &runs.ResolveApprovals{RunID: "r", Resolutions: []runs.ApprovalDecision{{RequestID: "q", Behavior: api.BehaviorAllow}}})
	claimed := do(t, other, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	require.Equal(t, api.StatusRunning, claimed.Run.Run.Status)

	// A release writes no event, and leaves its session as it was.
	offMs.Store(0)
	ahead = open(t, url, Options{NoListen: true, Door: door.Options{Clock: local, Lanes: 1}})
	do(t, ahead, &runs.CreateRun{SessionID: "t", SessionGiven: true, RunID: "t", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	offMs.Store(90)
	do(t, ahead, &runs.Release{RunID: "t", Fence: 1})
	do(t, other, &runs.ClaimRun{RunID: "t", WorkerID: "w"})

	nowMs, err := other.NowMs(t.Context())
	require.NoError(t, err)
	_, err = other.reads.Exec(t.Context(), `UPDATE sessions SET updated_at_ms = $1`, nowMs+3_600_000)
	require.NoError(t, err)
	third := open(t, url, Options{NoListen: true})
	do(t, third, &runs.Heartbeat{RunID: "r", Fence: 1})
	run, err := third.Run(t.Context(), "r")
	require.NoError(t, err)
	require.InDelta(t, nowMs, run.Run.UpdatedAtMs, 60_000, "a clock that was set back rules again")
}

// A transaction that the server rejects at COMMIT is not acknowledged.
func TestWhatIsRefusedAtTheCommitIsNotAnswered(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{NoListen: true, Door: door.Options{Lanes: 1, Retries: 1}})
	do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
	do(t, s, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	note := &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"note"}`)}}
	do(t, s, note)
	before, _, err := s.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
	require.NoError(t, err)
	_, err = s.reads.Exec(t.Context(), `CREATE FUNCTION refuse_at_the_end() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'too late' USING ERRCODE = 'check_violation'; END $$;
		CREATE CONSTRAINT TRIGGER late AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_at_the_end()`)
	require.NoError(t, err)
	_, err = s.Do(t.Context(), note)
	require.ErrorIs(t, err, runs.ErrUnavailable)
	after, _, err := s.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = s.reads.Exec(t.Context(), `DROP TRIGGER late ON events`)
	require.NoError(t, err)
	do(t, s, note)
	after, _, err = s.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
	require.NoError(t, err)
	require.Len(t, after, len(before)+1)
}

// A transaction has the isolation that decisions rest on, whatever the server's default is.
func TestUnreadCommitsReadWhatIsCommitted(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	first := open(t, url, Options{NoListen: true})
	_, err := first.reads.Exec(t.Context(), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database());
		EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
	END $$`)
	require.NoError(t, err)
	s := open(t, url, Options{NoListen: true, Door: door.Options{Lanes: 1}})
	var isolation, readOnly string
	require.NoError(t, s.lanes.QueryRow(t.Context(), `SELECT current_setting('transaction_isolation'), current_setting('transaction_read_only')`).Scan(&isolation, &readOnly))
	require.Equal(t, []string{"read committed", "off"}, []string{isolation, readOnly})
}

// A connection that the server closed is noticed before anything is sent on it.
func TestALostConnectionIsReplacedBeforeAnUnreadCommit(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{NoListen: true, Door: door.Options{Lanes: 1}})
	do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`1`)})
	do(t, s, &runs.ClaimRun{RunID: "r", WorkerID: "w"})
	_, err := s.reads.Exec(t.Context(), `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, err)
	do(t, s, &runs.Heartbeat{RunID: "r", Fence: 1})
}

// An answer after the deadline is late by the clock of the database, not by an estimate that is
// behind it.
func TestADeadlineIsNotGuessed(t *testing.T) {
	t.Parallel()
	var behindMs atomic.Int64
	started := time.Now()
	local := func() int64 { return time.Since(started).Milliseconds() - behindMs.Load() }
	s := open(t, postgrestest.URL(t), Options{NoListen: true, Door: door.Options{Clock: local, Lanes: 1}})
	do(t, s, &runs.CreateRun{Input: api.JSON(`1`), SessionID: "other", SessionGiven: true})
	nowMs, err := s.NowMs(t.Context())
	require.NoError(t, err)
	suspension := approval("q")
	dueAtMs := nowMs + 40
	suspension.Approvals[0].ExpiresAtMs = &dueAtMs
	made := do(t, s, &runs.CreateRun{Input: api.JSON(`1`), Suspend: &suspension})
	require.Eventually(t, func() bool {
		nowMs, err := s.NowMs(t.Context())
		return err == nil && nowMs > dueAtMs
	}, time.Minute, time.Millisecond)
	behindMs.Store(60)
	_, err = s.Do(t.Context(), &runs.ResolveApprovals{
		RunID: made.Run.Run.RunID, Resolutions: []runs.ApprovalDecision{{RequestID: "q", Behavior: api.BehaviorAllow}},
	})
	require.NotEmpty(t, refusal.CodeOf(err))
	require.Equal(t, api.OutcomeExpired, readRun(t, s, made.Run.Run.RunID).Requests[0].Outcome)
}

func readRun(t *testing.T, s *Store, runID string) *model.RunRecord {
	t.Helper()
	record, err := s.Run(t.Context(), runID)
	require.NoError(t, err)
	return record
}

// Writing from rows cached for another server is rejected, whatever versions its rows have.
func TestWhatIsRememberedOfAnotherServerIsRefused(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{"straight": {NoListen: true}, "through a pool": {NoListen: true, Pooler: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, postgrestest.URL(t), options)
			e := &engine{lanes: s.lanes, reads: s.reads, localSettings: options.Pooler}
			batch, err := e.Begin(t.Context(), nil)
			require.NoError(t, err)
			guard := facts.ReadSet{Incarnation: batch.Incarnation(), NowMs: batch.NowMs(), WithinMs: 60_000}
			batch.Rollback(t.Context())
			for _, sessions := range [][]string{nil, {"one"}, {"one", "two"}} {
				for _, sessionID := range sessions {
					do(t, s, &runs.CreateRun{SessionID: sessionID, SessionGiven: true, Input: api.JSON(`1`)})
				}
				histories, err := e.Histories(t.Context(), sessions, make([]int64, len(sessions)))
				require.NoError(t, err)
				guard.Sessions = nil
				for _, sessionID := range sessions {
					guard.Sessions = append(guard.Sessions, &model.Session{SessionID: sessionID, Version: histories[sessionID].Version})
				}
				for _, rules := range []map[string]int64{nil, {"one": 0}} {
					guard.Rules = rules
					_, err = e.Commit(t.Context(), guard, runs.Writes{})
					require.NoError(t, err, "%v %v", sessions, rules)
					other := guard
					other.Incarnation++
					_, err = e.Commit(t.Context(), other, runs.Writes{})
					require.ErrorIs(t, err, facts.ErrStaleDatabase, "%v %v", sessions, rules)
				}
			}
		})
	}
}
