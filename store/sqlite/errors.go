package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

// ErrInUse says that another process, or another store of this one, has the file open.
var ErrInUse = errors.New("the database file is in use by another process")

// ErrMissing says that the database file does not exist where it may not be created.
var ErrMissing = errors.New("the database file does not exist")

// missingError is an ErrMissing with the path. A schema of nothing is behind as well.
type missingError struct{ path string }

func (e missingError) Error() string { return "database file " + e.path + " does not exist" }

func (missingError) Is(target error) bool {
	return target == ErrMissing || target == migrations.ErrSchemaBehind
}

// resultCode returns SQLite's primary result code of an error, or -1 for other errors.
func resultCode(err error) int {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		return failure.Code() & 0xff
	}
	return -1
}

// CannotWrite reports whether SQLite could not open or write a file that it needs.
func CannotWrite(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_CANTOPEN || code == sqlite3.SQLITE_READONLY
}

// Damaged reports whether SQLite found a file damaged, or not to be one of its databases.
func Damaged(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// failed classifies a failure inside a transaction for its callers. Only this function
// interprets SQLite's result codes.
func failed(doing string, err error) error {
	switch resultCode(err) {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return fmt.Errorf("%s: %w: %w", doing, door.ErrRefused, err)
	case -1:
		return fmt.Errorf("%s: %w", doing, err)
	default:
		return fmt.Errorf("%s: %w: %w", doing, runs.ErrUnavailable, err)
	}
}
