package postgrestest

import "syscall"

const (
	// enoughMemory is the free space required of an in-memory directory, for the servers of
	// several test processes.
	enoughMemory = 2 << 30
	// tmpfs is the type of an in-memory file system in statfs.
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
