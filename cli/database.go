package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// databaseFlag is shared by the commands that open a database.
type databaseFlag struct {
	Database string `default:"sqlite:holdpoint.db" from:"HOLDPOINT_DATABASE" placeholder:"URL" help:"sqlite:PATH or postgres://… (default ${default}; $$HOLDPOINT_DATABASE)."`
}

// database is a --database value.
type database struct {
	text string
	// path is that of an SQLite file, or sqlite.Memory; url is that of Postgres. One
	// of them is set.
	path string
	url  string
}

// parseDatabase reads sqlite:PATH, sqlite::memory: or postgres://…. Whether the rest
// of it is any good is the store's to say.
func parseDatabase(text string) (database, error) {
	scheme, rest, _ := strings.Cut(text, ":")
	switch path := strings.TrimPrefix(rest, "//"); {
	case scheme == "sqlite" && path != "":
		return database{text: text, path: path}, nil
	case scheme == "postgres", scheme == "postgresql":
		return database{text: text, url: text}, nil
	}
	return database{}, usage("--database: %w", store.ErrURL)
}

// open opens the store.
func (d database) open(ctx context.Context, options store.Options) (runs.Store, error) {
	opened, err := store.Open(ctx, d.text, options)
	if err != nil {
		return nil, d.explain(err)
	}
	return opened, nil
}

// migrator hands the migrator of the database to a function.
func (d database) migrator(ctx context.Context, do func(*migrations.Migrator) error) error {
	return d.explain(store.Migrate(ctx, d.text, do))
}

// String says where the data is, without any password.
func (d database) String() string { return store.Describe(d.text) }

// explain adds to an error what to do about it.
func (d database) explain(err error) error {
	switch {
	case errors.Is(err, store.ErrURL):
		return &exit{code: exitUsage, cause: fmt.Errorf("--database: %w", err)}
	case errors.Is(err, sqlite.ErrInUse):
		return fmt.Errorf("%w: is another holdpoint service running on it?", err)
	case errors.Is(err, migrations.ErrSchemaBehind):
		return fmt.Errorf("%w: holdpoint migrate up, or serve without --migrate=off", err)
	default:
		return err
	}
}
