package hooks

import (
	"context"

	"github.com/holdpoint/holdpoint/notify"
	"github.com/holdpoint/holdpoint/store/read"
)

const sqlQuietHours = `SELECT h.zone, h.from_minutes, h.to_minutes FROM quiet_hours AS h WHERE h.principal = $1`

// QuietHours implements notify.Store.
func (k *Endpoints) QuietHours(ctx context.Context, principal string) (*notify.QuietHours, error) {
	targets := func(h *notify.QuietHours) []any { return []any{&h.Zone, &h.FromMinutes, &h.ToMinutes} }
	return read.Find(ctx, k.db, targets, sqlQuietHours, principal)
}

// SetQuietHours implements notify.Store.
func (k *Endpoints) SetQuietHours(ctx context.Context, principal string, hours *notify.QuietHours) error {
	if hours == nil {
		_, err := k.write(ctx, nil, sqlClearQuietHours, principal)
		return err
	}
	_, err := k.write(ctx, nil, sqlSetQuietHours, principal, hours.Zone, hours.FromMinutes, hours.ToMinutes)
	return err
}
