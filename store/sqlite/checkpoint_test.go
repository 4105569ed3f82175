package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/storetest"
)

// appendEvents appends 200 events of 1 kB, which are more than 60 frames of the log.
func appendEvents(t *testing.T, s *Store, runID string) {
	t.Helper()
	events := make([]api.JSON, 200)
	for i := range events {
		events[i] = api.JSON(fmt.Sprintf(`{"type":"step","text":"%01000d"}`, i))
	}
	do(t, s, &runs.AppendEvents{RunID: runID, Fence: 1, Events: events})
}

func openCheckpointed(t *testing.T) (store *Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "holdpoint.db")
	store, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	claimed(t, store, "s", "r")
	return store, path
}

// TestACheckpointWaitsForNoWriter copies the log while a write transaction is open, and keeps
// caches valid.
func TestACheckpointWaitsForNoWriter(t *testing.T) {
	t.Parallel()
	store, path := openCheckpointed(t)
	before, err := os.Stat(path)
	require.NoError(t, err)
	appendEvents(t, store, "r")
	e := &engine{store: store}
	open, err := e.begin(t.Context())
	require.NoError(t, err)
	_, err = e.changedByOthers(t.Context(), open.write)
	require.NoError(t, err)
	length, err := checkpointOn(store.checkpoints.reader)
	require.NoError(t, err)
	require.Greater(t, length, 60)
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, after.Size(), before.Size()+200*1000, "the file has the events")
	changed, err := e.changedByOthers(t.Context(), open.write)
	require.NoError(t, err)
	require.False(t, changed)
	open.Rollback(t.Context())
}

// TestTheLogBeginsAnew writes ten times the log's limit before a full copy.
func TestTheLogBeginsAnew(t *testing.T) {
	t.Parallel()
	store, path := openCheckpointed(t)
	writer, err := store.writers.acquire(t.Context())
	require.NoError(t, err)
	// SQLite itself checkpoints much later than the store does.
	rows := storetest.ReadRows(t, writer.conn, "PRAGMA wal_autocheckpoint")
	require.Len(t, rows, 1)
	require.Greater(t, rows[0]["wal_autocheckpoint"], int64(2*restartAt))
	reader, err := newConnection(t.Context(), store.owned.read)
	require.NoError(t, err)
	k := newCheckpoints(reader, store.writers, store.PauseLists, nil)
	k.every, k.restart = 50, 100
	store.writers.release(writer)
	for range 15 {
		appendEvents(t, store, "r")
		<-k.wake
		k.checkpoint()
	}
	log, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Less(t, log.Size(), int64(600*4120), "of %d frames", k.written)
	require.Greater(t, k.written, 1000)
	require.NoError(t, reader.close())
}

// TestListsWaitWhileTheLogRestarts: lists that overlap, of a caller that always reads one, would keep the log from restarting.
func TestListsWaitWhileTheLogRestarts(t *testing.T) {
	t.Parallel()
	store, path := openCheckpointed(t)
	reader, err := newConnection(t.Context(), store.owned.read)
	require.NoError(t, err)
	begun, ended := make(chan func()), make(chan struct{})
	list := func() { // until the function that it sends is called
		end := make(chan struct{})
		err := store.reads.Snapshot(t.Context(), func(ask func(...read.Query) error) error {
			err := ask(read.Query{SQL: "SELECT count(*) FROM events", Read: func(rows columns.Rows) error {
				return columns.Each(rows, columns.Itself[int64], func(*int64) {})
			}})
			begun <- sync.OnceFunc(func() { close(end) })
			<-end
			return err
		})
		if err != nil {
			t.Error(err)
		}
		ended <- struct{}{}
	}
	go list()
	last := <-begun
	paused := 0
	k := newCheckpoints(reader, store.writers, func(context.Context) (func(), error) {
		paused++
		last()
		<-ended
		return func() {
			go list()
			last = <-begun
		}, nil
	}, nil)
	k.every, k.restart, k.pause = 50, 100, 200
	for range 15 {
		appendEvents(t, store, "r")
		<-k.wake
		k.checkpoint()
		go list() // it overlaps the last one
		next := <-begun
		last()
		<-ended
		last = next
	}
	last()
	<-ended
	require.Positive(t, paused)
	log, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Less(t, log.Size(), int64(600*4120), "of %d frames", k.written)
	require.Greater(t, k.written, 900)
	require.NoError(t, reader.close())
}

