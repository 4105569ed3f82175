package sqlite

import (
	"database/sql"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
)

// reading counts the reading transactions, and the stale ones.
type reading struct {
	mu                  sync.Mutex
	all, read, wasStale int
}

func (r *reading) Ended(t door.Transaction) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all++
	if t.Read {
		r.read++
	}
	if t.Result == door.ResultStale {
		r.wasStale++
	}
}

func (*reading) Answered(runs.Command, runs.Reply, error, time.Duration) {}
func (*reading) Began(time.Duration)                                     {}
func (*reading) Committed([]runs.Change)                                 {}
func (*reading) Lost(int)                                                {}

func (r *reading) counts() [3]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return [3]int{r.all, r.read, r.wasStale}
}

func do(t *testing.T, s *Store, command runs.Command) runs.Reply {
	t.Helper()
	reply, err := s.Do(t.Context(), command)
	require.NoError(t, err)
	return reply
}

func claimed(t *testing.T, s *Store, sessionID, runID string) {
	t.Helper()
	do(t, s, &runs.CreateRun{SessionID: sessionID, SessionGiven: true, RunID: runID, Input: api.JSON(`1`)})
	do(t, s, &runs.ClaimRun{RunID: runID, WorkerID: "w"})
}

func TestWhatIsRememberedIsNotReadAgain(t *testing.T) {
	t.Parallel()
	seen := &reading{}
	s := openInMemory(t, Options{Door: door.Options{Observer: seen}})
	claimed(t, s, "s", "r")
	before := seen.counts()
	for range 3 {
		do(t, s, &runs.Heartbeat{RunID: "r", Fence: 1})
	}
	do(t, s, &runs.CreateRun{Input: api.JSON(`1`)})
	do(t, s, &runs.Complete{RunID: "r", Fence: 1})
	after := seen.counts()
	require.Equal(t, 5, after[0]-before[0])
	require.Equal(t, before[1:], after[1:], "nothing was read, and nothing was stale")
}

// A change in a shell gives the session no new version. All cached rows are then read again,
// including sessions not used in between.
func TestAChangeByHandIsNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdpoint.db")
	seen := &reading{}
	s := openTestFile(t, path, Options{Door: door.Options{Observer: seen}})
	for _, name := range []string{"a", "b"} {
		claimed(t, s, name, name)
	}
	do(t, s, &runs.Heartbeat{RunID: "b", Fence: 1})
	shell, err := sql.Open("sqlite", fileURI(path, "_busy_timeout=5000"))
	require.NoError(t, err)
	defer shell.Close()
	_, err = shell.ExecContext(t.Context(), `UPDATE runs SET fence = 5 WHERE run_id = 'b'`)
	require.NoError(t, err)
	do(t, s, &runs.Heartbeat{RunID: "a", Fence: 1})
	require.Equal(t, 1, seen.counts()[2])
	_, err = s.Do(t.Context(), &runs.Heartbeat{RunID: "b", Fence: 1})
	require.Equal(t, api.CodeLeaseLost, refusal.CodeOf(err))
}

// The clock is read for every decision, not estimated.
func TestDecisionsFromMemoryHaveTheClock(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	clock.Store(1_000_000)
	s := openInMemory(t, Options{NowMs: clock.Load})
	claimed(t, s, "s", "r")
	for _, nowMs := range []int64{1_000_050, 1_005_000, 1_004_000} {
		clock.Store(nowMs)
		do(t, s, &runs.AppendEvents{RunID: "r", Fence: 1, Events: []api.JSON{api.JSON(`{"type":"note"}`)}})
		events, _, err := s.EventsWithin(t.Context(), reads.EventQuery{SessionID: "s", Limit: 100, MaxBytes: api.MaxReplyBytes})
		require.NoError(t, err)
		require.Equal(t, nowMs, events[len(events)-1].TimestampMs)
	}
}
