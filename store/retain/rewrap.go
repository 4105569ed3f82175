package retain

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// RewrapStatements are the statements of an engine.
type RewrapStatements struct {
	// Lock locks the session $1 and has one row, or none when there is no such session.
	Lock string
	// Request sets what is sealed of the request $3 of the run $2 of the session $1 to $5 if it is $4.
	Request string
	// Session gives the session $1 another version.
	Session string
}

// Rewrap replaces what is sealed of a request, unless it has changed since it was read, and reports
// whether it did.
func Rewrap(ctx context.Context, tx Transaction, s *RewrapStatements, read *runs.SealedRequest, rewrapped api.JSON) (bool, error) {
	if _, there, err := number(ctx, tx, s.Lock, read.SessionID); err != nil || !there {
		return false, err
	}
	changed, err := tx.Write(ctx, s.Request, read.SessionID, read.RunID, read.RequestID, string(read.Sealed), string(rewrapped))
	if err != nil || changed == 0 {
		return false, err
	}
	// Who remembers the request reads it again.
	_, err = tx.Write(ctx, s.Session, read.SessionID)
	return err == nil, err
}
