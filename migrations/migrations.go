// Package migrations holds the schemas of both engines and applies them. The SQL files are
// embedded, so a binary carries its own schema and knows whether a database is behind or ahead of
// it.
//
// It knows goose and database/sql, but must not know the contents of the tables.
package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Engine names a set of migrations and their directory.
type Engine string

// Engines with a schema.
const (
	Postgres Engine = "postgres"
	SQLite   Engine = "sqlite"
)

// ErrSchemaBehind and ErrSchemaAhead are returned by [Migrator.Check].
var (
	ErrSchemaBehind = errors.New("the database schema is older than this program: run the migrations")
	ErrSchemaAhead  = errors.New("the database schema is newer than this program")
)

// ErrSchemaUnreleased is returned by every method of a [Migrator] for a database from before the
// first release. Its migrations had other numbers, so none of today's applies to it.
var ErrSchemaUnreleased = errors.New("the database was made by a development version from before the first release, and cannot be upgraded: " +
	"keep that version until its runs have ended, or export its audit log with it (holdpoint audit export) and start with a new database; see docs/upgrade.md")

// Table holds the applied versions of the schema. Its name is not goose's default, so that an
// embedding program can use goose in the same database. Package sqlite reads it too.
const Table = "holdpoint_schema"

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is set only by Status, and is zero while the step is pending.
	AppliedAt time.Time
}

// Migrator moves one database between the versions of its schema. It is safe for
// concurrent use, and on Postgres several processes may migrate one database at
// once: they wait for each other.
type Migrator struct {
	provider *goose.Provider
	db       *sql.DB
	engine   Engine
	sources  fs.FS
}

// New returns a migrator of a database. The caller closes the handle. On Postgres it must connect
// to the server itself and not to a transaction-pooling proxy, because the connection holds the
// lock. The logger may be nil.
func New(db *sql.DB, engine Engine, logger *slog.Logger) (*Migrator, error) {
	return newMigrator(db, engine, logger, files)
}

// newMigrator returns a migrator that reads the steps from a directory for each engine.
func newMigrator(db *sql.DB, engine Engine, logger *slog.Logger, engines fs.FS) (*Migrator, error) {
	sources, err := fs.Sub(engines, string(engine))
	if err != nil {
		return nil, fmt.Errorf("migrations of %s: %w", engine, err)
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithTableName(Table)}
	if logger != nil {
		options = append(options, goose.WithSlog(logger))
	} else {
		options = append(options, goose.WithLogger(goose.NopLogger()))
	}
	var dialect goose.Dialect
	switch engine {
	case Postgres:
		dialect = goose.DialectPostgres
		options = append(options, goose.WithSessionLocker(advisoryLock{}))
	case SQLite:
		dialect = goose.DialectSQLite3
	default:
		return nil, fmt.Errorf("no migrations for engine %q", engine)
	}
	provider, err := goose.NewProvider(dialect, db, sources, options...)
	if err != nil {
		return nil, fmt.Errorf("migrations of %s: %w", engine, err)
	}
	return &Migrator{provider: provider, db: db, engine: engine, sources: sources}, nil
}

// Up applies all pending steps and returns them, oldest first. After an error the earlier steps
// stay applied. If a step on Postgres does not get a lock within [LockTimeout], it lets queued
// transactions run and retries until the context ends.
func (m *Migrator) Up(ctx context.Context) ([]Migration, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	var results []*goose.MigrationResult
	for {
		result, err := m.provider.UpByOne(ctx)
		switch {
		case errors.Is(err, goose.ErrNoNextVersion):
			return applied(results), nil
		case lockTimedOut(err) && pause(ctx, lockPause) == nil:
		case err != nil:
			return applied(results), fmt.Errorf("migrate up: %w", err)
		default:
			results = append(results, result)
		}
	}
}

// Down rolls back the newest applied step, deletes the data that only this step stores, and returns
// the step. The version is 0 if nothing was applied.
func (m *Migrator) Down(ctx context.Context) (Migration, error) {
	if _, err := m.begun(ctx); err != nil {
		return Migration{}, err
	}
	result, err := m.provider.Down(ctx)
	if errors.Is(err, goose.ErrNoNextVersion) {
		return Migration{}, nil
	}
	if err != nil {
		return Migration{}, fmt.Errorf("migrate down: %w", err)
	}
	return applied([]*goose.MigrationResult{result})[0], nil
}

