//go:build unix

package serve

import (
	"syscall"
	"time"
)

// coreTime returns the CPU time used by this process.
func coreTime() (worked time.Duration, readable bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
