package rig

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// endWithParent ends a process with the test process, however that ends.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// awaitStopped waits until all threads of a child process stand still after SIGSTOP, or the process
// has ended. Until then they run on, on a busy machine for milliseconds. The child stays to be waited for.
func awaitStopped(pid int) {
	for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		continue
	}
}
