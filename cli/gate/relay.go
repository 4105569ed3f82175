package gate

import (
	"os"
	"os/signal"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/cli/console"
)

// relay forwards the signals of the process to one receiver at a time.
type relay struct {
	signals  []os.Signal
	received chan os.Signal
	quit     chan struct{}
	done     chan struct{}

	mu sync.Mutex
	to func(os.Signal)
}

// newRelay catches signals, and drops them until direct is called. A signal that was ignored
// at start, as under nohup, stays ignored, except for a stop signal: a shell starts commands in
// the background with the interrupt ignored. [console.UntilSignal] has the same rule.
func newRelay(signals ...os.Signal) *relay {
	r := &relay{received: make(chan os.Signal, 16), quit: make(chan struct{}), done: make(chan struct{}), to: func(os.Signal) {}}
	r.signals = slices.DeleteFunc(slices.Clone(signals), func(one os.Signal) bool {
		return signal.Ignored(one) && !slices.Contains(console.StopSignals, one)
	})
	r.catch()
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

// direct forwards later signals to another receiver. Once it returns, the previous receiver
// is not called any more.
func (r *relay) direct(to func(os.Signal)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

// stop restores the default effect of the signals.
func (r *relay) stop() {
	signal.Stop(r.received)
	close(r.quit)
	<-r.done
}

// release restores the default effect of the signals for now, and catch catches them again.
func (r *relay) release() { signal.Stop(r.received) }

func (r *relay) catch() {
	if len(r.signals) > 0 { // Notify without signals catches all
		signal.Notify(r.received, r.signals...)
	}
}
