package watch

import (
	"context"
	"errors"
	"time"
)

// ErrTimeout is returned if the deadline of a wait passes before its condition holds. It is not
// a failure: the caller replies with the current state.
var ErrTimeout = errors.New("wait ran out")

// Until calls check at once, after each signal of the watch, and at every poll interval because
// signals may be lost (never if poll is not positive). Take the watch before the call. Until
// returns
//
//   - nil as soon as check reports done,
//   - check's error as soon as it returns one,
//   - [ErrTimeout] when the deadline of ctx passed,
//   - the cause of the cancellation when ctx was cancelled, which wraps
//     [context.Canceled] unless the canceller gave another one.
//
// An error of check is not returned after ctx has ended: a read that the deadline cut off is a
// timeout.
func Until(ctx context.Context, watch *Watch, poll time.Duration, check func(context.Context) (bool, error)) error {
	var tick <-chan time.Time
	if poll > 0 {
		ticker := time.NewTicker(poll)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		done, err := check(ctx)
		switch {
		case err == nil && done:
			return nil
		case ctx.Err() != nil:
			return ended(ctx)
		case err != nil:
			return err
		}
		select {
		case <-watch.C():
		case <-tick:
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}

func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrTimeout
	}
	return context.Cause(ctx)
}
