package postgres

import (
	"context"
	"errors"
	"fmt"
)

// applicationName is the application_name of service connections.
const applicationName = "holdpoint"

// Connected returns the number of service connections to a database. Connections with another
// application_name in their URL are not counted.
func Connected(ctx context.Context, url string) (count int, err error) {
	db, err := OpenDB(url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	const question = `
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`
	if err := db.QueryRowContext(ctx, question, applicationName).Scan(&count); err != nil {
		return 0, fmt.Errorf("look for services: %w", err)
	}
	return count, nil
}
