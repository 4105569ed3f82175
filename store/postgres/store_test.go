package postgres

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func approval(id string) api.Suspension {
	return api.Suspension{Approvals: []api.ApprovalRequest{{ID: id, ToolCallID: "call", ToolName: "bash", Input: api.JSON(`{"command":"rm \u0000 -rf","n":1.10}`)}}}
}

func TestARunWaitsIsDecidedAndGoesOn(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]Options{
		"straight":       {},
		"through a pool": {Pooler: true},
		"one by one":     {Door: oneByOne()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s := open(t, postgrestest.URL(t), options)

			created := do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`{"a": [1,  2]}`), Key: "key"})
			require.Equal(t, api.StatusQueued, created.Run.Run.Status)
			again := do(t, s, &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "r", Input: api.JSON(`{"a":[1,2]}`), Key: "key"})
			require.True(t, again.Replayed)
			_, err := s.Do(ctx, &runs.CreateRun{SessionID: "s", SessionGiven: true, Input: api.JSON(`1`), Key: "key"})
			require.ErrorIs(t, err, refusal.New(api.CodeIdempotencyConflict, ""))

			claimable, err := s.Claimable(ctx, reads.ClaimableQuery{Limit: 10})
			require.NoError(t, err)
			require.Len(t, claimable, 1)
			ofAgents, err := s.Claimable(ctx, reads.ClaimableQuery{AgentIDs: []string{"default", "other", "default"}, Limit: 10})
			require.NoError(t, err)
			require.Equal(t, claimable, ofAgents)

			claim := do(t, s, &runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
			require.JSONEq(t, `{"a":[1,2]}`, string(claim.Input))
			suspension := approval("q")
			suspension.Checkpoint = api.JSON(`"point"`)
			waiting := do(t, s, &runs.Suspend{RunID: "r", Fence: 1, Suspension: suspension})
			require.Equal(t, api.StatusWaitingForApproval, waiting.Run.Run.Status)
			read, err := s.Run(ctx, "r")
			require.NoError(t, err)
			require.Equal(t, waiting.Run.Requests, read.Requests)

			pending, err := s.PendingRequests(ctx, reads.RequestQuery{Kind: model.KindApproval, Limit: 10})
			require.NoError(t, err)
			require.Len(t, pending, 1)
			session, err := s.Session(ctx, "s")
			require.NoError(t, err)
			require.Equal(t, 1, session.View().PendingCount)

			do(t, s, &runs.ResolveApprovals{SessionID: "s", Resolutions: []runs.ApprovalDecision{{RequestID: "q", Behavior: api.BehaviorAllow}}})
			resumed := do(t, s, &runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
			require.Equal(t, `"point"`, string(resumed.Checkpoint))
			require.Len(t, resumed.Resume.Approvals, 1)
			require.Equal(t, `{"command":"rm \u0000 -rf","n":1.10}`, string(resumed.Resume.Approvals[0].Request.Input))

			do(t, s, &runs.AppendEvents{RunID: "r", Fence: 2, Events: []api.JSON{api.JSON(`{"type":"output","content":"done"}`)}})
			do(t, s, &runs.Complete{RunID: "r", Fence: 2, Output: api.JSON(`7`)})
			list, err := s.Runs(ctx, reads.RunQuery{SessionID: "s", Limit: 10})
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, api.StatusCompleted, list[0].Run.Status)
			require.EqualValues(t, 1, list[0].Run.OutputCount)
			shown, err := s.Run(ctx, "r")
			require.NoError(t, err)
			require.Equal(t, "done", shown.Outputs[0].Content)
			events, _, err := s.EventsWithin(ctx, reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
			require.NoError(t, err)
			for i, event := range events {
				require.EqualValues(t, i+1, event.EventID)
			}
			ofRun, _, err := s.EventsWithin(ctx, reads.EventQuery{RunID: "r", After: 2, Limit: 100, MaxBytes: api.MaxReplyBytes})
			require.NoError(t, err)
			require.Equal(t, events[2:], ofRun)
			require.NoError(t, s.Ready(ctx))
		})
	}
}

func TestReadsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	for _, id := range []string{"unknown", "", "\x00", "\xff", "a b"} {
		_, err := s.Run(ctx, id)
		require.Equal(t, api.CodeRunNotFound, refusal.CodeOf(err), "%q", id)
		if id != "" { // a query without a run is one of a session
			_, _, err = s.EventsWithin(ctx, reads.EventQuery{RunID: id, Limit: 1, MaxBytes: api.MaxReplyBytes})
			require.Equal(t, api.CodeRunNotFound, refusal.CodeOf(err), "%q", id)
		}
		_, _, err = s.SettledAfter(ctx, id, 0)
		require.Equal(t, api.CodeRunNotFound, refusal.CodeOf(err), "%q", id)
		_, err = s.Session(ctx, id)
		require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err), "%q", id)
		_, _, err = s.EventsWithin(ctx, reads.EventQuery{SessionID: id, Limit: 1, MaxBytes: api.MaxReplyBytes})
		require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err), "%q", id)
		_, err = s.Do(ctx, &runs.ClaimRun{RunID: id, WorkerID: "w"})
		require.Equal(t, api.CodeRunNotFound, refusal.CodeOf(err), "%q", id)
		if id != "" {
			_, err = s.Do(ctx, &runs.EndSession{SessionID: id})
			require.Equal(t, api.CodeSessionNotFound, refusal.CodeOf(err), "%q", id)
		}
		list, err := s.Runs(ctx, reads.RunQuery{AgentID: id + "x", Status: api.Status(id), After: &reads.RunPosition{RunID: id}, Limit: 1})
		require.NoError(t, err)
		require.Empty(t, list)
		claimable, err := s.Claimable(ctx, reads.ClaimableQuery{AgentIDs: []string{id}, Limit: 1})
		require.NoError(t, err)
		require.Empty(t, claimable)
	}
}

