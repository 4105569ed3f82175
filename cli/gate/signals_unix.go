//go:build linux || darwin

package gate

import (
	"os"
	"syscall"
	"unsafe"
)

// forwardedSignals are handed on to the command of exec.
var forwardedSignals = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// fromTerminal reports whether the terminal itself sends such a signal to the
// command as well. A Ctrl-C reaches every process of the foreground group, and many
// programs take a second one as an order to stop the hard way.
func fromTerminal(signal os.Signal) bool {
	return (signal == syscall.SIGINT || signal == syscall.SIGQUIT) && inForeground()
}

func inForeground() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer terminal.Close()
	var group int32
	_, _, failure := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TIOCGPGRP, uintptr(unsafe.Pointer(&group)))
	return failure == 0 && int(group) == syscall.Getpgrp()
}
