package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// The version in the header of a database file that has a log (WAL), and where it stands. It is written before the log is.
const (
	versionAt   = 18
	versionWith = 2
)

// checkLog refuses a log next to a database file that has none: next to a copy that [Backup] made, or to a file that is empty or
// gone. SQLite would write its pages into the copy, or delete it, and with it the newest decisions of the database that it
// belongs to. Call it with the right to the file and before SQLite opens it: closing a descriptor drops SQLite's locks.
func checkLog(path string) error {
	log := path + "-wal"
	if info, err := os.Stat(log); err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // SQLite says what is wrong with it
	}
	file, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	defer file.Close()
	version := make([]byte, 1)
	if _, err := file.ReadAt(version, versionAt); err != nil && !errors.Is(err, io.EOF) || version[0] == versionWith {
		return nil //nolint:nilerr // as above
	}
	return fmt.Errorf("%s is of another database than %s: move it, and the -shm next to it, to the database file that it belongs to; it has its newest decisions", log, path)
}
