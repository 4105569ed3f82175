// Package heavy shares processors and database connections fairly between callers. Go lets work run for 10 ms at a time, in one queue with everything else; on two processors,
// half a dozen callers that send a megabyte each would leave a tenth to everyone else. It must not know what
// the work is.
package heavy

import (
	"context"
	"runtime"
	"time"

	"github.com/holdpoint/holdpoint/auth"
)

// Bytes is from how many bytes on work has turns. Parsing that many takes about half a millisecond.
const Bytes = 64 << 10

// ofProcess are as many turns as leave half of the processors to everything else.
var ofProcess = NewTurns(max(runtime.GOMAXPROCS(0)/2, 1))

// account is the caller that work is charged to.
type account struct {
	name   string
	charge func(time.Duration)
}

type accountKey struct{}

// With returns a context whose work takes turns as name and is charged by charge.
func With(ctx context.Context, name string, charge func(time.Duration)) context.Context {
	return context.WithValue(ctx, accountKey{}, account{name, charge})
}

// Free charges nothing.
func Free(time.Duration) {}

// Caller returns the name under which the work of a context shares turns, "" for the service's own.
func Caller(ctx context.Context) string { return accountOf(ctx).name }

// Charge charges work that took no turn.
func Charge(ctx context.Context, cost time.Duration) { accountOf(ctx).charge(cost) }

// accountOf returns the account of a context. Without one, work is its principal's and free.
func accountOf(ctx context.Context) account {
	if given, is := ctx.Value(accountKey{}).(account); is {
		return given
	}
	free := account{charge: Free}
	if identity := auth.From(ctx); identity != nil {
		free.name = identity.Principal
	}
	return free
}

// Do runs work over so many bytes, and returns its error. Work over [Bytes] bytes or more waits for its
// turn: see [Begin]. If the context ends before that, work is not run, and the context's error is
// returned. The work must use a processor and nothing else: it must not wait, nor call Do or Begin.
func Do(ctx context.Context, bytes int, work func() error) error {
	if bytes >= Bytes {
		end, err := Begin(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	return work()
}

// Begin waits for a turn of a processor, and returns what ends it. The caller that has used least is
// next. What follows may wait for nothing that others keep for long: for an answer of the database that
// has a deadline, not for another turn.
func Begin(ctx context.Context) (end func(), err error) { return ofProcess.Begin(ctx) }
