package read

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs"
)

// frozen never answers.
type frozen struct{ Database }

func (frozen) List([]string) any { return nil }
func (frozen) Now() []any        { return nil }

func (frozen) Ask(ctx context.Context, _ ...Query) error {
	<-ctx.Done()
	return ctx.Err()
}

func (f frozen) AskAtOneMoment(ctx context.Context, _ ...Query) error { return f.Ask(ctx) }

func (f frozen) Snapshot(ctx context.Context, _ func(func(...Query) error) error) error {
	return f.Ask(ctx)
}

func TestEveryReadOfAFrozenDatabaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(frozen{}, &Statements{})
		for name, read := range map[string]func(context.Context) error{
			"run":      func(ctx context.Context) error { _, err := r.Run(ctx, "r"); return err },
			"session":  func(ctx context.Context) error { _, err := r.Session(ctx, "s"); return err },
			"head":     func(ctx context.Context) error { _, err := r.SessionHead(ctx, "s"); return err },
			"runs":     func(ctx context.Context) error { _, err := r.Runs(ctx, runs.RunQuery{Limit: 1}); return err },
			"sessions": func(ctx context.Context) error { _, err := r.Sessions(ctx, runs.SessionQuery{}); return err },
			"events":   func(ctx context.Context) error { _, err := r.RunEvents(ctx, "r", 0, 1); return err },
			"due":      func(ctx context.Context) error { _, err := r.DueEffects(ctx, 1); return err },
		} {
			begin := time.Now()
			err := read(t.Context())
			require.ErrorIs(t, err, runs.ErrUnavailable, name)
			require.NotErrorIs(t, err, context.DeadlineExceeded, name)
			require.Equal(t, Timeout, time.Since(begin), name)

			sooner, cancel := context.WithTimeout(t.Context(), time.Second)
			begin = time.Now()
			err = read(sooner)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.Equal(t, time.Second, time.Since(begin), name)
		}
	})
}
