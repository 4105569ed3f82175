package migrations

import (
	"database/sql"
	"io/fs"
)

// Files holds a directory of steps for each engine.
var Files fs.FS = files

// AdvisoryLockID is the lock of a process that migrates.
const AdvisoryLockID = advisoryLockID

// NewOf returns a migrator that takes the steps from other files.
func NewOf(db *sql.DB, engine Engine, engines fs.FS) (*Migrator, error) {
	return newMigrator(db, engine, nil, engines)
}
