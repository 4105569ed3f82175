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
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/committer"
)

// Memory is the path of a database that lives in memory and ends with its store.
const Memory = ":memory:"

// Options are what an embedder may choose.
type Options struct {
	// NowMs is the clock that decides, in milliseconds since the epoch. The system's
	// when nil.
	NowMs func() int64
	// Readers is how many reads may go on at once, 4 when 0. A database in memory
	// has one connection for everything.
	Readers int
	// KeepSchema leaves the schema as it is instead of bringing it up to date.
	KeepSchema bool
	// NewID makes identifiers, runs.NewID when nil.
	NewID runs.IDSource
	// Plain gives each command a transaction of its own. It is there for benchmarks
	// to compare with.
	Plain bool
	// Logger is told of transactions that failed. Nobody when nil.
	Logger *slog.Logger
}

const defaultReaders = 4

// Store is the engine. It is safe for concurrent use.
type Store struct {
	*committer.Committer

	writers *pool
	readers *pool // the same as writers for a database in memory
	notices notices
	nowMs   func() int64
	// schema is the version that this program knows.
	schema int64
	owned  *database
}

var _ runs.Store = (*Store)(nil)

// Open opens the database file at a path, which is made when it is not there, or
// one in memory ([Memory]). It returns an error that wraps [ErrInUse] when another
// process has the file, [migrations.ErrSchemaBehind] with KeepSchema when the
// schema is old, or [migrations.ErrSchemaAhead] when it is newer than this program.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	owned, err := openDatabase(ctx, path)
	if err != nil {
		return nil, err
	}
	store, err := open(ctx, owned, options)
	if err != nil {
		return nil, errors.Join(err, owned.close())
	}
	return store, nil
}

func open(ctx context.Context, owned *database, options Options) (*Store, error) {
	migrator, err := owned.migrator()
	if err != nil {
		return nil, err
	}
	if !options.KeepSchema {
		if _, err := migrator.Up(ctx); err != nil {
			return nil, err
		}
	}
	if err := migrator.Check(ctx); err != nil {
		return nil, err
	}
	store := &Store{nowMs: options.NowMs, owned: owned}
	if store.nowMs == nil {
		store.nowMs = func() int64 { return time.Now().UnixMilli() }
	}
	if _, store.schema, err = migrator.Versions(ctx); err != nil {
		return nil, err
	}
	writer, err := newConnection(ctx, owned.write)
	if err != nil {
		return nil, err
	}
	store.writers = newPool(writer)
	store.readers = store.writers
	if owned.read != nil {
		if store.readers, err = openReaders(ctx, owned.read, options.Readers); err != nil {
			return nil, errors.Join(err, writer.close())
		}
	}
	// SQLite has one writer, so a second lane would only wait for the first.
	store.Committer = committer.New(&engine{store: store}, committer.Options{
		Lanes: 1, Plain: options.Plain, NewID: options.NewID, Announce: store.notices.publish, Logger: options.Logger,
	})
	return store, nil
}

func openReaders(ctx context.Context, db *sql.DB, count int) (*pool, error) {
	if count == 0 {
		count = defaultReaders
	}
	connections := make([]*connection, 0, count)
	for range count {
		c, err := newConnection(ctx, db)
		if err != nil {
			return nil, err // closing the database closes those that were opened
		}
		connections = append(connections, c)
	}
	return newPool(connections...), nil
}

// Close implements [runs.Keeper].
func (s *Store) Close() error {
	if !s.owned.closing() {
		return nil
	}
	s.Committer.Close()
	var failures []error
	if s.readers != s.writers {
		failures = append(failures, s.readers.close())
	}
	failures = append(failures, s.writers.close(), s.owned.close())
	return errors.Join(failures...)
}

// database is an open file with the right to it.
type database struct {
	write *sql.DB
	read  *sql.DB // nil in memory
	lock  *fileLock
	once  chan struct{}
}

// Settings of every connection, and those of the two kinds.
const (
	settings      = "_busy_timeout=5000&_foreign_keys=1&_dqs=0&_pragma=temp_store(memory)"
	writeSettings = settings + "&_journal_mode=WAL&_synchronous=FULL&_pragma=cache_size(-65536)"
	readSettings  = settings + "&_query_only=1&_pragma=cache_size(-16384)"
)

func openDatabase(ctx context.Context, path string) (*database, error) {
	d := &database{once: make(chan struct{}, 1)}
	d.once <- struct{}{}
	if path == Memory {
		return d, d.open(ctx, Memory+"?"+settings, "")
	}
	path, err := realPath(path)
	if err != nil {
		return nil, err
	}
	if d.lock, err = lockFile(ctx, path); err != nil {
		return nil, err
	}
	if err = d.open(ctx, fileURI(path, writeSettings), fileURI(path, readSettings)); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), d.close())
	}
	return d, nil
}

func (d *database) open(ctx context.Context, writeURI, readURI string) error {
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

func (d *database) migrator() (*migrations.Migrator, error) {
	return migrations.New(d.write, migrations.SQLite, nil)
}

// closing reports whether this is the first call.
func (d *database) closing() bool {
	select {
	case <-d.once:
		return true
	default:
		return false
	}
}

func (d *database) close() error {
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

// realPath returns the file that a path leads to, so that two names of one file
// have one lock.
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
		return "", fmt.Errorf("database file %s: its directory is not there: %w", path, err)
	}
	path = filepath.Join(directory, filepath.Base(path))
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", fmt.Errorf("database file %s: is a directory", path)
	}
	return path, nil
}

// fileURI returns the driver's name of a file, whatever characters its path has.
func fileURI(path, settings string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + settings
}
