package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdpoint/holdpoint/migrations"
)

// file is an open file with the right to it.
type file struct {
	path  string // empty in memory
	write *sql.DB
	read  *sql.DB // nil in memory
	lock  *fileLock
	once  chan struct{}
	// identity is the file's identity when it was opened, nil in memory.
	identity os.FileInfo
}

// Settings of every connection, and of the two kinds.
var (
	settings      = "_busy_timeout=5000&_foreign_keys=1&_dqs=0&_pragma=temp_store(memory)"
	writeSettings = settings + "&_journal_mode=WAL&_synchronous=FULL&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(16000)&_pragma=journal_size_limit(" + strconv.Itoa(logSizeLimit) + ")"
	readSettings  = settings + "&_query_only=1&_pragma=cache_size(-16384)"
)

func openFile(ctx context.Context, path string) (*file, error) {
	d := &file{once: make(chan struct{}, 1)}
	d.once <- struct{}{}
	if path == Memory {
		return d, d.open(ctx, Memory+"?"+settings, "")
	}
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	for _, made := range []string{path, path + ".lock"} {
		if err = createPrivate(made); err != nil {
			return nil, err
		}
	}
	d.path = path
	if d.lock, err = lockFile(ctx, path); err != nil {
		return nil, err
	}
	if err = checkLog(path); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if err = d.open(ctx, fileURI(path, writeSettings), fileURI(path, readSettings)); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), d.close())
	}
	if d.identity, err = os.Stat(path); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), d.close())
	}
	return d, nil
}

func (d *file) open(ctx context.Context, writeURI, readURI string) error {
	var err error
	if d.write, err = sql.Open("sqlite", writeURI); err != nil {
		return err
	}
	d.write.SetMaxOpenConns(1)
	if err := d.write.PingContext(ctx); err != nil {
		return err
	}
	if readURI != "" {
		d.read, err = sql.Open("sqlite", readURI)
	}
	return err
}

func (d *file) migrator() (*migrations.Migrator, error) {
	return migrations.New(d.write, migrations.SQLite, nil)
}

// migrate brings the schema up to date.
func (d *file) migrate(ctx context.Context, migrator *migrations.Migrator) error {
	if d.path != "" {
		_, err := migrator.Up(ctx)
		return err
	}
	if used, err := useMemorySchema(ctx, d.write); used || err != nil {
		return err
	}
	if _, err := migrator.Up(ctx); err != nil {
		return err
	}
	return keepMemorySchema(ctx, d.write)
}

// closing reports whether this is the first call.
func (d *file) closing() bool {
	select {
	case <-d.once:
		return true
	default:
		return false
	}
}

func (d *file) close() error {
	var failures []error
	for _, db := range []*sql.DB{d.read, d.write} {
		if db != nil {
			failures = append(failures, db.Close())
		}
	}
	if d.lock != nil {
		failures = append(failures, d.lock.release())
	}
	return errors.Join(failures...)
}

// realPath resolves links, so that two names of one file have one lock.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("database file: %w", err)
	}
	switch target, err := filepath.EvalSymlinks(path); {
	case err == nil:
		path = target
	case !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("database file: %w", err)
	}
	directory, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("database file %s: its directory does not exist: %w", path, err)
	}
	path = filepath.Join(directory, filepath.Base(path))
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", fmt.Errorf("database file %s: is a directory", path)
	}
	return path, nil
}

// CheckExists returns an error that wraps [ErrMissing] if there is no file at a path. It creates nothing.
func CheckExists(path string) error {
	if path == Memory {
		return nil
	}
	path, err := realPath(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return missingError{path}
	}
	return nil
}

// fileURI returns the driver's name of a file, whatever characters its path has.
func fileURI(path, settings string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + settings
}

// Migrate hands the migrator of a database file to a function. It returns an error
// that wraps [ErrInUse] when a process has the file open, or the function's error.
func Migrate(ctx context.Context, path string, do func(*migrations.Migrator) error) error {
	owned, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	migrator, err := owned.migrator()
	if err == nil {
		err = do(migrator)
	}
	if closing := owned.close(); err == nil {
		err = closing
	}
	return err
}

// Suffixes of a database's files.
var beside = []string{"", "-wal", "-shm", ".lock"}

// createPrivate creates a missing file that only its owner may read. SQLite gives the -wal and
// -shm files the same mode, and accepts an empty file as a new database.
func createPrivate(path string) error {
	made, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("database file: %w", err)
	}
	return made.Close()
}

// remoteName is [remoteOf], except in tests.
var remoteName = remoteOf

// warnWhenRemote logs that the file is on another machine.
func (d *file) warnWhenRemote(ctx context.Context, logger *slog.Logger) {
	if d.path == "" || logger == nil {
		return
	}
	if name := remoteName(filepath.Dir(d.path)); name != "" {
		logger.WarnContext(ctx, "the database file is on a network file system, which may lose decisions or damage the file: move it to a local disk, or use Postgres",
			slog.String("file_system", name))
	}
}

// warnWhenShared logs which of the database's files other users of the machine may read or
// write. Windows has no such modes.
func (d *file) warnWhenShared(ctx context.Context, logger *slog.Logger) {
	if d.path == "" || logger == nil || runtime.GOOS == "windows" {
		return
	}
	var shared []string
	for _, ending := range beside {
		if info, err := os.Stat(d.path + ending); err == nil && info.Mode().Perm()&0o077 != 0 {
			shared = append(shared, d.path+ending+" "+info.Mode().Perm().String())
		}
	}
	if len(shared) > 0 {
		logger.WarnContext(ctx, "other users of this machine may open files of the database; make them 0600", slog.Any("files", shared))
	}
}
