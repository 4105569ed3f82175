package stream

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// maxOwnStacks is the maximum number of concurrent OnOwnStack calls. A database handles no more.
const maxOwnStacks = 32

// OnOwnStack calls a function on its own goroutine, waits for it, and returns its error. A database
// read grows the stack, and a stream would keep the grown stack while it waits. Panics are passed
// on. It returns the error of ctx when that ends before the call starts. The function must not call
// OnOwnStack again: when all slots are taken by such functions, they wait for each other.
func (h *Hub) OnOwnStack(ctx context.Context, call func() error) error {
	select {
	case h.ownStacks <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.ownStacks }()
	type outcome struct {
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	go func() {
		var got outcome
		defer func() {
			if got.panicked = recover(); got.panicked != nil {
				h.options.Logger.ErrorContext(ctx, "a read for streams panicked", slog.Any("cause", got.panicked), slog.String("stack", string(debug.Stack())))
			}
			done <- got
		}()
		got.err = call()
	}()
	got := <-done
	if got.panicked != nil {
		panic(got.panicked)
	}
	return got.err
}

// guard turns a panic of a function into an error, because a panic in a goroutine that serves many
// streams would end the process.
func (h *Hub) guard(what string, call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			h.options.Logger.Error("a loop of the streams panicked", slog.String("loop", what), slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("%s panicked: %v", what, cause)
		}
	}()
	return call()
}
