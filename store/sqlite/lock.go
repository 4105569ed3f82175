package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	sqlite3 "modernc.org/sqlite/lib"
)

// fileLock is a process's exclusive right to a database file: an exclusive lock on an empty
// SQLite file next to it, and where files can be locked so, on the file itself. The operating
// system releases both when the process dies in any way; a leftover file means nothing.
type fileLock struct {
	db       *sql.DB
	conn     *sql.Conn
	contents *os.File // nil for none
}

func lockFile(ctx context.Context, path string) (*fileLock, error) {
	db, err := sql.Open("sqlite", fileURI(path+".lock", "_busy_timeout=0"))
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	if err != nil {
		_ = db.Close()
		if resultCode(err) == sqlite3.SQLITE_BUSY {
			return nil, fmt.Errorf("%s: %w", path, ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	contents, err := lockContents(path)
	if err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	return &fileLock{db: db, conn: conn, contents: contents}, nil
}

// release gives the right up. The database must be closed.
func (l *fileLock) release() error {
	if l.contents != nil {
		_ = l.contents.Close() // nothing was written by it
	}
	_ = l.conn.Close()
	return l.db.Close()
}
