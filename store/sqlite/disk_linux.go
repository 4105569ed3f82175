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

// remote are the file systems of other machines, by their statfs(2) type.
var remote = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x01021997: "9P", 0x5346414f: "AFS", 0x00c36400: "Ceph",
}

// remoteOf names the file system of a directory if another machine has it, else "".
func remoteOf(directory string) string {
	var stat syscall.Statfs_t
	if syscall.Statfs(directory, &stat) != nil {
		return ""
	}
	return remote[uint32(stat.Type)] //nolint:gosec // the types have 32 bits
}

func writable(path string) bool { return syscall.Access(path, writeAccess) == nil }