// Status returns all steps known to this program, and whether they are applied. It writes nothing.
func (m *Migrator) Status(ctx context.Context) ([]Migration, error) {
	begun, err := m.begun(ctx)
	if err != nil || !begun {
		return m.steps(), err // goose would create its table
	}
	statuses, err := m.provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	steps := make([]Migration, 0, len(statuses))
	for _, status := range statuses {
		steps = append(steps, Migration{Version: status.Source.Version, Name: status.Source.Path, AppliedAt: status.AppliedAt})
	}
	return steps, nil
}

// steps returns all steps known to this program, as pending.
func (m *Migrator) steps() []Migration {
	sources := m.provider.ListSources()
	steps := make([]Migration, 0, len(sources))
	for _, source := range sources {
		steps = append(steps, Migration{Version: source.Version, Name: source.Path})
	}
	return steps
}

// begin creates goose's table under the lock. UpByOne looks for the table, and creates it, before it takes
// the lock: of two replicas that start on an empty Postgres database one would fail.
func (m *Migrator) begin(ctx context.Context) error {
	if begun, err := m.begun(ctx); err != nil || begun {
		return err
	}
	if _, err := m.provider.GetDBVersion(ctx); err != nil {
		return fmt.Errorf("schema version: %w", err)
	}
	return nil
}

// begun reports whether any step was ever applied. It returns [ErrSchemaUnreleased] for a database
// with goose's default table and one of ours.
func (m *Migrator) begun(ctx context.Context) (begun bool, err error) {
	// goose would create its table outside of the lock and conflict with a migrating replica.
	question := "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname"
	if m.engine == SQLite {
		question = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name"
	}
	question = "SELECT count(*) FILTER (WHERE t.name = '" + Table + "') > 0, count(*) FILTER (WHERE t.name <> '" + Table + "') = 2 " +
		"FROM (" + question + " IN ('" + Table + "', 'goose_db_version', 'idempotency_records')) AS t"
	var unreleased bool
	if err := m.db.QueryRowContext(ctx, question).Scan(&begun, &unreleased); err != nil {
		return false, fmt.Errorf("schema version: %w", err)
	}
	if unreleased && !begun {
		return false, ErrSchemaUnreleased
	}
	return begun, nil
}

// Versions returns the version of the database, 0 if it is empty, and the newest version known to
// this program. It writes nothing.
func (m *Migrator) Versions(ctx context.Context) (current, newest int64, err error) {
	begun, err := m.begun(ctx)
	if err != nil {
		return 0, 0, err
	}
	if !begun {
		sources := m.provider.ListSources()
		return 0, sources[len(sources)-1].Version, nil
	}
	current, newest, err = m.provider.GetVersions(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("schema version: %w", err)
	}
	return current, newest, nil
}

// Check returns nil if the database has the schema known to this program. Otherwise the error wraps
// [ErrSchemaBehind] or [ErrSchemaAhead] and names the versions, or is [ErrSchemaUnreleased] or the
// database's error.
func (m *Migrator) Check(ctx context.Context) error {
	current, newest, err := m.Versions(ctx)
	switch {
	case err != nil:
		return err
	case current < newest:
		return fmt.Errorf("%w (it is at %d, this program needs %d)", ErrSchemaBehind, current, newest)
	case current > newest:
		return fmt.Errorf("%w (it is at %d, this program knows %d)", ErrSchemaAhead, current, newest)
	}
	return nil
}

// Digest returns a hexadecimal hash of an engine's migrations. Programs with the same digest have
// the same schema.
func Digest(engine Engine) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, string(engine), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", path, len(text))
		_, err = sum.Write(text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("digest of the migrations of %s: %w", engine, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func applied(results []*goose.MigrationResult) []Migration {
	steps := make([]Migration, 0, len(results))
	for _, result := range results {
		steps = append(steps, Migration{Version: result.Source.Version, Name: result.Source.Path})
	}
	return steps
}
