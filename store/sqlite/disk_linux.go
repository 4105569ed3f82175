package sqlite

import (
	"math"
	"syscall"
)

// The flags of statfs(2) and access(2).
const (
	readOnlyMount = 0x1
	writeAccess   = 0x2
)

func diskOf(directory string) (free uint64, readOnly bool) {
	var stat syscall.Statfs_t
	if syscall.Statfs(directory, &stat) != nil {
		return math.MaxInt64, false
	}
	return stat.Bavail * uint64(stat.Bsize), stat.Flags&readOnlyMount != 0 //nolint:gosec // a block size is positive
}

func writable(path string) bool { return syscall.Access(path, writeAccess) == nil }
