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
	errTooLong   = errors.New("nobody decided within a week")
)

// listenEvery is how often it is looked whether the agent is still there.
const listenEvery = 500 * time.Millisecond

// whileAgentListens returns a context that ends with errAgentGone when the process that started
// this one has ended or nobody can read what it will print, and with errTooLong after hookSeconds.
// The caller must call stop.
func whileAgentListens(ctx context.Context, stdout io.Writer) (listening context.Context, stop func()) {
	bounded, release := context.WithTimeoutCause(ctx, hookSeconds*time.Second, errTooLong)
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
