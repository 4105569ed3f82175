// Package heavy gives turns to work that takes a processor for long, because a caller brings or reads
// much, or because much was written. Go lets such work run for 10 ms at a time, in one queue with
// everything else; on two processors, half a dozen callers who send a megabyte each leave a tenth to
// all others. It must not know what the work is.
package heavy

import (
	"context"
	"runtime"

	"github.com/holdpoint/holdpoint/auth"
)

// Bytes is from how many bytes on work has turns. Parsing that many takes about half a millisecond.
const Bytes = 64 << 10

// ofProcess are as many turns as leave half of the processors to everything else.
var ofProcess = turns{free: max(runtime.GOMAXPROCS(0)/2, 1)}

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

// Begin waits for a turn, and returns what ends it. Turns go round the principals whose work waits
// ([auth.From]), so that nobody waits for all that another one sends. If the context ends before that,
// the context's error is returned. What follows may wait for nothing that others keep for long: for an
// answer of the database that has a deadline, not for another turn.
func Begin(ctx context.Context) (end func(), err error) {
	var caller string
	if identity := auth.From(ctx); identity != nil {
		caller = identity.Principal
	}
	if err := ofProcess.acquire(ctx, caller); err != nil {
		return nil, err
	}
	return ofProcess.release, nil
}
