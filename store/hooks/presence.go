package hooks

import (
	"context"

	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

const sqlPresence = `SELECT p.until_ms FROM presence AS p WHERE p.principal = $1`

// Presence implements notify.Store.
func (k *Endpoints) Presence(ctx context.Context, principal string) (int64, error) {
	untilMs, err := read.Find(ctx, k.db, columns.Itself[int64], sqlPresence, principal)
	if err != nil || untilMs == nil {
		return 0, err
	}
	return *untilMs, nil
}

// SetPresence implements notify.Store.
func (k *Endpoints) SetPresence(ctx context.Context, principal string, untilMs int64) error {
	_, err := k.write(ctx, nil, sqlSetPresence, principal, untilMs)
	return err
}
