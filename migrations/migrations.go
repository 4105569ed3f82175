// Package migrations holds the schemas of both engines and applies them. The SQL
// files are embedded, so a binary carries its own schema and can tell whether a
// database is behind or ahead of it.
//
// It knows goose and database/sql; it must not know what is in the tables.
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

// Engine names a set of migrations. It is the name of their directory.
type Engine string

// The engines that have a schema.
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

// Table holds the versions of the schema that are applied. It has a name of its own, so that an
// embedding program can use goose in the same database. Package sqlite reads it too.
const Table = "holdpoint_schema"

// Migration is one step of the schema.
type Migration struct {
	Version int64
	Name    string
	// AppliedAt is given by Status alone; it is zero while the step is pending.
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

// New returns a migrator of a database. The handle stays the caller's to close;
// on Postgres it must reach the server itself and not a transaction-pooling proxy,
// because the lock is held by the connection. The logger may be nil.
func New(db *sql.DB, engine Engine, logger *slog.Logger) (*Migrator, error) {
	return newMigrator(db, engine, logger, files)
}

// newMigrator returns a migrator that takes the steps from a directory for each engine.
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

// Up applies every pending step and returns those that it applied, oldest first.
// After an error the earlier steps stay applied. On Postgres a step gives up a lock that it
// cannot have within [LockTimeout], so that those who queue behind it go on, and tries again
// until the context ends.
func (m *Migrator) Up(ctx context.Context) ([]Migration, error) {
	if _, err := m.begun(ctx); err != nil {
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

// Down takes back the newest applied step, with all data that only it holds, and
// returns it. The version is 0 when nothing was applied.
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

// Status returns every step that this program knows, and whether it is applied. It writes nothing.
func (m *Migrator) Status(ctx context.Context) ([]Migration, error) {
	begun, err := m.begun(ctx)
	if err != nil || !begun {
		return m.steps(), err // goose would make its table
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

// steps returns every step that this program knows, as pending.
func (m *Migrator) steps() []Migration {
	sources := m.provider.ListSources()
	steps := make([]Migration, 0, len(sources))
	for _, source := range sources {
		steps = append(steps, Migration{Version: source.Version, Name: source.Path})
	}
	return steps
}

// begun reports whether anything was ever applied. It returns [ErrSchemaUnreleased] for a database
// that has goose's default table and one of ours.
func (m *Migrator) begun(ctx context.Context) (begun bool, err error) {
	// goose would create its table, outside of the lock and in the way of a replica that migrates.
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

// Versions returns the version that the database is at (0 when it is empty) and
// the newest one that this program knows. It changes nothing.
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

// Check returns nil when the database has the schema that this program knows, else
// an error that wraps [ErrSchemaBehind] or [ErrSchemaAhead] and names the versions,
// [ErrSchemaUnreleased], or the database's error.
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

// Digest returns a hexadecimal hash of an engine's migrations: two programs with
// the same digest make the same schema.
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
