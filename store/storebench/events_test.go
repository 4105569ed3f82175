package storebench

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// longLog returns the SQL, for both engines, that adds 200,000 worker events (4,000 with -short)
// to a session with one open request.
func longLog() string {
	return fmt.Sprintf(`WITH RECURSIVE counted (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM counted WHERE n < %d)
	INSERT INTO events (session_id, event_id, run_id, agent_id, type, timestamp_ms, body)
	SELECT 'long', n, 'long', 'default', 'step', n, '{"type":"step","text":"a line of what the worker did"}' FROM counted`, 1000+rows(200_000))
}

// BenchmarkRequestEvents reads the open requests of a session with a long log: from the events
// about requests, and from all of them.
func BenchmarkRequestEvents(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		url := postgrestest.URL(b)
		store, err := postgres.Open(b.Context(), url, postgres.Options{})
		require.NoError(b, err)
		defer func() { require.NoError(b, store.Close()) }()
		requestEvents(b, store, func(statement string) { fill(b, "pgx", url, statement) })
	})
	b.Run("sqlite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
		require.NoError(b, err)
		defer func() { require.NoError(b, store.Close()) }()
		requestEvents(b, store, func(statement string) { fill(b, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)", statement) })
	})
}

func requestEvents(b *testing.B, store runs.Store, fill func(statement string)) {
	_, err := store.Do(b.Context(), &runs.CreateRun{
		SessionID: "long", SessionGiven: true, RunID: "long", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`1`)}}},
	})
	require.NoError(b, err)
	fill(longLog())
	fill(`UPDATE sessions SET last_event_id = (SELECT max(event_id) FROM events WHERE session_id = 'long') WHERE session_id = 'long'`)
	for name, aboutRequests := range map[string]bool{"about-requests": true, "all": false} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				count := 0
				for q, more := (reads.EventQuery{SessionID: "long", AboutRequests: aboutRequests, Limit: 1000, MaxBytes: api.MaxReplyBytes}), true; more; {
					var events []model.Event
					events, more, err = store.EventsWithin(b.Context(), q)
					require.NoError(b, err)
					count += len(events)
					q.After = events[len(events)-1].EventID
				}
				require.Equal(b, aboutRequests, count == 1)
			}
		})
	}
}
