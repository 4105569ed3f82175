package read

import (
	"context"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
)

// Timeout bounds each read, unless its caller's context ends sooner. Only tests set it, before
// their first read, for slow machines.
var Timeout = 5 * time.Second

// Bounded returns a database of which every read ends after [Timeout], with an error that wraps
// runs.ErrUnavailable.
func Bounded(db Database) Database { return bounded{db, Timeout} }

// bounded is a database of which every read ends after a time.
type bounded struct {
	Database
	timeout time.Duration
}

// Ask implements Database.
func (b bounded) Ask(ctx context.Context, queries ...Query) error {
	return b.within(ctx, func(ctx context.Context) error { return b.Database.Ask(ctx, queries...) })
}

// AskAtOneMoment implements Database.
func (b bounded) AskAtOneMoment(ctx context.Context, queries ...Query) error {
	return b.within(ctx, func(ctx context.Context) error { return b.Database.AskAtOneMoment(ctx, queries...) })
}

// Snapshot implements Database.
func (b bounded) Snapshot(ctx context.Context, do func(ask func(...Query) error) error) error {
	return b.within(ctx, func(ctx context.Context) error { return b.Database.Snapshot(ctx, do) })
}

// within returns an error that wraps runs.ErrUnavailable when the time ran out. The end of the
// caller's own context is returned as it is.
func (b bounded) within(ctx context.Context, read func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	err := read(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return fmt.Errorf("%w: no answer to a read within %s: %v", runs.ErrUnavailable, b.timeout, err) //nolint:errorlint // its deadline is not the caller's
	}
	return err
}

// few is a database that answers few questions at a time; the others wait for their turn, which is fair
// between callers.
type few struct {
	Database
	turns *cpulimit.Semaphore
}

// Ask implements Database.
func (f few) Ask(ctx context.Context, queries ...Query) error {
	return f.inTurn(ctx, func(ctx context.Context) error { return f.Database.Ask(ctx, queries...) })
}

// AskAtOneMoment implements Database.
func (f few) AskAtOneMoment(ctx context.Context, queries ...Query) error {
	return f.inTurn(ctx, func(ctx context.Context) error { return f.Database.AskAtOneMoment(ctx, queries...) })
}

// Snapshot implements Database.
func (f few) Snapshot(ctx context.Context, do func(ask func(...Query) error) error) error {
	return f.inTurn(ctx, func(ctx context.Context) error { return f.Database.Snapshot(ctx, do) })
}

// inTurn charges do once, however often it enters the semaphore.
func (f few) inTurn(ctx context.Context, do func(context.Context) error) error {
	end, err := f.turns.Begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if _, further := f.Database.(few); further {
		ctx = cpulimit.With(ctx, cpulimit.Caller(ctx), cpulimit.Free)
	}
	return do(ctx)
}
