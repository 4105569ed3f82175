//go:build unix

package console

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lineWaits reports whether a terminal has a line that nobody has read.
func lineWaits(from io.Reader) bool {
	file, is := from.(*os.File)
	if !is {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(file.Fd()), Events: unix.POLLIN}}
	count, err := unix.Poll(poll, 0)
	return err == nil && count == 1 && poll[0].Revents&unix.POLLIN != 0
}
