package store

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

// Inspector is a database that is open for reading alone.
type Inspector interface {
	model.StorageChecker
	// Close closes the connection to the database.
	Close() error
}

// ErrInMemory is returned for an in-memory database, which other processes cannot read.
var ErrInMemory = errors.New("a database in memory belongs to its process alone; there is nothing to look at")

// Inspect opens the database of a URL read-only, without migrating it, even while services use
// it. It returns an error that wraps ErrURL if the URL names no database, ErrInMemory,
// migrations.ErrSchemaBehind or migrations.ErrSchemaAhead if this program does not know the
// schema, or the engine's own error. The caller closes the inspector.
func Inspect(ctx context.Context, url string) (Inspector, error) {
	at, err := locate(url)
	switch {
	case err != nil:
		return nil, err
	case at.path == sqlite.Memory:
		return nil, ErrInMemory
	case at.path != "":
		opened, err := sqlite.OpenInspector(ctx, at.path)
		if err != nil {
			return nil, err
		}
		return opened, nil
	}
	opened, err := postgres.OpenInspector(ctx, at.url)
	if err != nil {
		return nil, err
	}
	return opened, nil
}
