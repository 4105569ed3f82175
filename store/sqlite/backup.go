package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdpoint/holdpoint/internal/dirsync"
	"github.com/holdpoint/holdpoint/migrations"
)

// SchemaStatus returns every step of the schema and whether it is applied to the file, even
// while a process has it open. It is read-only; for a missing file every step is pending.
func SchemaStatus(ctx context.Context, path string) (steps []migrations.Migration, err error) {
	uri := fileURI(path, inspectSettings)
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		uri = Memory
	} else if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	db, err := sql.Open("sqlite", uri)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	migrator, err := migrations.New(db, migrations.SQLite, nil)
	if err != nil {
		return nil, err
	}
	return migrator.Status(ctx)
}

// backupPrefix begins the name of the directory that has a copy until it is complete.
const backupPrefix = ".holdpoint-backup-"

// UnfinishedBackups returns the directories next to a path that have copies of backups that are running, or
// were killed.
func UnfinishedBackups(to string) []string {
	// Without the directory, the backup fails.
	entries, _ := os.ReadDir(filepath.Dir(to))
	var left []string
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), backupPrefix) {
			left = append(left, filepath.Join(filepath.Dir(to), entry.Name()))
		}
	}
	return left
}

// Backup copies a snapshot of a database file, even while a process writes to it, and returns
// the size of the copy. The copy appears whole: it is written under another name, verified by
// reading, and moved to its place, which must be free. The writing process should be another one: see [checkLog].
func Backup(ctx context.Context, path, to string) (bytes int64, err error) {
	if _, err := os.Lstat(to); err == nil {
		return 0, fmt.Errorf("back up to %s: %w", to, fs.ErrExist)
	}
	if path, err = realPath(path); err != nil {
		return 0, err
	}
	if _, err := os.Stat(path); err != nil {
		return 0, fmt.Errorf("database file: %w", err)
	}
	if err := errors.Join(checkLog(path), checkName(path)); err != nil {
		return 0, err
	}
	private, err := os.MkdirTemp(filepath.Dir(to), backupPrefix)
	if err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(private)) }()
	copied := filepath.Join(private, "copy")
	if err := createPrivate(copied); err != nil {
		return 0, err
	}
	if err := copyInto(ctx, path, copied); err != nil {
		return 0, fmt.Errorf("back up %s: %w", path, err)
	}
	if err := verify(ctx, copied); err != nil {
		return 0, fmt.Errorf("the copy of %s cannot be used: %w", path, err)
	}
	if bytes, err = syncFile(copied); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	if err := place(copied, to); err != nil {
		return 0, fmt.Errorf("back up to %s: %w", to, err)
	}
	if err := dirsync.Sync(filepath.Dir(to)); err != nil {
		return 0, fmt.Errorf("back up: %w", err)
	}
	return bytes, nil
}

// link is [os.Link], except in tests.
var link = os.Link

// place moves a file to a path on the same disk, which must be free.
func place(file, to string) error {
	// A link, unlike a rename, never replaces a file.
	err := link(file, to)
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	// The disk has no hard links, like FAT: claim the name, and replace only the claim.
	claim, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = claim.Close()
	if err == nil {
		err = os.Rename(file, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

func copyInto(ctx context.Context, path, to string) (err error) {
	db, err := sql.Open("sqlite", fileURI(path, "mode=rw&"+settings))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := hasRoom(ctx, db, filepath.Dir(to)); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// hasRoom refuses a copy that might fill the disk: the service's log may be on it, and no decision is recorded without room.
func hasRoom(ctx context.Context, db *sql.DB, directory string) error {
	var bytes uint64
	const used = "SELECT (c.page_count - f.freelist_count) * s.page_size FROM pragma_page_count AS c, pragma_freelist_count AS f, pragma_page_size AS s"
	if err := db.QueryRowContext(ctx, used).Scan(&bytes); err != nil {
		return err
	}
	if free, _ := disk(directory); free < bytes+leastFree {
		return fmt.Errorf("the disk has %d MB free, and the copy may need %d MB and has to leave %d MB", free>>20, bytes>>20, leastFree>>20)
	}
	return nil
}

// verify opens a copy, reads all of it, and compares its schema with this program's, which may
// be newer.
func verify(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", fileURI(path, "mode=ro&"+settings))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return errors.New(said)
	}
	migrator, err := migrations.New(db, migrations.SQLite, nil)
	if err != nil {
		return err
	}
	current, _, err := migrator.Versions(ctx)
	if err == nil && current == 0 {
		err = errors.New("it has no schema of holdpoint")
	}
	return err
}

// syncFile has a file reach the disk, and returns its size.
func syncFile(path string) (bytes int64, err error) {
	opened, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	info, err := opened.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), opened.Sync()
}
