package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/committer"
)

// execute runs statements on the write connection.
func execute(t *testing.T, s *Store, statements ...string) {
	t.Helper()
	c, err := s.writers.acquire(t.Context())
	require.NoError(t, err)
	defer s.writers.release(c)
	for _, statement := range statements {
		_, err := c.exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// TestWhatIsLeftOfARefusedCommandStaysOutOfSight has partly deleted leftovers of a rejected
// command, and following commands of each size.
func TestWhatIsLeftOfARefusedCommandStaysOutOfSight(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]api.JSON{
		"small":     {api.JSON(`{"type":"step"}`)},
		"one large": {api.JSON(`{"type":"step","text":"` + strings.Repeat("x", 600<<10) + `"}`)},
		"many":      manyEvents()[100:600],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "holdpoint.db")
			s := openHeld(t, path)
			execute(
				t, s, `CREATE TRIGGER broken BEFORE INSERT ON events WHEN NEW.event_id = 900 BEGIN SELECT RAISE(ABORT, 'broken'); END`,
				`CREATE TRIGGER kept BEFORE DELETE ON events WHEN OLD.event_id = 300 BEGIN SELECT RAISE(ABORT, 'kept'); END`,
			)
			_, err := s.Do(t.Context(), &runs.AppendEvents{RunID: "r", Fence: 1, Events: manyEvents()})
			require.ErrorIs(t, err, runs.ErrUnavailable)
			rows, lines := counts(t, s)
			require.Positive(t, rows, "one could not be taken out")
			require.EqualValues(t, 1, lines)
			requireRead(t, s, 3, 1)
			execute(t, s, `DROP TRIGGER broken`, `DROP TRIGGER kept`)

			reply := do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: events})
			require.EqualValues(t, 3+len(events), reply.LastEventID)
			requireRead(t, s, 3+len(events), 1)
			require.NoError(t, s.Close())
			s, err = Open(t.Context(), path, Options{})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			requireRead(t, s, 3+len(events), 1)
			do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: manyEvents()})
			requireRead(t, s, 3+len(events)+api.MaxEventsPerCall, 2)
		})
	}
}

// TestAPartForWhichThereIsNoRoom rolls back the transaction that took it; the transaction's
// commands then run without it.
func TestAPartForWhichThereIsNoRoom(t *testing.T) {
	t.Parallel()
	s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
	defer func() { require.NoError(t, s.Close()) }()
	h := beginHalf(t, s)
	for _, event := range h.staging.events {
		event.Body = api.JSON(fmt.Sprintf(`{"type":"step","text":"%012000d"}`, event.EventID))
	}
	c, err := s.writers.acquire(t.Context())
	require.NoError(t, err)
	pages, _, err := number(t.Context(), c, `PRAGMA page_count`)
	require.NoError(t, err)
	_, _, err = number(t.Context(), c, fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+8))
	require.NoError(t, err)
	s.writers.release(c)
	next := &part{staging: h.staging, ended: make(chan error, 1)}
	s.staged.offer(next)
	do(t, s, &runs.CreateSession{SessionID: "other"})
	require.Error(t, <-next.ended)
	require.NoError(t, s.unstage(t.Context(), "s"))
	requireRead(t, s, 3, 1)
	do(t, s, &runs.CreateSession{SessionID: "another"})
}

// TestAPartHidesNothingThatIsThere is about a session that was written after its large command was decided, which
// the lane keeps from happening.
func TestAPartHidesNothingThatIsThere(t *testing.T) {
	t.Parallel()
	s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
	defer func() { require.NoError(t, s.Close()) }()
	h := beginHalf(t, s)
	s.staged.remove("s")
	do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"between"}`)}})
	h.staging.gone = false
	s.staged.add(h.staging)
	next := &part{staging: h.staging, ended: make(chan error, 1)}
	s.staged.offer(next)
	do(t, s, &runs.CreateSession{SessionID: "other"})
	require.ErrorIs(t, <-next.ended, committer.ErrRefused)
	rows, lines := counts(t, s)
	require.EqualValues(t, 4, rows)
	require.Zero(t, lines)
	require.NoError(t, s.unstage(t.Context(), "s"))
	requireRead(t, s, 4, 1)
}

// TestPartsGrow checks that on a slow disk a session is blocked for fewer flushes than it has
// parts.
func TestPartsGrow(t *testing.T) {
	t.Parallel()
	transactions := func(growAfter time.Duration) (count int) {
		s := openHeld(t, filepath.Join(t.TempDir(), "holdpoint.db"))
		defer func() { require.NoError(t, s.Close()) }()
		s.staged.growAfter = growAfter
		c, err := s.writers.acquire(t.Context())
		require.NoError(t, err)
		released := s.writers.released
		s.writers.released = func(c *connection) {
			released(c)
			count++
		}
		s.writers.release(c)
		count = 0
		do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: manyEvents()})
		requireRead(t, s, 3+api.MaxEventsPerCall, 2)
		return count
	}
	require.Greater(t, transactions(time.Hour), api.MaxEventsPerCall/(alone*partRows))
	require.LessOrEqual(t, transactions(1), 8)
}
