package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Exit codes. The comment of package cli explains them.
const (
	ExitDone        = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitNotExamined = 3
	ExitForeign     = 122
	ExitUnknownEnd  = 123
	ExitExpired     = 124
	ExitDenied      = 125
	ExitCannotRun   = 126
	ExitNotFound    = 127
	ExitSignalBase  = 128
)

// ExitCodesHelp is the list in --help.
const ExitCodesHelp = `Exit codes: 0 done, 1 error, 2 usage, 3 the check could not run, 122 decision does not match the request, ` +
	`123 already started with this key, outcome unknown, 124 expired, 125 denied, declined or cancelled, ` +
	`126/127 the command could not be started, 128+n ended by signal n; otherwise exec exits with the code of its command.`

// codedError is an error with an exit code. Without a cause nothing is printed: the command
// has already printed it, or the code is from another program.
type codedError struct {
	Code  int
	Cause error
}

func (e *codedError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Cause.Error()
}

func (e *codedError) Unwrap() error { return e.Cause }

// ExitWith returns an error that sets the exit code and prints nothing; nil for 0.
func ExitWith(code int) error {
	if code == ExitDone {
		return nil
	}
	return &codedError{Code: code}
}

// Failed returns an error with an exit code and a message.
func Failed(code int, format string, args ...any) error {
	return &codedError{Code: code, Cause: fmt.Errorf(format, args...)}
}

// Usage returns the error of an invalid command line.
func Usage(format string, args ...any) error { return Failed(ExitUsage, format, args...) }

// UnknownFlagError is an unknown flag of a command that takes another program's command
// line.
type UnknownFlagError struct{ Flag string }

// Error names the flag.
func (e UnknownFlagError) Error() string { return "unknown flag " + e.Flag }

// SignalError is the cause of a context ended by a signal.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (s SignalError) Error() string { return s.Signal.String() }

// SignalCode returns the exit code 128+n of a program ended by a signal.
func SignalCode(signal os.Signal) int {
	if number, ok := signal.(syscall.Signal); ok {
		return ExitSignalBase + int(number)
	}
	return ExitError
}

// CodeOf returns the exit code for a command's error, and the message to print; nil for
// none.
func CodeOf(err error) (code int, message error) {
	if err == nil {
		return ExitDone, nil
	}
	if chosen, ok := errors.AsType[*codedError](err); ok {
		return chosen.Code, chosen.Cause
	}
	return ExitError, err
}

// StopSignals are the signals that end a process.
var StopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// ReloadSignals are the signals that make a service reload its configuration.
var ReloadSignals = []os.Signal{syscall.SIGHUP}

// Notify returns a channel that receives the signals instead of their default effect. The
// caller must call stop.
func Notify(signals ...os.Signal) (received <-chan os.Signal, stop func()) {
	channel := make(chan os.Signal, 1)
	signal.Notify(channel, signals...)
	return channel, func() { signal.Stop(channel) }
}

// UntilSignal returns a context that ends at the first stop signal, or one of more, with a
// [SignalError] as the cause. A second signal has its default effect and ends the process
// at once. A signal of more that was ignored at start, as under nohup, stays ignored. The
// caller must call stop.
func UntilSignal(ctx context.Context, more ...os.Signal) (notified context.Context, stop func()) {
	notified, cancel := context.WithCancelCause(ctx)
	received := make(chan os.Signal, 1)
	signal.Notify(received, append(slices.DeleteFunc(more, signal.Ignored), StopSignals...)...)
	go func() {
		select {
		case first := <-received:
			signal.Stop(received)
			cancel(SignalError{first})
		case <-notified.Done():
		}
	}()
	return notified, func() {
		signal.Stop(received)
		cancel(nil)
	}
}
