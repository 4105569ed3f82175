//go:build unix

package agent

import (
	"os"

	"golang.org/x/sys/unix"
)

// readerGone reports whether the other end of a pipe, socket or terminal is closed. It is
// always false for a file.
func readerGone(file *os.File) bool {
	poll := []unix.PollFd{{Fd: int32(file.Fd())}}
	count, err := unix.Poll(poll, 0)
	return err == nil && count == 1 && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
