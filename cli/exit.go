package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The exit codes; the package comment says what they mean.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2
	exitUnknownFate = 123
	exitExpired     = 124
	exitDenied      = 125
	exitCannotRun   = 126
	exitNotFound    = 127
	exitSignalBase  = 128
)

// exitCodesHelp is the table as --help shows it.
const exitCodesHelp = `Exit codes: 0 done, 1 error, 2 usage, 123 started before under this key with an unknown end, ` +
	`124 expired, 125 denied, declined or cancelled, 126/127 the command could not be started, 128+n ended by signal n; ` +
	`exec otherwise exits with its command's code.`

// exit is an error that chooses the exit code. Without a cause nothing is printed:
// the command has said all there is to say, or it is another program's code.
type exit struct {
	code  int
	cause error
}

func (e *exit) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.cause.Error()
}

func (e *exit) Unwrap() error { return e.cause }

// exitWith ends the command with a code and says nothing more; nil for 0.
func exitWith(code int) error {
	if code == exitDone {
		return nil
	}
	return &exit{code: code}
}

// failed ends the command with a code and a message.
func failed(code int, format string, args ...any) error {
	return &exit{code: code, cause: fmt.Errorf(format, args...)}
}

// usage refuses the command line.
func usage(format string, args ...any) error { return failed(exitUsage, format, args...) }

// signalled is the cause of a context that a signal ended.
type signalled struct{ signal os.Signal }

func (s signalled) Error() string { return s.signal.String() }

// signalCode returns 128+n for a signal.
func signalCode(signal os.Signal) int {
	if number, ok := signal.(syscall.Signal); ok {
		return exitSignalBase + int(number)
	}
	return exitError
}

// codeOf returns the exit code of a command's error and what to print; nil for
// nothing.
func codeOf(err error) (int, error) {
	var chosen *exit
	switch {
	case err == nil:
		return exitDone, nil
	case errors.As(err, &chosen):
		return chosen.code, chosen.cause
	default:
		return exitError, err
	}
}
