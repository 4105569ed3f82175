// Package panics turns a panic of one item of work, such as a message or a row, into the error of
// that item: a panic in a goroutine otherwise ends the process.
//
// It must not know what the work is.
package panics

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Recover turns a panic of the surrounding function into its error and logs the stack. Defer it
// directly.
func Recover(logger *slog.Logger, what string, err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("%s panicked: %v", what, cause)
		logger.Error("recovered from a panic", slog.String("item", what), slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
	}
}
