package console

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// StopSignals are those by which a person or a supervisor ends a process.
var StopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// UntilSignal returns a context that the first stop signal ends, with a cause that is
// [Signalled]. A second one then has its default effect, which is to end the process at
// once. The caller must call stop.
func UntilSignal(ctx context.Context) (notified context.Context, stop func()) {
	notified, cancel := context.WithCancelCause(ctx)
	received := make(chan os.Signal, 1)
	signal.Notify(received, StopSignals...)
	go func() {
		select {
		case first := <-received:
			signal.Stop(received)
			cancel(Signalled{first})
		case <-notified.Done():
		}
	}()
	return notified, func() {
		signal.Stop(received)
		cancel(nil)
	}
}
