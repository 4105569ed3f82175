package load

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Handovers connects the client that waits for a run with the worker that gets it, for
// subjects whose worker receives a run's id. The zero value is ready to use.
type Handovers[ID comparable] struct{ expected sync.Map }

// Handover is the handover of one run to a worker.
type Handover struct {
	started time.Time
	done    chan error
}

// Expect announces a run. Call it before the run is decided.
func (h *Handovers[ID]) Expect(id ID) *Handover {
	expected := &Handover{done: make(chan error, 1)}
	h.expected.Store(id, expected)
	return expected
}

// Handle runs the worker's part of a run: it records that the handler has started, and
// passes the result of the completion to the client. It returns the completion's error.
func (h *Handovers[ID]) Handle(id ID, complete func() error) error {
	started := time.Now()
	found, ok := h.expected.LoadAndDelete(id)
	if !ok {
		return fmt.Errorf("the worker was handed run %v, for which no client waits", id)
	}
	expected := found.(*Handover) // Expect stores nothing else
	expected.started = started
	err := complete()
	expected.done <- err
	return err
}

// Await waits until the run is complete, and returns when its handler started. It returns
// the error of the completion or of the context.
func (h *Handover) Await(ctx context.Context) (started time.Time, err error) {
	select {
	case err := <-h.done:
		return h.started, err
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}
