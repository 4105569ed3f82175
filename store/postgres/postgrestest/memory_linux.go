package postgrestest

import "syscall"

const (
	// enoughMemory is what must be free in a directory in memory, for the servers of some test
	// processes at a time.
	enoughMemory = 2 << 30
	// tmpfs is the type of a file system in memory, as statfs tells it.
	tmpfs = 0x01021994
	// mayWrite is W_OK of access.
	mayWrite = 2
)

// memoryHolds reports whether a directory is in memory and has room.
func memoryHolds(directory string) bool {
	var found syscall.Statfs_t
	if err := syscall.Statfs(directory, &found); err != nil || found.Type != tmpfs {
		return false
	}
	return found.Bavail*uint64(found.Bsize) >= enoughMemory && syscall.Access(directory, mayWrite) == nil
}
