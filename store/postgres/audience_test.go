package postgres

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// alone waits until a store knows that there are no other listeners.
func alone(t *testing.T, s *Store) {
	t.Helper()
	require.Eventually(t, s.notifier.audience.absent, time.Minute, time.Millisecond)
}

// Nothing is sent while no other replica listens. A new listener gets hints from then on, and a
// request to read what it missed.
func TestOnlyOthersAreTold(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := postgrestest.URL(t)
	teller := open(t, url, Options{})
	alone(t, teller)

	// A connection that hears everything and that no replica knows of.
	spy, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer spy.Close(ctx)
	_, err = spy.Exec(ctx, sqlListen)
	require.NoError(t, err)
	payload := func() (m message) {
		notification, err := spy.WaitForNotification(ctx)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(notification.Payload), &m))
		return m
	}
	for range 3 {
		do(t, teller, &runs.CreateRun{Input: api.JSON(`1`)})
	}

	hearer := open(t, url, Options{})
	first := payload()
	require.True(t, first.Greets, "of three commits nothing was told: %v", first)
	require.Equal(t, hearer.notifier.replica, first.Replica)
	second := payload()
	require.Equal(t, message{Replica: teller.notifier.replica}, second, "who greets is told to look")

	heard := make(chan reads.Notice, 100)
	defer hearer.Subscribe(func(notice reads.Notice) { heard <- notice })()
	created := do(t, teller, &runs.CreateRun{Input: api.JSON(`1`)})
	for notice := range heard {
		if notice.SessionID != "" {
			require.Equal(t, created.Run.Run.SessionID, notice.SessionID)
			break
		}
	}

	require.NoError(t, hearer.Close())
	teller.notifier.audience.greeted() // it checks immediately
	teller.notifier.wakeUp()
	alone(t, teller)
}

// A replica that cannot hear greetings must assume listeners.
func TestWhoeverDoesNotListenTells(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	a := newAudience(nil)
	require.NoError(t, a.look(t.Context(), true))
	require.False(t, a.absent())

	s := open(t, url, Options{})
	alone(t, s)
	s.notifier.audience.listening(0)
	require.NoError(t, s.notifier.audience.look(t.Context(), true))
	require.False(t, s.notifier.audience.absent())
}

// How long a replica has been alone begins again with each other one.
func TestAloneSince(t *testing.T) {
	t.Parallel()
	s := open(t, postgrestest.URL(t), Options{})
	alone(t, s)
	a := newAudience(s.reads)
	a.pid = s.notifier.audience.pid
	require.Zero(t, a.knownMs(), "it has not looked")
	for n := range int64(3) {
		require.NoError(t, a.look(t.Context(), true))
		require.Equal(t, (n+1)*5_000, a.knownMs())
	}
	a.greeted()
	require.Zero(t, a.knownMs())
	require.NoError(t, a.look(t.Context(), false))
	require.True(t, a.absent())
	require.Zero(t, a.knownMs(), "the other one may have left a moment ago")
	require.NoError(t, a.look(t.Context(), true))
	require.EqualValues(t, 5_000, a.knownMs())

	s.notifier.audience.listening(0)
	require.Zero(t, s.KnownMs(), "it cannot hear of others")
}

// A greeting during a check of the locks is not lost.
func TestAGreetingDuringALookCounts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := open(t, postgrestest.URL(t), Options{})
	alone(t, s)
	a := newAudience(s.reads)
	a.pid = s.notifier.audience.pid
	require.NoError(t, a.look(ctx, true))
	require.True(t, a.absent())

	// All connections are in use, so the check waits for one.
	taken := s.reads.AcquireAllIdle(ctx)
	for s.reads.Stat().AcquiredConns() < s.reads.Config().MaxConns {
		conn, err := s.reads.Acquire(ctx)
		require.NoError(t, err)
		taken = append(taken, conn)
	}
	a.greeted()
	looked := make(chan error)
	go func() { looked <- a.look(ctx, false) }()
	require.Eventually(t, a.looking, time.Minute, time.Millisecond)
	a.greeted()
	for _, conn := range taken {
		conn.Release()
	}
	require.NoError(t, <-looked)
	require.False(t, a.absent())
	require.NoError(t, a.look(ctx, true))
	require.True(t, a.absent(), "and the next one tells")
}

// looking reports whether a check has begun since the last change.
func (a *audience) looking() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lookedAfter == a.changes
}
