package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// The version in the header of a database file, and its value without a log (WAL). The header is synced with another value before
// the log of a database is made.
const (
	versionAt      = 18
	versionWithout = 1
)

// checkLog refuses a log next to a database file that has none: next to a copy that [Backup] made, or to a file that is empty.
// SQLite would write its pages into the copy, or delete it, and with it the newest decisions of the database that it
// belongs to. Any other header may be damaged: the log repairs it. Call it with the path of [realPath], before SQLite opens the
// file: closing a descriptor drops SQLite's locks.
func checkLog(path string) error {
	log := path + "-wal"
	if info, err := os.Stat(log); err != nil || info.Size() == 0 {
		return nil // SQLite says what is wrong with it
	}
	file, err := os.Open(path)
	if err != nil {
		return nil // as above
	}
	defer file.Close()
	version := make([]byte, 1)
	if _, err := file.ReadAt(version, versionAt); errors.Is(err, io.EOF) || err == nil && version[0] == versionWithout {
		return fmt.Errorf("%s is of another database than %s: move it, and the -shm next to it, to the database file that it belongs to; it has its newest decisions", log, path)
	}
	return nil
}