func TestTwoReplicasMakeOneSession(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	replicas := []*Store{open(t, url, Options{NoListen: true}), open(t, url, Options{NoListen: true})}
	const callers, rounds = 16, 20
	for range rounds {
		sessionID := runs.NewID(runs.PrefixSession)
		runIDs := make([]string, callers)
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				// All use one key, half of them together with a session row.
				reply, err := replicas[i%2].Do(context.Background(), &runs.CreateRun{
					SessionID: sessionID, SessionGiven: true, Input: api.JSON(`1`), Key: "key",
				})
				if err == nil && reply.Replayed {
					runIDs[i] = reply.ReplayRunID
				} else if err == nil {
					runIDs[i] = reply.Run.Run.RunID
				}
			})
		}
		group.Wait()
		for _, runID := range runIDs {
			require.Equal(t, runIDs[0], runID)
			require.NotEmpty(t, runID)
		}
		events, _, err := replicas[0].EventsWithin(context.Background(), reads.EventQuery{SessionID: sessionID, Limit: 100, MaxBytes: api.MaxReplyBytes})
		require.NoError(t, err)
		require.Len(t, events, 2) // accepted, queued
	}
}

func TestNoticesCrossReplicas(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	teller, hearer := open(t, url, Options{}), open(t, url, Options{})
	heard := make(chan reads.Notice, 100)
	defer hearer.Subscribe(func(notice reads.Notice) { heard <- notice })()
	own := make(chan reads.Notice, 100)
	defer teller.Subscribe(func(notice reads.Notice) { own <- notice })()

	deadline := time.After(time.Minute)
	for {
		// A replica that does not listen yet misses a hint; the next one reaches it.
		created := do(t, teller, &runs.CreateRun{Input: api.JSON(`1`)})
		at := <-own
		for at.SessionID == "" { // the teller's own listener has started
			at = <-own
		}
		require.Equal(t, created.Run.Run.SessionID, at.SessionID)
		require.Len(t, at.Claimable, 1)
		select {
		case notice := <-heard:
			if notice.SessionID == "" {
				continue
			}
			require.Equal(t, notice.LastEventID, at.LastEventID)
			require.Len(t, notice.Claimable, 1)
			require.NotZero(t, notice.Claimable[0].ClaimableAtMs)
			return
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatal("no notice crossed")
		}
	}
}

func TestLostConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{NoListen: true})
	do(t, s, &runs.CreateSession{SessionID: "s"})
	_, err := s.reads.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, err)
	require.True(t, do(t, s, &runs.CreateSession{SessionID: "s"}).Existing)
}

func TestReadyTellsOfTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t, postgrestest.Empty())
	s := open(t, url, Options{NoListen: true})
	require.ErrorIs(t, s.Ready(ctx), migrations.ErrSchemaBehind)
	require.NoError(t, migrate(ctx, url, nil))
	require.NoError(t, s.Ready(ctx))
	_, err := s.reads.Exec(ctx, `INSERT INTO `+migrations.Table+` (version_id, is_applied) VALUES (99999, true)`)
	require.NoError(t, err)
	require.ErrorIs(t, s.Ready(ctx), migrations.ErrSchemaAhead)
}

// A standby does not answer until it is promoted, whatever its schema is.
func TestReadyTellsOfAStandbyBeforeTheSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t)
	first := open(t, url, Options{NoListen: true})
	_, err := first.reads.Exec(ctx, `INSERT INTO `+migrations.Table+` (version_id, is_applied) VALUES (99999, true)`)
	require.NoError(t, err)
	_, err = first.reads.Exec(ctx, `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
	END $$`)
	require.NoError(t, err)
	s := open(t, url, Options{NoListen: true})
	err = s.Ready(ctx)
	require.ErrorIs(t, err, runs.ErrUnavailable)
	require.ErrorContains(t, err, "takes no writes")
}

func TestClosedStoreTakesNothing(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{})
	require.NoError(t, s.Close())
	_, err := s.Do(context.Background(), &runs.CreateSession{})
	require.ErrorIs(t, err, runs.ErrClosed)
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	_, err := Open(context.Background(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=1", Options{})
	require.Error(t, err)
	_, err = Open(context.Background(), "postgres://%", Options{})
	require.Error(t, err)
	require.NotErrorIs(t, err, runs.ErrUnavailable)
}
