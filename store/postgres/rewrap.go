package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/retain"
)

const sqlRewrapRequest = `
UPDATE requests SET sealed = $5 WHERE session_id = $1 AND run_id = $2 AND request_id = $3 AND sealed = $4`

var rewrap = retain.RewrapStatements{Lock: sqlRedactLock, Request: sqlRewrapRequest, Session: sqlRedactSession}

// RewrapRequest implements [runs.Rewrapper].
func (s *Store) RewrapRequest(ctx context.Context, read runs.SealedRequest, rewrapped api.JSON) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, retentionTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, s.reads, func(tx pgx.Tx) (err error) {
		changed, err = retain.Rewrap(ctx, trimming{tx}, &rewrap, &read, rewrapped)
		return err
	})
	if err != nil {
		return false, readFailure(ctx, err)
	}
	return changed, nil
}
