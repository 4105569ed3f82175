//go:build !linux && !darwin

package gate

import (
	"os"

	"github.com/holdpoint/holdpoint/cli/console"
)

// forwardedSignals are forwarded to the command of exec.
var forwardedSignals = console.StopSignals

// fromTerminal reports whether the terminal sends the signal to the command as well.
func fromTerminal(signal os.Signal, _ int) bool { return signal == os.Interrupt }
