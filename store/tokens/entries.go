package tokens

import (
	"context"
	"iter"
	"slices"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/store/read"
)

const (
	// readEntries reads the columns of [EntryTargets].
	readEntries = `SELECT arrival_id, coalesce(entry_id, 0), timestamp_ms, type, actor, body, body_digest, coalesce(prev, ''), coalesce(hash, '') FROM audit_entries`

	// WalkEntries reads all of them in order, the unsealed ones last.
	WalkEntries = readEntries + ` ORDER BY entry_id NULLS LAST, arrival_id`

	pendingEntries = readEntries + ` WHERE entry_id IS NULL ORDER BY arrival_id LIMIT CAST($1 AS bigint)`
	lastEntry      = readEntries + ` WHERE entry_id IS NOT NULL ORDER BY entry_id DESC LIMIT 1`
	entriesAfter   = readEntries + ` WHERE entry_id > $1 ORDER BY entry_id LIMIT CAST($2 AS bigint)`
)

var _ journal.Rows = (*Keeper)(nil)

// EntryArgs returns the arguments of the statement that adds a line.
func EntryArgs(e *journal.Entry) []any {
	return []any{e.TimestampMs, string(e.Type), e.Actor, string(e.Body), e.BodyDigest}
}

// Guarded returns the writes and, before all but the locks, the statements that hold the callers of their
// entries. Each transaction locks its caller's token before other rows, so that no two wait for each other.
func Guarded(writes []Write) []Write {
	var holds []Write
	for i := range writes {
		for hold, args := range HoldCaller(writes[i].Entry) {
			holds = append(holds, Write{SQL: hold, Args: args, Needed: true})
		}
	}
	changes := slices.IndexFunc(writes, func(w Write) bool { return !w.Lock })
	if len(holds) == 0 || changes < 0 {
		return writes
	}
	return slices.Insert(slices.Clone(writes), changes, holds...)
}

// HoldCaller returns the statements that keep the credential of the line's caller from being revoked
// before the transaction ends, with their arguments; none for a line without one. If one changes no row, the
// credential does not work, and the transaction has to be refused with [auth.Invalid]. The sign-in is a
// statement of its own: one that waits for the token may not see that a rotation deleted the sign-in.
func HoldCaller(e *journal.Entry) iter.Seq2[string, []any] {
	return func(yield func(string, []any) bool) {
		if e == nil || e.Caller == nil {
			return
		}
		c := e.Caller
		if yield(sqlHoldCaller, []any{c.TokenID, c.SecretHash, e.TimestampMs}) && c.CookieHash != "" {
			yield(sqlHoldSignIn, []any{c.CookieHash, c.TokenID, e.TimestampMs})
		}
	}
}

// EntryTargets returns where a line is scanned to.
func EntryTargets(e *journal.Entry) []any {
	return []any{&e.ArrivalID, &e.EntryID, &e.TimestampMs, (*string)(&e.Type), &e.Actor, (*[]byte)(&e.Body), &e.BodyDigest, &e.Prev, &e.Hash}
}

// AddEntry implements journal.Rows.
func (k *Keeper) AddEntry(ctx context.Context, entry *journal.Entry) error {
	_, err := k.write(ctx, Write{SQL: AddEntry, Args: EntryArgs(entry)})
	return err
}

// PendingEntries implements journal.Rows.
func (k *Keeper) PendingEntries(ctx context.Context, limit int) ([]journal.Entry, error) {
	return read.List(ctx, k.db, EntryTargets, pendingEntries, limit)
}

// LastEntry implements journal.Rows.
func (k *Keeper) LastEntry(ctx context.Context) (journal.Entry, error) {
	found, err := read.Find(ctx, k.db, EntryTargets, lastEntry)
	if found == nil {
		return journal.Entry{}, err
	}
	return *found, nil
}

// EntriesAfter implements journal.Rows.
func (k *Keeper) EntriesAfter(ctx context.Context, entryID int64, limit int) ([]journal.Entry, error) {
	return read.List(ctx, k.db, EntryTargets, entriesAfter, entryID, limit)
}

// SealEntries implements journal.Rows.
func (k *Keeper) SealEntries(ctx context.Context, entries []journal.Entry) error {
	writes := make([]Write, 0, len(entries)+1)
	if k.statements.LockSeal != "" {
		writes = append(writes, Write{SQL: k.statements.LockSeal, Lock: true})
	}
	for i := range entries {
		e := &entries[i]
		writes = append(writes, Write{SQL: sqlSealEntry, Args: []any{e.ArrivalID, e.EntryID, e.Prev, e.Hash}})
	}
	_, err := k.write(ctx, writes...)
	return err
}
