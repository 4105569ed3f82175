package sqlite

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/retain"
)

const sqlRewrapRequest = `
UPDATE requests SET sealed = $5 WHERE session_id = $1 AND run_id = $2 AND request_id = $3 AND sealed = $4`

var rewrap = retain.RewrapStatements{Lock: sqlRedactLock, Request: sqlRewrapRequest, Session: sqlRedactSession}

// RewrapRequest implements [runs.Rewrapper]. It waits for its turn at the write connection.
func (s *Store) RewrapRequest(ctx context.Context, read runs.SealedRequest, rewrapped api.JSON) (bool, error) {
	write, err := s.writers.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer s.writers.release(write)
	ctx = context.WithoutCancel(ctx)
	if _, err := write.exec(ctx, sqlBegin); err != nil {
		return false, failed("rewrap a request", err)
	}
	changed, err := retain.Rewrap(ctx, trimming{write, s.reads}, &rewrap, &read, rewrapped)
	if err == nil {
		_, err = write.exec(ctx, sqlCommit)
	}
	if err != nil {
		// SQLite may have rolled back already.
		_, _ = write.exec(ctx, sqlRollback)
		return false, failed("rewrap a request", err)
	}
	return changed, nil
}
