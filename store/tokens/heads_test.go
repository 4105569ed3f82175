package tokens_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }

const (
	sessions = 12_000
	// manySessions creates sessions, and changes those at the ends of a search's parts. One
	// changed session has no events.
	manySessions = `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 12000)
	INSERT INTO sessions (session_id, agent_id, queued_count, last_event_id, created_at_ms, updated_at_ms, last_event_hash)
	SELECT 'session_' || (100000 + n), 'coder', 0, 9, 1, CASE WHEN n IN (1, 2, 4999, 5000, 5001, 9999, 10000, 10001, 11999, 12000) THEN 2000 ELSE 1 END,
		CASE WHEN n = 9999 THEN '' ELSE '0123456789012345678901234567890123456789012345678901234567890123' END FROM counted`
)

var moved = []int{1, 2, 4999, 5000, 5001, 10000, 10001, 11999, 12000}

// searches records the queries about sessions, and whether they have a deadline.
type searches struct {
	mu     sync.Mutex
	asked  []string
	endful int
}

func (s *searches) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "FROM sessions WHERE session_id > $1") {
		return ctx
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, data.SQL)
	if _, has := ctx.Deadline(); has {
		s.endful++
	}
	return ctx
}

func (*searches) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// With any number of sessions, each statement of the search for changed ones reads at most
// 5,000, with its own deadline.
func TestTheSearchForWhatMovedIsMadeInParts(t *testing.T) {
	t.Parallel()
	insert := func(t *testing.T, driver, name string) {
		t.Helper()
		db, err := sql.Open(driver, name)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), manySessions)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	found := func(t *testing.T, rows audit.CheckpointRows, limit int) {
		t.Helper()
		var ids []string
		for after := ""; ; after = ids[len(ids)-1] {
			page, err := rows.HeadsSince(t.Context(), 1000, after, limit)
			require.NoError(t, err)
			for _, head := range page {
				ids = append(ids, head.SessionID)
			}
			if len(page) < limit {
				break
			}
		}
		want := make([]string, len(moved))
		for i, n := range moved {
			want[i] = fmt.Sprintf("session_%d", 100000+n)
		}
		require.Equal(t, want, ids, "%d at a time", limit)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "data.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		require.NoError(t, err)
		require.NoError(t, store.Close())
		insert(t, "sqlite", path)
		store, err = sqlite.Open(t.Context(), path, sqlite.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		for _, limit := range []int{1, 2, 3, 1000} {
			found(t, store, limit)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url, asked := postgrestest.URL(t), &searches{}
		store, err := postgres.Open(t.Context(), url, postgres.Options{StatementTracer: asked})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		insert(t, "pgx", url)
		for _, limit := range []int{1, 2, 3} {
			found(t, store, limit)
		}
		asked.asked, asked.endful = nil, 0
		found(t, store, 1000)
		require.Len(t, asked.asked, 2*(sessions/5_000+1), "%q", asked.asked)
		require.Equal(t, len(asked.asked), asked.endful)
	})
}

// The newest complete checkpoint counts, which after the clock was set back is not the one with the latest time.
func TestTheNewestCompleteCheckpointIsFound(t *testing.T) {
	t.Parallel()
	finds := func(t *testing.T, rows audit.CheckpointRows) {
		t.Helper()
		requireLast := func(number, completeMs int64) {
			t.Helper()
			last, found, err := rows.LastCheckpoint(t.Context())
			require.NoError(t, err)
			require.Equal(t, []int64{number, completeMs}, []int64{last.Number, found})
		}
		requireLast(0, 0)
		for number, completeMs := range []int64{0, 9_000, 0, 5_000, 0} {
			added, err := rows.AddCheckpoint(t.Context(), audit.Checkpoint{Number: int64(number + 1), CompleteMs: completeMs, Signed: "signed"})
			require.NoError(t, err)
			require.True(t, added)
			requireLast(int64(number+1), []int64{0, 9_000, 9_000, 5_000, 5_000}[number])
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "data.db"), sqlite.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		finds(t, store)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store, err := postgres.Open(t.Context(), postgrestest.URL(t), postgres.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()) })
		finds(t, store)
	})
}
