// Package cpulimit limits concurrent CPU-bound work, fairly between callers. Go runs a goroutine
// for up to 10 ms at a time, in one queue for all. On two processors, half a dozen callers that
// send a megabyte each would leave a tenth of the time to all others. The package must not know the
// purpose of the work.
package cpulimit

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/auth"
)

// Bytes is the size from which work has to wait for a slot. Parsing that many bytes takes
// about half a millisecond.
const Bytes = 64 << 10

// process leaves half of the processors free for everything else.
var process = NewSemaphore(max(runtime.GOMAXPROCS(0)/2, 1))

// account is the caller that work is charged to.
type account struct {
	name   string
	charge func(time.Duration)
}

type accountKey struct{}

// With returns a context whose work is charged to a caller: name shares slots, and charge
// gets the time that the work took.
func With(ctx context.Context, name string, charge func(time.Duration)) context.Context {
	return context.WithValue(ctx, accountKey{}, account{name, charge})
}

// Free is a charge function that charges nothing.
func Free(time.Duration) {}

// Caller returns the name that a context's work is charged to, "" for the service's own
// work.
func Caller(ctx context.Context) string { return accountOf(ctx).name }

// Charge charges the context's caller for work done without a slot.
func Charge(ctx context.Context, cost time.Duration) { accountOf(ctx).charge(cost) }

// accountOf returns the account of a context. Without [With], work counts for its principal
// and is not charged.
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

// Do runs work on an input of that many bytes, and returns its error. From [Bytes] bytes it
// waits for a slot; see [Begin]. If the context ends first, Do returns the context's error
// without running the work. The work must only compute: it must not wait, nor call Do or
// Begin.
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

// Begin waits for a slot and returns a function that releases it. The caller that has used
// the least time is next. While holding a slot, wait only for things that take a bounded
// time, such as a database call with a deadline; never for another slot.
func Begin(ctx context.Context) (end func(), err error) {
	began.Add(1)
	return process.Begin(ctx)
}

var began atomic.Int64

// Began returns how many times [Begin] was called, by this process so far.
func Began() int64 { return began.Load() }
