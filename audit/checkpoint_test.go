package audit_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// desk is where checkpoints of a ledger are kept.
type desk struct {
	ledger

	mu     sync.Mutex
	nowMs  int64
	kept   []audit.Checkpoint
	err    error
	reads  int
	before func() // runs once before a checkpoint is added

	entries []journal.Entry // the audit log
}

func (d *desk) AddEntry(_ context.Context, entry *journal.Entry) error {
	entry.ArrivalID = int64(len(d.entries) + 1)
	d.entries = append(d.entries, *entry)
	return nil
}

func (d *desk) PendingEntries(_ context.Context, limit int) (pending []journal.Entry, _ error) {
	for _, entry := range d.entries {
		if entry.EntryID == 0 && len(pending) < limit {
			pending = append(pending, entry)
		}
	}
	return pending, nil
}

func (d *desk) LastEntry(context.Context) (last journal.Entry, _ error) {
	for _, entry := range d.entries {
		if entry.EntryID != 0 {
			last = entry
		}
	}
	return last, nil
}

func (d *desk) SealEntries(_ context.Context, entries []journal.Entry) error {
	for _, entry := range entries {
		d.entries[entry.ArrivalID-1] = entry
	}
	return nil
}

func (d *desk) EntriesAfter(_ context.Context, id int64, limit int) ([]journal.Entry, error) {
	rest := d.entries[id:]
	return rest[:min(len(rest), limit)], nil
}

// note writes lines of the audit log.
func (d *desk) note(t *testing.T, count int) {
	t.Helper()
	for range count {
		entry := journal.New(int64(1000+len(d.entries)), "user:ada", api.AuditEvent{Type: api.AuditTokenRevoked, TokenID: "token"})
		require.NoError(t, d.AddEntry(t.Context(), entry))
	}
}

// fail has everything fail from now on, or nothing; count returns how many checkpoints there are.
func (d *desk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
}

func (d *desk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.kept)
}

func (d *desk) NowMs(context.Context) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nowMs, d.err
}