// TestALongReadIsNamedAndItsLogShrinks: a read that stays open keeps the log from restarting, which would fill the disk
// unnoticed. Once the read has ended, the disk gets the space back.
func TestALongReadIsNamedAndItsLogShrinks(t *testing.T) {
	t.Parallel()
	store, path := openCheckpointed(t)
	writer, err := store.writers.acquire(t.Context())
	require.NoError(t, err)
	rows := storetest.ReadRows(t, writer.conn, "PRAGMA journal_size_limit")
	require.EqualValues(t, logSizeLimit, rows[0]["journal_size_limit"])
	_, err = writer.conn.ExecContext(t.Context(), "PRAGMA journal_size_limit = 400000")
	require.NoError(t, err)
	reader, err := newConnection(t.Context(), store.owned.read)
	require.NoError(t, err)
	var logged bytes.Buffer
	k := newCheckpoints(reader, store.writers, store.PauseLists, slog.New(slog.NewTextHandler(&logged, nil)))
	k.every, k.restart, k.long = 50, 100, 300
	store.writers.release(writer)
	size := func() int64 {
		log, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		return log.Size()
	}
	write := func() {
		appendEvents(t, store, "r")
		<-k.wake
		k.checkpoint()
	}
	require.NoError(t, store.reads.Snapshot(t.Context(), func(ask func(...read.Query) error) error {
		require.NoError(t, ask(read.Query{SQL: "SELECT count(*) FROM events", Read: func(rows columns.Rows) error {
			return columns.Each(rows, columns.Itself[int64], func(*int64) {})
		}}))
		for range 15 {
			write()
		}
		return nil
	}))
	require.Greater(t, size(), int64(900*4096))
	warnings := strings.Count(logged.String(), "a read of the database file has been open for long")
	require.Greater(t, warnings, 1)
	require.Less(t, warnings, 5, "at each doubling: %s", logged.String())
	for range 3 {
		write()
	}
	require.LessOrEqual(t, size(), int64(600*4120))
	require.Equal(t, warnings, strings.Count(logged.String(), "level=WARN"))
}

// TestTheCounterOfWrittenFramesWraps: SQLite counts in 31 bits, and the log is copied after that, too.
func TestTheCounterOfWrittenFramesWraps(t *testing.T) {
	t.Parallel()
	store, _ := openCheckpointed(t)
	writer, err := store.writers.acquire(t.Context())
	require.NoError(t, err)
	defer store.writers.release(writer)
	k := newCheckpoints(nil, store.writers, nil, nil)
	k.every, k.noted = 10, math.MaxInt32-10
	k.note(writer)
	require.Len(t, k.wake, 1)
	<-k.wake
	k.note(writer)
	require.Empty(t, k.wake, "nothing was written since")
}

// TestAnEventMakesNoTable reads the program of an insert: an index predicate with a list in IN
// makes SQLite build a table of the list for every row.
func TestAnEventMakesNoTable(t *testing.T) {
	t.Parallel()
	c := fileWithConnection(t)
	for _, insert := range []string{writeEvents.insert.sql, writeEvents.insertMany.sql} {
		for _, row := range storetest.ReadRows(t, c.conn, "EXPLAIN "+insert, arguments(insert)...) {
			require.NotEqual(t, "OpenEphemeral", row["opcode"])
		}
	}
	require.Equal(t, rowsAtOnce, strings.Count(writeEvents.insertMany.sql, "?")/len(writeEvents.insert.arguments))
}
