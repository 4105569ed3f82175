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
		var gone atomic.Bool
		probe := func(context.Context) error {
			if gone.Load() {
				return errors.New("gone")
			}
			return nil
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.run(ctx, probe) }()

		lines := func() []string {
			synctest.Wait()
			return strings.Split(strings.TrimSpace(log.String()), "\n")
		}
		logger.Warn("odd", slog.String("error", "of something else"))
		for _, failure := range []error{
			door.ErrSessionLocked, door.ErrSessionFailing, door.ErrRefused, errors.New("no answer to a read within 5s"),
		} {
			logger.Error("request", slog.Any("error", fmt.Errorf("%w: %w", runs.ErrUnavailable, failure)))
			time.Sleep(2 * outageInterval)
		}
		require.Len(t, lines(), 5, "these are no outage")
		require.NotContains(t, log.String(), "the database does not answer")

		gone.Store(true)
		unavailable := fmt.Errorf("read: %w: connection refused", runs.ErrUnavailable)
		logger.Error("request", slog.Any("error", unavailable))
		require.Len(t, lines(), 7)
		require.Contains(t, lines()[6], `level=ERROR msg="the database does not answer; further failures are not logged until it does" error="read: database is unavailable: connection refused"`)
		for range 100 {
			logger.Error("request", slog.Any("error", unavailable))
			logger.With(slog.String("loop", "expiry")).Warn("loop pass failed", slog.String("error", "read: "+runs.ErrUnavailable.Error()))
			logger.Warn("not listening", slog.Any("error", errors.New("connection refused")))
		}
		logger.Error("batch panicked", slog.Any("cause", "index out of range"))
		logger.Info("stopping", slog.String("cause", "terminated"))
		require.Len(t, lines(), 9)

		time.Sleep(3500 * time.Millisecond)
		require.Len(t, lines(), 9)
		gone.Store(false)
		time.Sleep(time.Second)
		require.Len(t, lines(), 10)
		require.Contains(t, lines()[9], `msg="the database answers again" away_ms=4000 failures_not_logged=300`)

		gone.Store(true)
		logger.Error("request", slog.Any("error", runs.ErrUnavailable))
		require.Len(t, lines(), 12, "the next outage is logged again")
		end()
		require.NoError(t, <-ended)
	})
}

// While the first check goes on, calls may fail by the thousand, and after it, too: a database may answer and refuse everything.
func TestFailuresDuringTheFirstCheckAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := newOutage(slog.NewTextHandler(&log, nil), func() int64 { return time.Now().UnixMilli() })
		logger := slog.New(o.handler())
		answer := make(chan error)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.run(ctx, func(context.Context) error { return <-answer }) }()
		fail := func(last string) {
			log.Reset()
			for range 1000 {
				logger.Error("request", slog.Any("error", runs.ErrUnavailable))
			}
			require.Equal(t, 1+maxSuspected, strings.Count(log.String(), "\n"))
			if last == "" {
				return
			}
			logger.Warn("odd", slog.String("error", "of something else"))
			answer <- nil
			logger.Error("request", slog.Any("error", runs.ErrUnavailable))
			answer <- nil
			synctest.Wait()
			require.Equal(t, 1+maxSuspected+2, strings.Count(log.String(), "\n"))
			require.Contains(t, log.String(), last)
		}
		fail(`msg="many calls failed at once, but the database answers" failures_not_logged=980`)
		fail(`msg="many calls failed at once, but the database answers" failures_not_logged=980`)
		fail("")
		end()
		answer <- ctx.Err()
		require.NoError(t, <-ended)
		require.NotContains(t, log.String(), "does not answer", "the service ends, not the database")
	})
}

// A replica that is not ready for good, because its migrations were reverted, logs its failures again.
func TestAnOutageEndsAlsoWhereAReplicaIsNotReady(t *testing.T) {
	t.Parallel()
	behind := &runs.NotReadyError{Detail: "the schema is older", Err: errors.New("schema behind")}
	require.True(t, answers(nil))
	require.True(t, answers(behind))
	require.False(t, answers(errors.New("gone")))
	require.False(t, answers(&runs.NotReadyError{Detail: "a standby?", Err: runs.ErrUnavailable}))
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := newOutage(slog.NewTextHandler(&log, nil), func() int64 { return time.Now().UnixMilli() })
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		var schemaBehind atomic.Bool
		go func() {
			ended <- o.run(ctx, func(context.Context) error {
				if schemaBehind.Load() {
					return behind
				}
				return errors.New("gone")
			})
		}()
		slog.New(o.handler()).Error("request", slog.Any("error", runs.ErrUnavailable))
		synctest.Wait()
		schemaBehind.Store(true)
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
	for range 3 * maxSuspected {
		logger.Error("request", slog.Any("error", runs.ErrUnavailable))
	}
	require.Equal(t, 3*maxSuspected, strings.Count(log.String(), "\n"))
}
