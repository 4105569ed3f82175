//go:build !linux && !darwin

package cli

import "os"

// forwardedSignals are handed on to the command of exec.
var forwardedSignals = stopSignals

// fromTerminal reports whether the terminal itself sends such a signal to the
// command as well.
func fromTerminal(signal os.Signal) bool { return signal == os.Interrupt }
