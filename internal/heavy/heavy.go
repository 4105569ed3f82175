// Package heavy gives turns to work that takes a processor for long because a caller has brought
// much. Go lets such work run for 10 ms at a time, in one queue with everything else; on two
// processors, half a dozen callers who send a megabyte each leave a tenth to all others. It must not
// know what the work is.
package heavy

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// Bytes is from how many bytes on work has turns. Parsing that many takes about half a millisecond.
const Bytes = 64 << 10

// turns are as many as leave half of the processors to everything else. They are had in the order in
// which they were asked for.
var turns = semaphore.NewWeighted(max(int64(runtime.GOMAXPROCS(0))/2, 1))

// Do runs work over so many bytes, and returns its error. Work over [Bytes] bytes or more waits for its
// turn. If the context ends before that, it is not run, and the context's error is returned. The work
// must use a processor and nothing else: it must not wait, nor call Do.
func Do(ctx context.Context, bytes int, work func() error) error {
	if bytes >= Bytes {
		if err := turns.Acquire(ctx, 1); err != nil {
			return err
		}
		defer turns.Release(1)
	}
	return work()
}
