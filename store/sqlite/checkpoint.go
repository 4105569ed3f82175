package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"math"

	"modernc.org/sqlite"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

// Limits of the write-ahead log, in frames, which are pages of 4 KiB. At the last of them SQLite
// checkpoints within the lane's commit (see writeSettings).
const (
	// checkpointEvery is the number of frames between checkpoints outside of the lane.
	checkpointEvery = 1000
	// restartAt is the length of the log at which the lane waits for the rest of a checkpoint,
	// so that the log restarts.
	restartAt = 4000
	// pauseAt is the length at which lists wait for the log to restart. Other reads are too short to overlap for long.
	pauseAt = 8000
	// longAt is the length at which a warning is logged: a read has kept the log from restarting.
	longAt = 1 << 16
	// logSizeLimit is the size in bytes to which a log that was longer is cut when it restarts.
	logSizeLimit = 64 << 20
)

// checkpoints copy the write-ahead log into the database file outside of the lane. Within a
// commit, as SQLite does it, all callers would wait for two more flushes and a thousand pages.
//
// Such a checkpoint rarely reaches the end of a growing log, which is when the log restarts.
// Once the log is long, the small rest is copied on the lane's own connection.
type checkpoints struct {
	every, restart, pause, long int
	// pauseFrom is the length from which lists are paused next.
	pauseFrom int
	// pauseLists is read.Reader's.
	pauseLists func(context.Context) (resume func(), err error)
	// warned is the length of the log at the last warning, 0 since it restarted.
	warned int

	reader  *connection
	writers *pool
	logger  *slog.Logger
	// written and noted count the writer's frames, now and when it last woke the checkpoints.
	// The owner of the write connection uses them.
	written, noted int
	wake           chan struct{}
	stopped        chan struct{}
}

// newCheckpoints observes the writers' commits. It checkpoints on a connection of its own.
func newCheckpoints(reader *connection, writers *pool, pauseLists func(context.Context) (func(), error), logger *slog.Logger) *checkpoints {
	k := &checkpoints{
		every: checkpointEvery, restart: restartAt, pause: pauseAt, long: longAt, pauseLists: pauseLists, reader: reader, writers: writers, logger: logger,
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

// note wakes the checkpoints if the writer, whose connection is being released, has written
// enough.
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
	if (k.written-k.noted)&math.MaxInt32 < k.every { // SQLite counts in 31 bits
		return
	}
	k.noted = k.written
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// checkpoint copies the log. It uses as much CPU as parsing a large body and shares its
// semaphore: both at once would leave the lane no processor out of two.
func (k *checkpoints) checkpoint() {
	var length int
	end, err := cpulimit.Begin(context.Background())
	if err == nil {
		length, err = checkpointOn(k.reader)
		end()
	}
	if length < k.pause {
		k.pauseFrom = k.pause
	}
	switch {
	case err == nil && length >= k.pauseFrom:
		k.pauseFrom = length + k.restart // a read of another program may keep it from restarting, too
		err = k.finishAlone()
	case err == nil && length >= k.restart:
		err = k.finish(context.Background())
	}
	switch {
	case k.logger == nil:
	case err != nil && !errors.Is(err, runs.ErrClosed):
		k.logger.Warn("the write-ahead log is not copied into the database file", slog.Any("error", err))
	case err == nil && length < k.long:
		k.warned = 0
	case err == nil && length >= 2*k.warned:
		k.warned = length
		k.logger.Warn("the write-ahead log grows: a read of the database file has been open for long, perhaps by another program",
			slog.Int("megabytes", length>>8))
	}
}

// finish copies the frames written meanwhile. The next writer restarts the log.
func (k *checkpoints) finish(ctx context.Context) error {
	writer, err := k.writers.acquire(ctx)
	if err != nil {
		return err
	}
	defer k.writers.release(writer)
	_, err = checkpointOn(writer)
	return err
}

// finishAlone is finish without lists: while one after the other is being read, there is always a rest that cannot be copied,
// so that the log never restarts and fills the disk. Commands do not wait while the backlog of those lists is copied.
func (k *checkpoints) finishAlone() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*read.Timeout)
	defer cancel()
	resume, err := k.pauseLists(ctx)
	if err != nil {
		return nil // later commits try again
	}
	defer resume()
	if _, err = checkpointOn(k.reader); err != nil {
		return err
	}
	return k.finish(ctx)
}

// checkpointOn copies the part of the log without readers into the database file, without
// waiting. It returns the length of the log.
func checkpointOn(c *connection) (length int, err error) {
	type outcome struct{ busy, length, copied int }
	err = c.query(context.Background(), sqlCheckpoint, nil, func(rows columns.Rows) error {
		return columns.Each(rows, func(o *outcome) []any { return []any{&o.busy, &o.length, &o.copied} }, func(o *outcome) { length = o.length })
	})
	return length, err
}

// close waits for the current checkpoint. The write connection must be unused from then on.
func (k *checkpoints) close() error {
	close(k.wake)
	<-k.stopped
	return k.reader.close()
}
