package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// database is a --database value.
type database struct {
	// path is that of an SQLite file, or sqlite.Memory; url is that of Postgres. One
	// of them is set.
	path string
	url  string
}

// parseDatabase reads sqlite:PATH, sqlite::memory: or postgres://….
func parseDatabase(text string) (database, error) {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case !found:
	case scheme == "sqlite":
		path := strings.TrimPrefix(rest, "//")
		if path == "" {
			return database{}, usage("--database %s names no file", text)
		}
		return database{path: path}, nil
	case scheme == "postgres", scheme == "postgresql":
		return database{url: text}, nil
	}
	return database{}, usage("--database must be sqlite:PATH or postgres://HOST/NAME")
}

// open opens the store, and brings its schema up to date first if migrate says so.
func (d database) open(ctx context.Context, migrate bool, logger *slog.Logger) (runs.Store, error) {
	if d.url != "" {
		opened, err := postgres.Open(ctx, d.url, postgres.Options{Migrate: migrate, Logger: logger})
		if err != nil {
			return nil, d.explain(err)
		}
		return opened, nil
	}
	opened, err := sqlite.Open(ctx, d.path, sqlite.Options{KeepSchema: !migrate, Logger: logger})
	if err != nil {
		return nil, d.explain(err)
	}
	return opened, nil
}

// migrator hands the migrator of the database to a function.
func (d database) migrator(ctx context.Context, do func(*migrations.Migrator) error) error {
	if d.url == "" {
		return d.explain(sqlite.Migrate(ctx, d.path, do))
	}
	db, err := postgres.OpenDB(d.url)
	if err != nil {
		return err
	}
	defer db.Close()
	migrator, err := migrations.New(db, migrations.Postgres, nil)
	if err != nil {
		return err
	}
	return do(migrator)
}

// explain adds what to do about a database that cannot be opened.
func (d database) explain(err error) error {
	switch {
	case errors.Is(err, sqlite.ErrInUse):
		return fmt.Errorf("%w: is another holdpoint service running on it?", err)
	case errors.Is(err, migrations.ErrSchemaBehind):
		return fmt.Errorf("%w: holdpoint migrate up, or serve without --migrate=off", err)
	default:
		return err
	}
}

// String says where the data is, without any password.
func (d database) String() string {
	switch {
	case d.path == sqlite.Memory:
		return "in memory, gone when this process ends"
	case d.path != "":
		if path, err := filepath.Abs(d.path); err == nil {
			return "SQLite file " + path
		}
		return "SQLite file " + d.path
	}
	parsed, err := url.Parse(d.url)
	if err != nil {
		return "Postgres"
	}
	query := parsed.Query()
	query.Del("password")
	parsed.RawQuery = query.Encode()
	return "Postgres " + parsed.Redacted()
}
