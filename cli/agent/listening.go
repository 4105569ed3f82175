package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/holdpoint/holdpoint/cli/console"
)

// Causes that end a wait because the agent no longer listens.
var (
	errAgentGone = errors.New("the agent that called the hook has ended")
	errTooLong   = errors.New("nobody decided in time")
)

// listenEvery is the interval of checks whether the agent is still there.
const listenEvery = 500 * time.Millisecond

// whileAgentListens returns a context that ends with errAgentGone if the parent process has
// ended or stdout was closed. It ends with errTooLong at the deadline by the local clock,
// whether or not the service answers. The caller must call stop.
func whileAgentListens(ctx context.Context, stdout io.Writer, until time.Time) (listening context.Context, stop func()) {
	bounded, release := context.WithDeadlineCause(ctx, until.Add(console.LastWord), errTooLong)
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
