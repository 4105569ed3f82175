package door_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/door"
)

// A standby without the last commits takes over.
func TestWhatADatabaseHasLostIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, seen, log := newMemory(), &notes{lost: make(chan int, 1)}, &bytes.Buffer{}
		m.incarnation.Store(1)
		notices := make(chan reads.Notice, 100)
		c := loading(m, door.Options{
			Observer: seen, Logger: slog.New(slog.NewJSONHandler(log, nil)),
			Announce: func(n reads.Notice) { notices <- n },
		})
		defer c.Close()
		require.NoError(t, (<-do(t.Context(), c, create("retained", "r0"))).err)
		time.Sleep(2 * time.Minute)
		for _, sessionID := range []string{"kept", "older", "gone"} {
			require.NoError(t, (<-do(t.Context(), c, create(sessionID, "run-of-"+sessionID))).err)
		}
		m.mu.Lock()
		older := *m.states["older"].Session
		older.Version--
		m.states["older"].Session = &older
		delete(m.states, "gone")
		delete(m.states, "retained")
		m.mu.Unlock()
		tries := 0
		m.onVersions = func(context.Context) error {
			if tries++; tries == 1 {
				return errors.New("the connection is broken")
			}
			return nil
		}
		synctest.Wait()
		for len(notices) > 0 {
			<-notices
		}
		m.incarnation.Store(2)
		require.NoError(t, (<-do(t.Context(), c, create("next", "r1"))).err)
		require.Equal(t, reads.Notice{}, <-notices, "every waiting reader reads again")
		require.Equal(t, "next", (<-notices).SessionID)
		require.Equal(t, 2, <-seen.lost)
		require.Equal(t, 2, tries)
		synctest.Wait()
		require.Contains(t, log.String(), `"sessions":2,"session_ids":["gone","older"]`)

		// The server restarts again, and nothing new is lost.
		m.incarnation.Store(3)
		require.NoError(t, (<-do(t.Context(), c, create("last", "r2"))).err)
		synctest.Wait()
		require.Empty(t, seen.lost)
		require.Equal(t, 3, tries)
	})
}

// A database restarts without losses. It has its own commits, later ones by another replica, and
// lacks sessions deleted by retention. One of these ids has been reused in another life.
func TestACleanRestartLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, seen, log := newMemory(), &notes{lost: make(chan int, 1)}, &bytes.Buffer{}
		m.incarnation.Store(1)
		c := loading(m, door.Options{Observer: seen, Logger: slog.New(slog.NewJSONHandler(log, nil))})
		defer c.Close()
		for _, sessionID := range []string{"deleted", "again"} {
			require.NoError(t, (<-do(t.Context(), c, create(sessionID, "run-of-"+sessionID))).err)
		}
		time.Sleep(2 * time.Minute)
		for _, sessionID := range []string{"kept", "worked-on"} {
			require.NoError(t, (<-do(t.Context(), c, create(sessionID, "run-of-"+sessionID))).err)
		}
		synctest.Wait()
		m.mu.Lock()
		further := *m.states["worked-on"].Session
		further.Version, further.LastEventID, further.LastEventHash = further.Version+1, further.LastEventID+1, "of the newer event"
		m.states["worked-on"].Session = &further
		delete(m.states, "deleted")
		anew := *m.states["again"].Session
		anew.Version, anew.Life, anew.LastEventHash = 1, "another", "another"
		m.states["again"].Session = &anew
		m.mu.Unlock()

		m.incarnation.Store(2)
		require.NoError(t, (<-do(t.Context(), c, create("next", "r1"))).err)
		synctest.Wait()
		require.Empty(t, seen.lost)
		require.NotContains(t, log.String(), "lost what was acknowledged")
	})
}

// A server that takes over cannot be read for long: what it has lost is told once it can. A check ends when the server is
// another one again, which is checked for the same sessions.
func TestWhatIsLostIsToldLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, seen, log := newMemory(), &notes{lost: make(chan int, 1)}, &bytes.Buffer{}
		m.incarnation.Store(1)
		c := loading(m, door.Options{Observer: seen, Logger: slog.New(slog.NewJSONHandler(log, nil))})
		defer c.Close()
		require.NoError(t, (<-do(t.Context(), c, create("gone", "run-of-gone"))).err)
		m.mu.Lock()
		delete(m.states, "gone")
		m.mu.Unlock()
		var tries atomic.Int64
		var reads atomic.Bool
		m.onVersions = func(context.Context) error {
			if tries.Add(1); !reads.Load() {
				return errors.New("the server starts")
			}
			return nil
		}
		for incarnation := range int64(2) {
			m.incarnation.Store(2 + incarnation)
			require.NoError(t, (<-do(t.Context(), c, create("next", "run-"+strconv.FormatInt(incarnation, 10)))).err)
			time.Sleep(10 * time.Minute)
		}
		synctest.Wait()
		require.Empty(t, seen.lost)
		require.Equal(t, 2, strings.Count(log.String(), "is not known"), "once for each server: %s", log)
		reads.Store(true)
		tries.Store(0)
		require.Equal(t, 1, <-seen.lost)
		synctest.Wait()
		require.EqualValues(t, 1, tries.Load(), "the first check has ended")
		require.Contains(t, log.String(), `"sessions":1,"session_ids":["gone"]`)
	})
}

// A check that waits while the server becomes another one counts nothing that the next check counts.
func TestWhatIsLostIsToldOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, seen := newMemory(), &notes{lost: make(chan int, 2)}
		m.incarnation.Store(1)
		c := loading(m, door.Options{Observer: seen, Logger: slog.New(slog.DiscardHandler)})
		defer c.Close()
		require.NoError(t, (<-do(t.Context(), c, create("gone", "run-of-gone"))).err)
		m.mu.Lock()
		delete(m.states, "gone")
		m.mu.Unlock()
		var reads atomic.Bool
		m.onVersions = func(context.Context) error {
			if !reads.Load() {
				return errors.New("the server starts")
			}
			return nil
		}
		m.incarnation.Store(2)
		require.NoError(t, (<-do(t.Context(), c, create("next", "r1"))).err)
		time.Sleep(10 * time.Second)
		reads.Store(true)
		m.incarnation.Store(3)
		require.NoError(t, (<-do(t.Context(), c, create("last", "r2"))).err)
		time.Sleep(time.Minute)
		require.Equal(t, 1, <-seen.lost)
		require.Empty(t, seen.lost)
	})
}

// The check for lost commits ends with the door, even if the database never answers.
func TestLookingForWhatWasLostEndsWithTheDoor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, seen, log := newMemory(), &notes{lost: make(chan int, 1)}, &bytes.Buffer{}
		m.onVersions = func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		m.incarnation.Store(1)
		c := loading(m, door.Options{Observer: seen, Logger: slog.New(slog.NewJSONHandler(log, nil))})
		require.NoError(t, (<-do(t.Context(), c, create("a", "a"))).err)
		m.incarnation.Store(2)
		require.NoError(t, (<-do(t.Context(), c, create("b", "b"))).err)
		begun := time.Now()
		require.True(t, c.Close())
		require.Zero(t, time.Since(begun))
		require.Contains(t, log.String(), "is not known")
		require.Empty(t, seen.lost)
	})
}
