//go:build linux || darwin

package gate

import (
	"os"
	"syscall"
	"unsafe"
)

// forwardedSignals are forwarded to the command of exec.
var forwardedSignals = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// fromTerminal reports whether the terminal sends the signal to the command as well. Ctrl-C
// reaches every process of the foreground group, and many programs stop abruptly at a
// second one. A command may have left the group, as timeout does.
func fromTerminal(signal os.Signal, pid int) bool {
	return (signal == syscall.SIGINT || signal == syscall.SIGQUIT) && inThisGroup(pid) && inForeground()
}

func inThisGroup(pid int) bool {
	group, err := syscall.Getpgid(pid)
	return err == nil && group == syscall.Getpgrp()
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
