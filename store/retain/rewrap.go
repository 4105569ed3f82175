package retain

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// sqlRewrapRequest replaces the sealed values $4 of request $3 of run $2 of session $1 by $5.
const sqlRewrapRequest = `
UPDATE requests SET sealed = $5 WHERE session_id = $1 AND run_id = $2 AND request_id = $3 AND sealed = $4`

// RewrapRequest implements [upkeep.Rewrapper].
func (r *Retention) RewrapRequest(ctx context.Context, read upkeep.SealedRequest, rewrapped api.JSON) (changed bool, err error) {
	err = r.alone(ctx, "rewrap a request", func(ctx context.Context, tx Transaction) error {
		if _, there, err := number(ctx, tx, r.redaction.Lock, read.SessionID); err != nil || !there {
			return err
		}
		written, err := tx.Write(ctx, sqlRewrapRequest, read.SessionID, read.RunID, read.RequestID, string(read.Sealed), string(rewrapped))
		if err != nil || written == 0 {
			return err
		}
		changed = true
		_, err = tx.Write(ctx, r.redaction.Changed, read.SessionID)
		return err
	})
	return changed && err == nil, err
}
