package sqlite

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/holdpoint/holdpoint/runs"
)

// leastFree is the free disk space that is required, in bytes: without it the log cannot grow
// and decisions fail.
const leastFree = 16 << 20

// disk reports the free space of a directory's disk, and whether it is read-only. Unknown means
// free and writable.
var disk = diskOf

// FreeBytes implements upkeep.Disk.
func (s *Store) FreeBytes() int64 {
	if s.owned.path == "" {
		return math.MaxInt64
	}
	free, _ := disk(filepath.Dir(s.owned.path))
	return int64(min(free, math.MaxInt64)) //nolint:gosec // at most that
}

// usable returns a [runs.NotReadyError] if the file is not writable, or was replaced: writes to
// a deleted file are lost at the next start.
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
