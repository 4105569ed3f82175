package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// stopSignals are those by which a person or a supervisor ends a process.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// untilSignal returns a context that the first stop signal ends, with a cause that
// is [signalled]. A second one then has its default effect, which is to end the
// process at once. The caller must call stop.
func untilSignal(ctx context.Context) (notified context.Context, stop func()) {
	notified, cancel := context.WithCancelCause(ctx)
	relay := newRelay(stopSignals...)
	relay.direct(func(received os.Signal) {
		stopCatching(relay)
		cancel(signalled{received})
	})
	return notified, func() {
		relay.stop()
		cancel(nil)
	}
}

// relay hands the signals of the process to whoever is to have them at the moment.
type relay struct {
	received chan os.Signal
	quit     chan struct{}
	done     chan struct{}

	mu sync.Mutex
	to func(os.Signal)
}

// newRelay catches signals from now on. They are dropped until direct is called.
func newRelay(signals ...os.Signal) *relay {
	r := &relay{received: make(chan os.Signal, 16), quit: make(chan struct{}), done: make(chan struct{}), to: func(os.Signal) {}}
	signal.Notify(r.received, signals...)
	go r.pass()
	return r
}

func (r *relay) pass() {
	defer close(r.done)
	for {
		select {
		case <-r.quit:
			return
		case received := <-r.received:
			r.mu.Lock()
			r.to(received)
			r.mu.Unlock()
		}
	}
}

// direct sends later signals to another receiver. When it returns, the receiver
// before is not being called any more.
func (r *relay) direct(to func(os.Signal)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

// stop gives the signals their default effect again.
func (r *relay) stop() {
	signal.Stop(r.received)
	close(r.quit)
	<-r.done
}

// stopCatching gives the signals their default effect again; startCatching takes
// them back.
func stopCatching(r *relay)                       { signal.Stop(r.received) }
func startCatching(r *relay, signals []os.Signal) { signal.Notify(r.received, signals...) }
