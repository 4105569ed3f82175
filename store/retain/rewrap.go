package retain

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// RewrapStatements are the statements of an engine.
type RewrapStatements struct {
	// Lock locks the session $1 and returns one row, or none if the session does not exist.
	Lock string
	// Request replaces the sealed values $4 of request $3 of run $2 of session $1 by $5.
	Request string
	// Session changes the version of session $1.
	Session string
}

// Rewrap replaces a request's sealed values, unless they have changed since they were read, and
// reports whether it did.
func Rewrap(ctx context.Context, tx Transaction, s *RewrapStatements, read *runs.SealedRequest, rewrapped api.JSON) (bool, error) {
	if _, there, err := number(ctx, tx, s.Lock, read.SessionID); err != nil || !there {
		return false, err
	}
	changed, err := tx.Write(ctx, s.Request, read.SessionID, read.RunID, read.RequestID, string(read.Sealed), string(rewrapped))
	if err != nil || changed == 0 {
		return false, err
	}
	// Caches of the request become stale.
	_, err = tx.Write(ctx, s.Session, read.SessionID)
	return err == nil, err
}
