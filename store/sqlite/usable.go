package sqlite

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/holdpoint/holdpoint/runs"
)

// leastFree is how many bytes of a disk must be free: a log that cannot grow takes no decision.
const leastFree = 16 << 20

// disk says how much of the disk of a directory is free, and whether it is read-only. What is not
// known is reported as free and writable.
var disk = diskOf

// FreeBytes implements [runs.Disk].
func (s *Store) FreeBytes() int64 {
	if s.owned.path == "" {
		return math.MaxInt64
	}
	free, _ := disk(filepath.Dir(s.owned.path))
	return int64(min(free, math.MaxInt64)) //nolint:gosec // at most that
}

// usable returns a [runs.NotReadyError] when the file cannot be written any more, or is not the one
// that was opened: who writes to a file that nobody finds loses all of it at the next start.
func (d *file) usable() error {
	if d.path == "" {
		return nil
	}
	present, err := os.Stat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notUsable("the database file is gone: it was moved or deleted while the service had it open")
	case err != nil:
		return notUsable("the database file cannot be looked at")
	case !os.SameFile(present, d.identity):
		return notUsable("the database file is another one than the service has open: it was replaced")
	}
	free, readOnly := disk(filepath.Dir(d.path))
	switch {
	case readOnly || !writable(d.path):
		return notUsable("the database file is read-only")
	case free < leastFree:
		return notUsable("the disk of the database file is full")
	}
	return nil
}

func notUsable(detail string) error {
	return &runs.NotReadyError{Detail: detail, Err: runs.ErrUnavailable}
}
