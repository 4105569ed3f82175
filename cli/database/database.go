// Package database holds the commands that open a database directly, without a service,
// such as migrate and doctor. Package store parses database URLs. The package must not know SQL, or what the
// checks of doctor are.
package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/migrations"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// Flag is the flag of commands that open a database.
type Flag struct {
	Database string `default:"sqlite:holdpoint.db" from:"HOLDPOINT_DATABASE" placeholder:"URL" help:"Database: sqlite:PATH or postgres://… (default ${default}; $$HOLDPOINT_DATABASE)."`
}

// Open opens the store; the caller closes it. Errors: as [store.Open], with advice;
// an invalid URL is a usage error.
func (f Flag) Open(ctx context.Context, options store.Options) (store.Store, error) {
	opened, err := store.Open(ctx, f.Database, options)
	if err != nil {
		return nil, f.explain(err)
	}
	return opened, nil
}

// CheckURL returns the error with which Open refuses the URL. It opens nothing.
func (f Flag) CheckURL() error {
	if err := store.CheckURL(f.Database); err != nil {
		return f.explain(err)
	}
	return nil
}

// Describe returns the database's address without passwords.
func (f Flag) Describe() string { return store.Describe(f.Database) }

// explain adds advice to an error.
func (f Flag) explain(err error) error {
	switch {
	case errors.Is(err, store.ErrURL):
		return console.Usage("--database: %w", err)
	case errors.Is(err, sqlite.ErrInUse):
		return fmt.Errorf("%w: is another holdpoint service running on it?", err)
	case errors.Is(err, sqlite.ErrMissing):
		return fmt.Errorf("%w: check the path in --database, or create it with holdpoint migrate up", err)
	case errors.Is(err, migrations.ErrSchemaBehind):
		return fmt.Errorf("%w: run holdpoint migrate up, or serve without --migrate=off", err)
	case sqlite.Damaged(err):
		return fmt.Errorf("%w: the file is damaged, or not an SQLite database: keep it as it is, and restore a backup (docs/back-up.md); holdpoint doctor says what can be read", err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), sqlite.CannotWrite(err):
		return fmt.Errorf("%w: the user of this process must be able to write to the file and its directory, where SQLite creates more files", err)
	}
	var refused interface{ SQLState() string }
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.SQLState() {
	case "42501": // insufficient_privilege
		return fmt.Errorf("%w: the first start creates tables: GRANT CREATE, USAGE ON SCHEMA public TO the user of --database, or migrate as their owner and "+
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO that user, and serve with --migrate=off", err)
	case "3D000": // invalid_catalog_name
		return fmt.Errorf("%w: create it first, for example with createdb", err)
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return fmt.Errorf("%w: does the server know the user and the password of --database, and does its pg_hba.conf let this machine in?", err)
	case "25006": // read_only_sql_transaction
		return fmt.Errorf("%w: the server takes no writes; is it a standby? Name all servers in the URL, with target_session_attrs=read-write", err)
	}
	return err
}
