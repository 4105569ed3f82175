package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

func TestAnOutageIsTwoLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := newOutage(slog.NewTextHandler(&log, nil), func() int64 { return time.Now().UnixMilli() })
		logger := slog.New(o.handler())
		var back atomic.Bool
		probe := func(context.Context) error {
			if back.Load() {
				return nil
			}
			return errors.New("gone")
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.run(ctx, probe) }()

		lines := func() []string { return strings.Split(strings.TrimSpace(log.String()), "\n") }
		logger.Warn("odd", slog.String("error", "of something else"))
		logger.Error("request", slog.Any("error", fmt.Errorf("%w: %w", runs.ErrUnavailable, door.ErrSessionLocked)))
		require.Len(t, lines(), 2, "these are no outage")
		for range 100 {
			logger.Error("request", slog.Any("error", fmt.Errorf("read: %w: connection refused", runs.ErrUnavailable)))
			logger.With(slog.String("loop", "expiry")).Warn("loop pass failed", slog.String("error", "read: "+runs.ErrUnavailable.Error()))
			logger.Warn("not listening", slog.Any("error", errors.New("connection refused")))
		}
		logger.Error("batch panicked", slog.Any("cause", "index out of range"))
		logger.Info("stopping", slog.String("cause", "terminated"))
		require.Len(t, lines(), 5)
		require.Contains(t, lines()[2], `level=ERROR msg="the database does not answer; further failures are not logged until it does" error="read: database is unavailable: connection refused"`)

		time.Sleep(3500 * time.Millisecond)
		require.Len(t, lines(), 5)
		back.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, lines(), 6)
		require.Contains(t, lines()[5], `msg="the database answers again" away_ms=4000 failures_not_logged=300`)

		logger.Error("request", slog.Any("error", runs.ErrUnavailable))
		require.Len(t, lines(), 7, "the next outage is logged again")
		end()
		require.NoError(t, <-ended)
	})
}

// A replica that is not ready for good, because a newer one has migrated the schema, logs its failures again.
func TestAnOutageEndsAlsoWhereAReplicaIsNotReady(t *testing.T) {
	t.Parallel()
	ahead := &runs.NotReadyError{Detail: "the schema is newer", Err: errors.New("schema ahead")}
	require.True(t, answers(nil))
	require.True(t, answers(ahead))
	require.False(t, answers(errors.New("gone")))
	require.False(t, answers(&runs.NotReadyError{Detail: "a standby?", Err: runs.ErrUnavailable}))
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := newOutage(slog.NewTextHandler(&log, nil), func() int64 { return time.Now().UnixMilli() })
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.run(ctx, func(context.Context) error { return ahead }) }()
		slog.New(o.handler()).Error("request", slog.Any("error", runs.ErrUnavailable))
		time.Sleep(outageInterval)
		synctest.Wait()
		require.Contains(t, log.String(), "the database answers again")
		end()
		require.NoError(t, <-ended)
	})
}

func TestAtDebugNothingIsLeftOut(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(newOutage(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}), func() int64 { return 1 }).handler())
	for range 3 {
		logger.Error("request", slog.Any("error", runs.ErrUnavailable))
	}
	require.Equal(t, 4, strings.Count(log.String(), "\n"))
}
