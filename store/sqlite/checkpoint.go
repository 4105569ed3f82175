package sqlite

import (
	"context"
	"errors"
	"log/slog"

	"modernc.org/sqlite"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Bounds of the write-ahead log, in frames, which are pages of 4 KiB. Once the last of them is
// reached SQLite checkpoints within the commit of the lane (see writeSettings).
const (
	// checkpointEvery is how many frames are written from one checkpoint beside the lane to the next.
	checkpointEvery = 1000
	// restartAt is how long the log gets before the lane waits for what is left of a checkpoint, so
	// that the log begins anew.
	restartAt = 4000
)

// checkpoints copy what is in the write-ahead log into the database file, beside the lane: within
// a commit, where SQLite would do it, everybody waits for two more flushes and a thousand pages.
//
// A checkpoint beside the lane hardly ever gets to the end of a log that grows meanwhile, and only
// then does the log begin anew. When it is long, the little that is left is copied on the lane's
// own connection.
type checkpoints struct {
	every, restart int

	reader  *connection
	writers *pool
	logger  *slog.Logger
	// written and noted are how many frames the writer has written, and had when it last woke the
	// checkpoints. Who has the write connection uses them.
	written, noted int
	wake           chan struct{}
	stopped        chan struct{}
}

// newCheckpoints is told of what the writers write. It checkpoints on a connection that nobody else
// uses.
func newCheckpoints(reader *connection, writers *pool, logger *slog.Logger) *checkpoints {
	k := &checkpoints{
		every: checkpointEvery, restart: restartAt, reader: reader, writers: writers, logger: logger,
		wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	writers.released = k.note
	return k
}

// run checkpoints whenever there is enough to copy, until close.
func (k *checkpoints) run() {
	defer close(k.stopped)
	for range k.wake {
		k.checkpoint()
	}
}

// note wakes the checkpoints when the writer, whose connection is given back, has written enough.
func (k *checkpoints) note(writer *connection) {
	_ = writer.conn.Raw(func(driver any) error { // without a count SQLite checkpoints by itself
		status, able := driver.(sqlite.DBStatus)
		if !able {
			return nil
		}
		written, _, err := status.Status(sqlite.DBStatusCacheWrite, false)
		if err == nil {
			k.written = written
		}
		return err
	})
	if k.written-k.noted < k.every {
		return
	}
	k.noted = k.written
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// checkpoint copies what is in the log. It takes a processor for as long as parsing a large body,
// and has a turn like that: both at once would leave none of two to the lane.
func (k *checkpoints) checkpoint() {
	var length int
	end, err := cpulimit.Begin(context.Background())
	if err == nil {
		length, err = checkpointOn(k.reader)
		end()
	}
	if err == nil && length >= k.restart {
		err = k.finish()
	}
	if err != nil && !errors.Is(err, runs.ErrClosed) && k.logger != nil {
		k.logger.Warn("the write-ahead log is not copied into the database file", slog.Any("error", err))
	}
}

// finish copies what was written meanwhile. The next writer begins the log anew.
func (k *checkpoints) finish() error {
	writer, err := k.writers.acquire(context.Background())
	if err != nil {
		return err
	}
	defer k.writers.release(writer)
	_, err = checkpointOn(writer)
	return err
}

// checkpointOn copies as much of the log as nobody reads in the database file, and waits for
// nobody. It returns the length of the log.
func checkpointOn(c *connection) (length int, err error) {
	type outcome struct{ busy, length, copied int }
	err = c.query(context.Background(), sqlCheckpoint, nil, func(rows columns.Rows) error {
		return columns.Each(rows, func(o *outcome) []any { return []any{&o.busy, &o.length, &o.copied} }, func(o *outcome) { length = o.length })
	})
	return length, err
}

// close waits for the checkpoint that goes on. Nobody may have the write connection any more.
func (k *checkpoints) close() error {
	close(k.wake)
	<-k.stopped
	return k.reader.close()
}
