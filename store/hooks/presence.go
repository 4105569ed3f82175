package hooks

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/read"
)

const sqlPresence = `SELECT p.until_ms FROM presence AS p WHERE p.principal = $1`

// sqlViewers takes $1 the current time, $2 the latest end that counts, and the limit $3.
const sqlViewers = `
SELECT p.principal, p.request_handle, p.session_id, p.agent_id
FROM presence AS p
WHERE p.request_handle <> '' AND p.until_ms > CAST($1 AS bigint) AND p.until_ms <= CAST($2 AS bigint)
ORDER BY p.principal
LIMIT CAST($3 AS bigint)`

// Presence implements notify.Store.
func (k *Endpoints) Presence(ctx context.Context, principal string) (int64, error) {
	untilMs, err := read.Find(ctx, k.db, columns.Itself[int64], sqlPresence, principal)
	if err != nil || untilMs == nil {
		return 0, err
	}
	return *untilMs, nil
}

// SetPresence implements notify.Store.
func (k *Endpoints) SetPresence(ctx context.Context, person *reads.Viewer, untilMs, keepAfterMs int64) error {
	_, err := k.write(ctx, nil, sqlSetPresence, person.Principal, untilMs, person.Handle, person.SessionID, person.AgentID, keepAfterMs)
	return err
}

// Viewers implements notify.Store.
func (k *Endpoints) Viewers(ctx context.Context, nowMs int64, maxViewers int) ([]reads.Viewer, error) {
	// An end much further away was written before the clock was set back; nowMs may be a little old.
	targets := func(v *reads.Viewer) []any { return []any{&v.Principal, &v.Handle, &v.SessionID, &v.AgentID} }
	return read.List(ctx, k.db, targets, sqlViewers, nowMs, nowMs+2*api.PresenceMs, max(maxViewers, 0))
}
