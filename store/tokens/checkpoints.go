package tokens

import (
	"context"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/store/read"
)

const (
	lastCheckpoint = `
SELECT number, coalesce((SELECT complete_ms FROM audit_checkpoints WHERE complete_ms <> 0 ORDER BY number DESC LIMIT 1), 0), signed
FROM audit_checkpoints ORDER BY number DESC LIMIT 1`
	checkpointsAfter = `SELECT number, complete_ms, signed FROM audit_checkpoints WHERE number > $1 ORDER BY number LIMIT CAST($2 AS bigint)`
	readHeads        = `SELECT session_id, last_event_id, last_event_hash, coalesce(life, '') FROM sessions`
	headsSince       = readHeads + ` WHERE session_id > $1 AND session_id <= $4 AND updated_at_ms >= $2 AND last_event_hash <> '' ORDER BY session_id LIMIT CAST($3 AS bigint)`
	sessionAfter     = `
SELECT coalesce((SELECT session_id FROM sessions WHERE session_id > $1 ORDER BY session_id LIMIT 1 OFFSET $2), ''),
	coalesce((SELECT max(session_id) FROM sessions), '')`
)

// headRows is how many sessions one statement of HeadsSince reads. The times of changes have no
// index, because each change would write to it.
const headRows = 5_000

// HeadsBy returns the statement that reads the heads of the sessions that meet a condition.
func HeadsBy(condition string) string {
	return readHeads + " WHERE last_event_hash <> '' AND " + condition
}

var _ audit.CheckpointRows = (*Keeper)(nil)

// AddCheckpoint implements audit.CheckpointRows.
func (k *Keeper) AddCheckpoint(ctx context.Context, c audit.Checkpoint) (bool, error) {
	changed, err := k.write(ctx, Write{SQL: sqlAddCheckpoint, Args: []any{c.Number, c.CompleteMs, c.Signed}})
	return changed > 0, err
}

// LastCheckpoint implements audit.CheckpointRows.
func (k *Keeper) LastCheckpoint(ctx context.Context) (last audit.Checkpoint, completeMs int64, err error) {
	found, err := read.Find(ctx, k.db, checkpointTargets, lastCheckpoint)
	if found == nil {
		return audit.Checkpoint{}, 0, err
	}
	return *found, found.CompleteMs, nil
}

// CheckpointsAfter implements audit.CheckpointRows.
func (k *Keeper) CheckpointsAfter(ctx context.Context, number int64, limit int) ([]audit.Checkpoint, error) {
	return read.List(ctx, k.db, checkpointTargets, checkpointsAfter, number, limit)
}

func checkpointTargets(c *audit.Checkpoint) []any {
	return []any{&c.Number, &c.CompleteMs, &c.Signed}
}

// HeadsOf implements audit.CheckpointRows.
func (k *Keeper) HeadsOf(ctx context.Context, sessionIDs []string) ([]audit.Head, error) {
	return k.heads(ctx, k.statements.HeadsByID, k.db.List(sessionIDs))
}

// HeadsSince implements audit.CheckpointRows. It reads every session after one, in parts that
// each have a deadline and allow other queries in between.
func (k *Keeper) HeadsSince(ctx context.Context, sinceMs int64, after string, limit int) ([]audit.Head, error) {
	var found []audit.Head
	for over := false; !over && len(found) < limit; {
		end, lastOfAll, err := k.sessionAfter(ctx, after)
		if err != nil {
			return nil, err
		}
		if over = end == ""; over {
			end = lastOfAll
		}
		part, err := k.heads(ctx, headsSince, after, sinceMs, limit-len(found), end)
		if err != nil {
			return nil, err
		}
		found, after = append(found, part...), end
	}
	return found, nil
}

// sessionAfter returns the last of the next headRows sessions after one, "" if there are fewer,
// and the last of all. Without an end the database might sort all of them.
func (k *Keeper) sessionAfter(ctx context.Context, after string) (end, last string, err error) {
	targets := func(ids *[2]string) []any { return []any{&ids[0], &ids[1]} }
	ids, err := read.Find(ctx, k.db, targets, sessionAfter, after, headRows-1)
	if ids == nil {
		return "", "", err
	}
	return ids[0], ids[1], nil
}

func (k *Keeper) heads(ctx context.Context, sql string, args ...any) ([]audit.Head, error) {
	targets := func(h *audit.Head) []any { return []any{&h.SessionID, &h.EventID, &h.Hash, &h.Life} }
	return read.List(ctx, k.db, targets, sql, args...)
}
