package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Causes of a wait that has no one to wait for any more.
var (
	errAgentGone = errors.New("the agent that called the hook is gone")
	errTooLong   = errors.New("nobody decided in time")
)

// listenEvery is how often it is looked whether the agent is still there.
const listenEvery = 500 * time.Millisecond

// lastWord is how long past the deadline the service may take to say that a request has expired,
// or was decided in time.
const lastWord = time.Second

// whileAgentListens returns a context that ends with errAgentGone when the process that started
// this one has ended or nobody can read what it will print, and with errTooLong when the time is up
// by this process's own clock, whether or not the service answers. The caller must call stop.
func whileAgentListens(ctx context.Context, stdout io.Writer, until time.Time) (listening context.Context, stop func()) {
	bounded, release := context.WithDeadlineCause(ctx, until.Add(lastWord), errTooLong)
	listening, cancel := context.WithCancelCause(bounded)
	parent := os.Getppid()
	go func() {
		ticker := time.NewTicker(listenEvery)
		defer ticker.Stop()
		for {
			select {
			case <-listening.Done():
				return
			case <-ticker.C:
			}
			file, isFile := stdout.(*os.File)
			if os.Getppid() != parent || isFile && readerGone(file) {
				cancel(errAgentGone)
				return
			}
		}
	}()
	return listening, func() {
		cancel(nil)
		release()
	}
}
