package postgres

import (
	"context"
	"errors"
	"fmt"
)

// applicationName is how the connections of services call themselves.
const applicationName = "holdpoint"

// Connected returns how many connections services have to a database. One whose URL gives its
// connections another application_name is not seen.
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
