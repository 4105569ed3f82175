package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/hooks"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/retain"
	"github.com/holdpoint/holdpoint/store/tokens"
)

// Memory is the path of a database that lives in memory and ends with its store.
const Memory = ":memory:"

// Options configure a store.
type Options struct {
	// NowMs is the clock that decides, in milliseconds since the epoch. The system's
	// when nil.
	NowMs func() int64
	// Readers is the number of concurrent reads, 4 if 0, and at least 2; half of them may be
	// lists. An in-memory database has one connection for everything.
	Readers int
	// KeepSchema leaves the schema as it is instead of bringing it up to date.
	KeepSchema bool
	// Door configures the door. Lanes and Announce are the store's: SQLite has one
	// writer, so a second lane would only wait for the first.
	Door door.Options
	// Logger logs failed transactions. Default: no logging.
	Logger *slog.Logger
}

const defaultReaders = 4

// Store is the engine. It is safe for concurrent use.
type Store struct {
	*door.Door
	*read.Reader
	*tokens.Keeper
	*hooks.Endpoints
	*retain.Retention
	door.Subscribers

	writers *pool
	readers *pool // the same as writers for a database in memory
	reads   *database
	// checkpoints are nil for a database in memory.
	checkpoints *checkpoints
	nowMs       func() int64
	// schema is the version that this program knows.
	schema int64
	owned  *file
}

var (
	_ runs.Store  = (*Store)(nil)
	_ auth.Tokens = (*Store)(nil)
)

// Open opens or creates the database file at a path, or one in memory ([Memory]). It returns an
// error that wraps [ErrInUse] if another process has the file, [migrations.ErrSchemaBehind] with
// KeepSchema if the schema is old, also [ErrMissing] if there is no file, or [migrations.ErrSchemaAhead] if it is newer than this
// program.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	if options.KeepSchema {
		if err := CheckExists(path); err != nil {
			return nil, err
		}
	}
	owned, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	owned.warnWhenShared(ctx, options.Logger)
	owned.warnWhenRemote(ctx, options.Logger)
	store, err := open(ctx, owned, options)
	if err != nil {
		return nil, errors.Join(err, owned.close())
	}
	return store, nil
}

func open(ctx context.Context, owned *file, options Options) (*Store, error) {
	migrator, err := owned.migrator()
	if err != nil {
		return nil, err
	}
	if !options.KeepSchema {
		if err := owned.migrate(ctx, migrator); err != nil {
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
	readers := max(cmp.Or(options.Readers, defaultReaders), 2)
	if owned.read != nil {
		if store.readers, err = openReaders(ctx, owned.read, readers); err != nil {
			return nil, errors.Join(err, writer.close())
		}
	}
	store.reads = &database{store.readers, store.nowMs}
	store.Reader = read.New(store.reads, &readStatements, readers)
	if owned.read != nil {
		reader, err := newConnection(ctx, owned.read)
		if err != nil {
			return nil, errors.Join(err, writer.close()) // closing the database closes the readers
		}
		store.checkpoints = newCheckpoints(reader, store.writers, store.PauseLists, options.Logger)
		go store.checkpoints.run()
	}
	store.Keeper = tokens.New(store.reads, store, &tokenStatements)
	store.Endpoints = hooks.New(store.reads, store, hookParts)
	store.Retention = retain.New(store.alone, store.NowMs, &retention, &redaction)
	options.Door.Lanes, options.Door.Announce = 1, store.Publish
	options.Door.Values, options.Door.Rules, options.Door.Webhooks = store, store, store
	options.Door.Logger = cmp.Or(options.Door.Logger, options.Logger)
	store.Door = door.New(&engine{store: store}, options.Door)
	return store, nil
}

func openReaders(ctx context.Context, db *sql.DB, count int) (*pool, error) {
	connections := make([]*connection, 0, count)
	for range count {
		c, err := newConnection(ctx, db)
		if err != nil {
			return nil, err // closing the database closes the opened ones
		}
		connections = append(connections, c)
	}
	return newPool(connections...), nil
}

// Hears reports that notices of all commits arrive: no other process commits.
func (s *Store) Hears() bool { return true }

// KnownMs implements reads.Presence: no other process has the database open.
func (s *Store) KnownMs() int64 { return math.MaxInt64 }

// OthersServe implements reads.Presence.
func (s *Store) OthersServe() bool { return false }

// Pools returns how the connections of the lane and of reads are used. A database in memory has
// one connection for both.
func (s *Store) Pools() []door.PoolState {
	states := []door.PoolState{s.writers.state("lanes")}
	if s.readers != s.writers {
		states = append(states, s.readers.state("reads"))
	}
	return states
}

// NowMs implements runs.Instance.
func (s *Store) NowMs(context.Context) (int64, error) { return s.nowMs(), nil }

// Ready implements runs.Instance.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.Stalled(); err != nil {
		return err
	}
	if err := s.owned.usable(); err != nil {
		return err
	}
	var current int64
	found, err := read.Find(ctx, s.reads, columns.Itself[int64], sqlSchemaVersion)
	if found != nil {
		current = *found
	}
	switch {
	case err != nil:
		return err
	case current < s.schema:
		err := fmt.Errorf("%w (it is at %d, this program needs %d)", migrations.ErrSchemaBehind, current, s.schema)
		return &runs.NotReadyError{Detail: err.Error(), Err: err}
	}
	return nil
}

// Close implements upkeep.Keeper.
func (s *Store) Close() error {
	if !s.owned.closing() {
		return nil
	}
	if !s.Door.Close() {
		// The lane keeps the write connection. The process's end releases the file.
		return fmt.Errorf("close: %w", cmp.Or(s.Stalled(), runs.ErrUnavailable))
	}
	var failures []error
	if s.readers != s.writers {
		failures = append(failures, s.readers.close())
	}
	failures = append(failures, s.writers.close())
	if s.checkpoints != nil {
		failures = append(failures, s.checkpoints.close())
	}
	failures = append(failures, s.owned.close())
	return errors.Join(failures...)
}
