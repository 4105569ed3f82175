package gate

import (
	"os"
	"os/signal"
	"sync"
)

// relay sends the signals of the process to one receiver at a time.
type relay struct {
	received chan os.Signal
	quit     chan struct{}
	done     chan struct{}

	mu sync.Mutex
	to func(os.Signal)
}

// newRelay catches signals from now on, and drops them until direct is called.
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

// direct sends later signals to another receiver. When it returns, the receiver before
// is not being called any more.
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

// release gives the signals their default effect for now, and catchAgain takes them back.
func (r *relay) release()                       { signal.Stop(r.received) }
func (r *relay) catchAgain(signals []os.Signal) { signal.Notify(r.received, signals...) }