func (d *desk) AddCheckpoint(_ context.Context, c audit.Checkpoint) (bool, error) {
	if before := d.before; before != nil {
		d.before = nil
		before()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil || c.Number <= int64(len(d.kept)) {
		return false, d.err
	}
	d.kept = append(d.kept, c)
	return true, nil
}

func (d *desk) LastCheckpoint(context.Context) (last audit.Checkpoint, completeMs int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.kept {
		last, completeMs = c, cmp.Or(c.CompleteMs, completeMs)
	}
	return last, completeMs, d.err
}

func (d *desk) CheckpointsAfter(_ context.Context, number int64, limit int) ([]audit.Checkpoint, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rest := d.kept[min(int(number), len(d.kept)):]
	return rest[:min(len(rest), limit)], d.err
}

func (d *desk) head(id string) audit.Head {
	last := d.ledger[id][len(d.ledger[id])-1]
	return audit.Head{SessionID: id, EventID: last.EventID, Hash: last.Hash(), Life: d.ledger[id][0].Hash()}
}

func (d *desk) HeadsOf(_ context.Context, ids []string) (heads []audit.Head, _ error) {
	for _, id := range ids {
		heads = append(heads, d.head(id))
	}
	return heads, d.err
}

func (d *desk) HeadsSince(ctx context.Context, sinceMs int64, after string, limit int) (heads []audit.Head, _ error) {
	d.mu.Lock()
	d.reads++
	failed := d.err
	d.mu.Unlock()
	rows, err := d.Sessions(ctx, reads.SessionQuery{After: after, Limit: limit})
	for _, row := range rows {
		if row.Session.UpdatedAtMs >= sinceMs {
			heads = append(heads, d.head(row.Session.SessionID))
		}
	}
	return heads, errors.Join(err, failed)
}

func (d *desk) sources() audit.Sources { return audit.Sources{Log: d, Checkpoints: d} }

// logged are the sources with the audit log.
func (d *desk) logged() audit.Sources { return audit.Sources{Log: d, Entries: d, Checkpoints: d} }

// moved is the notice of events in a session.
func (d *desk) moved(id string, events int) reads.Notice {
	return reads.Notice{SessionID: id, Events: make([]*model.Event, events)}
}

func newDesk(t *testing.T) (*desk, *audit.Checkpointer, *signing.Keys, *signing.Public) {
	t.Helper()
	keys, public := newKeys(t)
	d := &desk{ledger: newLedger(t), nowMs: 2000}
	return d, audit.NewCheckpointer(d, keys, slog.New(slog.DiscardHandler)), keys, public
}

func TestCheckpointsShowWhatWasWrittenAnew(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	for range 3 {
		for range 4 {
			d.add(t, "b", `{"type":"progress","text":"more"}`)
		}
		c.Notice(d.moved("b", 1000))
		require.NoError(t, c.Look(t.Context()))
	}
	require.Len(t, d.kept, 4)
	whole := exported(t, d.sources(), keys, audit.Scope{})
	report, err := verify(whole, public)
	require.NoError(t, err)
	require.EqualValues(t, 4, report.Checkpoints)
	require.EqualValues(t, 6, report.Signed)
	require.Zero(t, report.Absent)
	// Lines 1 to 11: header and chain a; 12 to 33: chain b; 34 to 43: chain c; 44 to 47: checkpoints.
	require.Contains(t, whole[43], `"checkpoint"`)

	report, err = verify(exported(t, d.sources(), keys, audit.Scope{SessionID: "a"}), public)
	require.NoError(t, err)
	require.EqualValues(t, 1, report.Checkpoints, "those that name the session")
	require.EqualValues(t, 1, report.Signed)
	d.nowMs = 3000
	d.add(t, "b", `{"type":"progress"}`)
	c.Notice(d.moved("b", 1000))
	require.NoError(t, c.Look(t.Context()))
	report, err = verify(exported(t, d.sources(), keys, audit.Scope{SinceMs: 3000}), public)
	require.NoError(t, err)
	require.EqualValues(t, 1, report.Checkpoints)
	require.EqualValues(t, 1, report.Absent, "nothing of b is so new by the ledger's own clock")
	d.kept, d.ledger["b"] = d.kept[:4], d.ledger["b"][:20]

	other, _ := newKeys(t)
	forger := &desk{ledger: d.ledger, nowMs: 2000}
	require.NoError(t, audit.NewCheckpointer(forger, other, slog.New(slog.DiscardHandler)).Look(t.Context()))
	forged := `{"checkpoint":"` + forger.kept[0].Signed + "\"}\n"
	for name, bad := range map[string]struct {
		change func(lines []string) []string
		line   int64
		says   string
	}{
		"forged":  {func(l []string) []string { l[43] = forged; return l }, 44, "is not among the known ones"},
		"changed": {func(l []string) []string { l[44] = strings.Replace(l[44], `"ey`, `"ez`, 1); return l }, 45, "the signature does not hold"},
		"dropped": {func(l []string) []string { return slices.Delete(l, 44, 45) }, 45, "checkpoint 2 is missing"},
		"first":   {func(l []string) []string { return slices.Delete(l, 43, 44) }, 44, "checkpoint 1 is missing"},
		"last":    {func(l []string) []string { return slices.Delete(l, 46, 47) }, 47, "4 checkpoints were exported"},
		"doubled": {func(l []string) []string { return slices.Insert(l, 45, l[44]) }, 46, "checkpoint 2 appears twice"},
		"swapped": {func(l []string) []string { l[44], l[45] = l[45], l[44]; return l }, 45, "checkpoint 2 is missing"},
	} {
		_, err := verify(bad.change(slices.Clone(whole)), public)
		var broken *audit.BrokenError
		require.ErrorAs(t, err, &broken, name)
		require.Equal(t, bad.line, broken.Line, broken.Detail)
		require.Contains(t, broken.Detail, bad.says)
	}

	// Someone with write access to the database recomputes all hashes, and the service signs the
	// export.
	rewritten := &desk{ledger: newLedger(t), kept: d.kept}
	rewritten.ledger["b"] = nil
	for i := range 20 {
		rewritten.add(t, "b", fmt.Sprintf(`{"type":"progress","n":%d}`, i))
	}
	_, err = verify(exported(t, rewritten.sources(), keys, audit.Scope{}), public)
	var broken *audit.BrokenError
	require.ErrorAs(t, err, &broken)
	require.EqualValues(t, 12, broken.Line, "where b begins: %s", broken.Detail)
	require.Contains(t, broken.Detail, "checkpoint 4 names event 20 of session b with another first event")

	// The events from the second one on are recomputed.
	rewritten.ledger["b"] = newLedger(t)["b"][:1]
	for i := range 19 {
		rewritten.add(t, "b", fmt.Sprintf(`{"type":"progress","n":%d}`, i))
	}
	_, err = verify(exported(t, rewritten.sources(), keys, audit.Scope{}), public)
	require.ErrorAs(t, err, &broken)
	require.EqualValues(t, 20, broken.Line, "the first event of b that is signed is the eighth: %s", broken.Detail)
	require.Contains(t, broken.Detail, "event 8 of session b is not the one that checkpoint 1 names")

	// Its newest events are gone.
	cut := &desk{ledger: newLedger(t), kept: d.kept}
	_, err = verify(exported(t, cut.sources(), keys, audit.Scope{}), public)
	require.ErrorAs(t, err, &broken)
	require.EqualValues(t, 21, broken.Line)
	require.Contains(t, broken.Detail, "event 20 of session b, which checkpoint 4 names, is missing before it: the log was cut off")

	// All of a session is gone, as after its time.
	delete(cut.ledger, "b")
	report, err = verify(exported(t, cut.sources(), keys, audit.Scope{}), public)
	require.NoError(t, err)
	require.EqualValues(t, 4, report.Absent)
}

func TestWhenCheckpointsAreDue(t *testing.T) {
	t.Parallel()
	d, c, keys, _ := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 1, "at its start a process signs what others have left")
	require.EqualValues(t, 2000, d.kept[0].CompleteMs)
	c.Notice(d.moved("a", 999))
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 1)
	c.Notice(reads.Notice{SessionID: "b"})
	c.Notice(d.moved("a", 1))
	d.err = runs.ErrUnavailable
	require.ErrorIs(t, c.Look(t.Context()), runs.ErrUnavailable)
	d.err = nil
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 2, "what failed is done again")
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 2)
	require.Equal(t, 1, d.reads, "sessions are not searched while it is known which moved")

	// After ten minutes all changed sessions are signed, including another replica's.
	d.nowMs += 600_000
	d.add(t, "c", `{"type":"progress"}`)
	d.ledger["c"][8].TimestampMs = d.nowMs
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 3)
	// Another replica starts at once, and does not sign again before the interval is over.
	another := audit.NewCheckpointer(d, keys, slog.New(slog.DiscardHandler))
	require.NoError(t, another.Look(t.Context()))
	require.Len(t, d.kept, 4)
	d.nowMs += 599_000
	require.NoError(t, c.Look(t.Context()))
	require.NoError(t, another.Look(t.Context()))
	require.Len(t, d.kept, 4)

	// Two replicas at once: each number is used once, and the slower replica signs the next.
	c.Notice(d.moved("a", 1000))
	another.Notice(d.moved("b", 1000))
	d.before = func() { require.NoError(t, another.Look(t.Context())) }
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 6)

	// Many changed sessions are signed in parts.
	for i := range 2500 {
		d.add(t, fmt.Sprintf("many-%04d", i), `{"type":"progress"}`)
		c.Notice(d.moved(fmt.Sprintf("many-%04d", i), 1))
	}
	require.NoError(t, c.Look(t.Context()))
	require.Len(t, d.kept, 9)
	fresh := &desk{ledger: d.ledger, nowMs: 1}
	require.NoError(t, audit.NewCheckpointer(fresh, keys, slog.New(slog.DiscardHandler)).Look(t.Context()))
	require.Len(t, fresh.kept, 3)
	require.Equal(t, []int64{0, 0, 1}, []int64{fresh.kept[0].CompleteMs, fresh.kept[1].CompleteMs, fresh.kept[2].CompleteMs})
	for _, checkpoint := range fresh.kept {
		require.Less(t, len(checkpoint.Signed), 400_000)
	}
}

// TestCheckpointsAreSignedByThemselves: the loop signs, continues after a failure, and ends.
func TestCheckpointsAreSignedByThemselves(t *testing.T) {
	t.Parallel()
	d, c, _, _ := newDesk(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		d.fail(runs.ErrUnavailable)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Zero(t, d.count())
		d.fail(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, d.count())
		cancel()
		require.NoError(t, <-done)
	})
}
