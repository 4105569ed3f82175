package doctor

import (
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/model"
)

// auditEntry is a line of the audit's own log with the sealed line before it, zero for the
// first.
type auditEntry struct {
	*journal.Entry
	before journal.Entry
}

// entryInvariants are checked for each line of the audit's own log.
var entryInvariants = table[*auditEntry]{{
	fatal(AuditEntryMissing, "Lines are missing in the audit's own log.", func(_ *examiner, a *auditEntry) string {
		return when(a.EntryID > a.before.EntryID+1, "lines %d to %d are missing before this one", a.before.EntryID+1, a.EntryID-1)
	}),
	invariant(AuditChainBroken, "A line of the audit's own log does not fit its digest, its hash, or the hash of the line before it.", func(_ *examiner, a *auditEntry) string {
		return a.breaksChain()
	}),
}}

func (a *auditEntry) breaksChain() string {
	if digest, err := a.DigestOfBody(); err != nil || digest != a.BodyDigest {
		return "the body is not that of body_digest"
	}
	switch {
	case a.EntryID == 0: // not sealed yet
		return ""
	case a.Hash != a.HashOf():
		return "the line is not that of its hash"
	}
	return when(a.Prev != a.before.Hash, "prev is not the hash of line %d", a.before.EntryID)
}

// readEntries checks the audit's own log.
func (e *examiner) readEntries(rows *model.SessionRows) error {
	var before journal.Entry
	return each(rows.Entries, &e.summary.Rows.AuditEntries, func(entry *journal.Entry) {
		entryInvariants.examine(e, &auditEntry{entry, before}, Finding{EventID: entry.EntryID})
		if entry.EntryID != 0 {
			before = *entry
		}
	})
}
