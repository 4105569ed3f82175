package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// memorySchema is an empty database with the newest schema. Making it computes for some 60 ms, a second under
// the race detector, and tests open databases in memory by the thousand.
var memorySchema struct {
	mu    sync.Mutex
	image []byte
}

// serializer is the part of the driver's connection that copies a whole database.
type serializer interface {
	Serialize() ([]byte, error)
	Deserialize(image []byte) error
}

// useMemorySchema fills a new database in memory. It reports false if this process has not made one yet.
func useMemorySchema(ctx context.Context, db *sql.DB) (used bool, err error) {
	memorySchema.mu.Lock()
	image := memorySchema.image
	memorySchema.mu.Unlock()
	if image == nil {
		return false, nil
	}
	return true, onDriver(ctx, db, func(conn serializer) error { return conn.Deserialize(image) })
}

// keepMemorySchema remembers a database in memory that has no rows yet.
func keepMemorySchema(ctx context.Context, db *sql.DB) error {
	return onDriver(ctx, db, func(conn serializer) error {
		image, err := conn.Serialize()
		if err == nil {
			memorySchema.mu.Lock()
			memorySchema.image = image
			memorySchema.mu.Unlock()
		}
		return err
	})
}

func onDriver(ctx context.Context, db *sql.DB, do func(serializer) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		s, ok := driver.(serializer)
		if !ok {
			return fmt.Errorf("database in memory: the driver's %T does not copy", driver)
		}
		return do(s)
	})
}
