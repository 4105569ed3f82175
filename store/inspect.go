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
	model.Walker
	// Close gives the database back.
	Close() error
}

// ErrInMemory is returned for a database that no other process can look at.
var ErrInMemory = errors.New("a database in memory belongs to its process alone; there is nothing to look at")

// Inspect opens the database that a URL names for reading, also beside services that
// work on it, and migrates nothing. It returns an error that wraps ErrURL when the
// URL names no database, ErrInMemory, migrations.ErrSchemaBehind or
// migrations.ErrSchemaAhead when the schema is not the one that this program knows,
// or the engine's own. The caller closes the inspector.
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
