package doctor_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/doctor"
)

// TestTheAuditsOwnLog: every change to a line is found, and only there.
func TestTheAuditsOwnLog(t *testing.T) {
	t.Parallel()
	var log []journal.Entry
	prev := ""
	for id := range int64(6) {
		entry := journal.New(id, "user:ada", api.AuditEvent{Type: api.AuditTokenRevoked, TokenID: "t"})
		if id < 5 {
			entry.EntryID, entry.Prev = id+1, prev
			entry.Hash = entry.HashOf()
		}
		prev = entry.Hash
		log = append(log, *entry)
	}
	for name, bad := range map[string]struct {
		change func(log []journal.Entry) []journal.Entry
		code   doctor.Code
		at     int64
	}{
		"whole":    {func(l []journal.Entry) []journal.Entry { return l }, "", 0},
		"body":     {func(l []journal.Entry) []journal.Entry { l[2].Body = api.JSON(`{"type":"token_revoked"}`); return l }, doctor.AuditChainBroken, 3},
		"actor":    {func(l []journal.Entry) []journal.Entry { l[2].Actor = "user:eve"; return l }, doctor.AuditChainBroken, 3},
		"time":     {func(l []journal.Entry) []journal.Entry { l[2].TimestampMs++; return l }, doctor.AuditChainBroken, 3},
		"rehashed": {func(l []journal.Entry) []journal.Entry { l[2].TimestampMs++; l[2].Hash = l[2].HashOf(); return l }, doctor.AuditChainBroken, 4},
		"dropped":  {func(l []journal.Entry) []journal.Entry { return slices.Delete(l, 2, 3) }, doctor.AuditEntryMissing, 4},
		"unsealed": {func(l []journal.Entry) []journal.Entry { l[5].Body = api.JSON("no"); return l }, doctor.AuditChainBroken, 0},
	} {
		found, summary := examine(t, streamWalker{Entries: each(bad.change(slices.Clone(log)))})
		if bad.code == "" {
			require.Empty(t, found, name)
			require.EqualValues(t, len(log), summary.Rows.AuditEntries)
			continue
		}
		require.NotEmpty(t, found, name)
		require.Equal(t, bad.code, found[0].Code, name)
		require.Equal(t, bad.at, found[0].EventID, name)
	}
}
