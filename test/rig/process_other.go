//go:build unix && !linux

package rig

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func endWithParent() *syscall.SysProcAttr { return nil }

// awaitStopped waits until a process stands still after SIGSTOP, or has ended.
func awaitStopped(pid int) {
	for {
		state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output() // POSIX has it
		if err != nil || strings.ContainsAny(string(state), "TZ") {
			return
		}
	}
}
