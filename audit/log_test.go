package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/audit"
)

// A round that many events start signs the audit log too.
func TestManyEventsSignTheLogOfTheAudit(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	d.note(t, 2)
	signed := func() int64 {
		c.Notice(d.moved("a", 1000))
		require.NoError(t, c.Look(t.Context()))
		report, err := verify(exported(t, d.logged(), keys, audit.Scope{}), public)
		require.NoError(t, err)
		return report.Signed
	}
	require.EqualValues(t, 4, signed(), "an event of each session, and a line of the log")
	d.note(t, 1)
	require.EqualValues(t, 5, signed())
	require.Len(t, d.kept, 3)
}

// TestTheLogOfTheAuditIsExported: the audit log is in the export and in checkpoints, and a change of it is found.
func TestTheLogOfTheAuditIsExported(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	d.note(t, 3)
	require.NoError(t, c.Look(t.Context()))
	d.note(t, 3)
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 1, "what was signed lately is signed again when its time has come")
	d.nowMs += 600_000
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 2)
	d.nowMs += 600_000
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 2, "nothing moved")
	d.note(t, 1)

	whole := exported(t, d.logged(), keys, audit.Scope{})
	report, err := verify(whole, public)
	require.NoError(t, err)
	require.EqualValues(t, 7, report.Entries)
	require.EqualValues(t, 3, report.Chains)
	require.EqualValues(t, 5, report.Signed, "three events and two lines of the log")
	require.Zero(t, report.Absent)
	since := exported(t, d.logged(), keys, audit.Scope{SinceMs: 1004})
	report, err = verify(since, public)
	require.NoError(t, err)
	require.EqualValues(t, 3, report.Entries)
	for scope, entries := range map[audit.Scope]int64{{SinceMs: 100_000}: 0, {SessionID: "a"}: 0} {
		report, err = verify(exported(t, d.logged(), keys, scope), public)
		require.NoError(t, err)
		require.Equal(t, entries, report.Entries)
	}

	// Line 1 is the header, 2 begins the log, 3 to 9 are its lines, 10 ends it.
	for name, bad := range map[string]struct {
		change func(lines []string) []string
		line   int64
		says   string
	}{
		"body": {func(l []string) []string { l[3] = strings.Replace(l[3], `"token"`, `"other"`, 1); return l }, 4, "the body of event 2"},
		"redacted": {func(l []string) []string {
			l[3] = strings.Replace(l[3], `"token_id":"token"`, `"redacted":true,"body_digest":"`+d.entries[1].BodyDigest+`"`, 1)
			return l
		}, 4, "the body of event 2"},
		"actor":   {func(l []string) []string { l[3] = strings.Replace(l[3], "user:ada", "user:eve", 1); return l }, 4, "event 2 does not match its hash"},
		"dropped": {func(l []string) []string { return slices.Delete(l, 3, 4) }, 4, "event 2 of the audit log is missing"},
		"doubled": {func(l []string) []string { return slices.Insert(l, 3, l[3]) }, 5, "appears twice"},
		"swapped": {func(l []string) []string { l[3], l[4] = l[4], l[3]; return l }, 4, "were reordered"},
		"cut":     {func(l []string) []string { return slices.Delete(l, 8, 9) }, 9, "of the audit log is missing before it"},
		"all":     {func(l []string) []string { return slices.Delete(l, 1, 10) }, int64(len(whole)) - 9, "7 entries of the audit log"},
		"moved": {func(l []string) []string {
			return append(append(slices.Clone(l[:1]), l[10:20]...), append(slices.Clone(l[1:10]), l[20:]...)...)
		}, 12, "the audit log appears twice"},
	} {
		_, err := verify(bad.change(slices.Clone(whole)), public)
		var broken *audit.BrokenError
		require.ErrorAs(t, err, &broken, name)
		require.Equal(t, bad.line, broken.Line, "%s: %s", name, broken.Detail)
		require.Contains(t, broken.Detail, bad.says, name)
	}

	// Someone with write access to the database deletes or rewrites entries, and the service signs
	// the export.
	for name, bad := range map[string]struct {
		lines int
		says  string
	}{"cut off": {4, "event 6 of the audit log, which checkpoint 2 names, is missing"}, "emptied": {0, "event 6 of the audit log, which checkpoint 2 names, is missing"}} {
		forger := &desk{ledger: d.ledger, kept: d.kept, entries: d.entries[:bad.lines]}
		_, err := verify(exported(t, forger.logged(), keys, audit.Scope{}), public)
		var broken *audit.BrokenError
		require.ErrorAs(t, err, &broken, name)
		require.Contains(t, broken.Detail, bad.says)
	}
	anew := &desk{ledger: d.ledger, kept: d.kept}
	anew.note(t, 7)
	anew.entries[0].Actor = "user:eve"
	_, err = verify(exported(t, anew.logged(), keys, audit.Scope{}), public)
	var broken *audit.BrokenError
	require.ErrorAs(t, err, &broken)
	require.Contains(t, broken.Detail, "event 3 of the audit log is not the one that checkpoint 1 names")
	without := anew.logged()
	without.Entries = nil
	_, err = verify(exported(t, without, keys, audit.Scope{}), public)
	require.ErrorAs(t, err, &broken)
	require.Contains(t, broken.Detail, "the audit log, of which checkpoint 2 names event 6, is missing")
}
