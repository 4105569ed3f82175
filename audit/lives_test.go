package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Reusing a session id after retention is not a forgery, whatever the events' numbers. Rewriting a
// log from its first event is.
func TestASessionThatIsUsedAgainIsNoForgery(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	for _, events := range []int{3, 8, 20} {
		life := d.ledger["b"][0].Hash()
		delete(d.ledger, "b")
		for i := range events {
			d.add(t, "b", fmt.Sprintf(`{"type":"progress","n":%d,"of":%d}`, i, events))
		}
		lines := exported(t, d.logged(), keys, audit.Scope{})
		_, err := verify(lines, public)
		var broken *audit.BrokenError
		require.ErrorAs(t, err, &broken, "nothing tells of a deletion")
		require.Contains(t, broken.Detail, "of session b with another first event")
		_, err = verify(exported(t, d.logged(), keys, audit.Scope{SessionID: "b"}), public)
		require.NoError(t, err, "an export of one session cannot tell")

		entry := journal.New(d.nowMs, "", api.AuditEvent{Type: api.AuditSessionDeleted, SessionID: "b", Life: life})
		require.NoError(t, d.AddEntry(t.Context(), entry))
		_, err = verify(exported(t, d.logged(), keys, audit.Scope{}), public)
		require.NoError(t, err)
		c.Notice(reads.Notice{SessionID: "b", Events: make([]*model.Event, 1000)})
		require.NoError(t, c.Look(t.Context()))
		report, err := verify(exported(t, d.logged(), keys, audit.Scope{}), public)
		require.NoError(t, err)
		require.Positive(t, report.Absent)
		for _, scope := range []audit.Scope{{SinceMs: 1001}, {SessionID: "b"}} {
			_, err = verify(exported(t, d.logged(), keys, scope), public)
			require.NoError(t, err)
		}

		// Checkpoints of the current session with this id are still compared.
		kept := d.ledger["b"]
		d.ledger["b"] = kept[:1:1]
		for i := range events - 1 {
			d.add(t, "b", fmt.Sprintf(`{"type":"progress","forged":%d}`, i))
		}
		_, err = verify(exported(t, d.logged(), keys, audit.Scope{}), public)
		require.ErrorAs(t, err, &broken)
		require.Contains(t, broken.Detail, "of session b is not the one that checkpoint")
		d.ledger["b"] = kept
	}
}

// Events without hashes are from before there was a chain, unless a checkpoint names one of them.
func TestAChainCannotBeTakenAway(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	life := d.ledger["b"][0].Hash()
	for i := range d.ledger["b"] {
		event := &d.ledger["b"][i]
		event.Body, event.BodyDigest, event.Prev = api.JSON(`{"type":"progress","forged":true}`), "", ""
	}
	lines := exported(t, d.logged(), keys, audit.Scope{})
	_, err := verify(lines, public)
	var broken *audit.BrokenError
	require.ErrorAs(t, err, &broken)
	require.Contains(t, lines[broken.Line-1], `{"chain":{"session_id":"b"`)
	require.Contains(t, broken.Detail, "names event 8 of session b with another first event")

	entry := journal.New(d.nowMs, "", api.AuditEvent{Type: api.AuditSessionDeleted, SessionID: "b", Life: life})
	require.NoError(t, d.AddEntry(t.Context(), entry))
	report, err := verify(exported(t, d.logged(), keys, audit.Scope{}), public)
	require.NoError(t, err, "an older version wrote another session with this id")
	require.EqualValues(t, 8, report.Unchained)
	require.EqualValues(t, 1, report.Absent)
}

// rewrite replaces the events of session b. The first one is dated at a time.
func (d *desk) rewrite(t *testing.T, firstMs int64) {
	t.Helper()
	delete(d.ledger, "b")
	for i := range 3 {
		d.add(t, "b", fmt.Sprintf(`{"type":"progress","forged":%d}`, i))
		d.ledger["b"][i].TimestampMs = firstMs + int64(i)
	}
}

// A session that begins while an export is written may follow a deletion that the export does not contain.
// One that is dated later than the export cannot.
func TestADateAfterTheExportHidesNothing(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	export := func(endMs int64) []string {
		var file bytes.Buffer
		require.NoError(t, audit.Export(t.Context(), &file, d.logged(), keys, audit.Scope{}, at(5000, endMs)))
		lines := strings.SplitAfter(file.String(), "\n")
		return lines[:len(lines)-1]
	}
	d.rewrite(t, 6000)
	report, err := verify(export(6000), public)
	require.NoError(t, err, "it began before the export ended")
	require.EqualValues(t, 1, report.Young)
	require.EqualValues(t, 6000, report.EndMs)

	lines := export(5999)
	_, err = verify(lines, public)
	var broken *audit.BrokenError
	require.ErrorAs(t, err, &broken)
	require.Contains(t, lines[broken.Line-1], `{"chain":{"session_id":"b"`)
	require.Contains(t, broken.Detail, "of session b with another first event")

	// The last line says when the export ended.
	var last struct {
		Trailer string `json:"trailer"`
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	payload, err := public.Verify("holdpoint-audit-trailer+jws", last.Trailer)
	require.NoError(t, err)
	without := strings.Replace(string(payload), `"end_ms":5999,`, "", 1)
	require.NotEqual(t, string(payload), without)
	signed, err := keys.Sign("holdpoint-audit-trailer+jws", []byte(without))
	require.NoError(t, err)
	lines[len(lines)-1] = `{"trailer":"` + signed + "\"}\n"
	_, err = verify(lines, public)
	require.ErrorAs(t, err, &broken)
	require.Equal(t, "it is of another version of this program", broken.Detail)
}

// keptRows is a desk whose sessions' rows say how they began.
type keptRows struct {
	*desk
	lives map[string]string
}

func (k keptRows) SessionHead(_ context.Context, sessionID string) (*model.Session, error) {
	return &model.Session{SessionID: sessionID, Life: k.lives[sessionID]}, nil
}

func (k keptRows) Sessions(ctx context.Context, q reads.SessionQuery) ([]model.SessionSummary, error) {
	page, err := k.desk.Sessions(ctx, q)
	for i := range page {
		page[i].Session.Life = k.lives[page[i].Session.SessionID]
	}
	return page, err
}

// An export of one session has no line about deletions, but hashes are never lost.
func TestAChainCannotBeTakenAwayFromOneSession(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	whole := d.ledger["b"]
	forge := func() {
		d.ledger["b"] = slices.Clone(whole)
		for i := range d.ledger["b"] {
			event := &d.ledger["b"][i]
			event.Body, event.BodyDigest, event.Prev = api.JSON(`{"type":"progress","forged":true}`), "", ""
		}
	}
	forge()
	scope := audit.Scope{SessionID: "b"}
	sources := func(rows map[string]string) audit.Sources {
		return audit.Sources{Log: keptRows{d, rows}, Entries: d, Checkpoints: d}
	}
	report, err := verify(exported(t, sources(nil), keys, scope), public)
	require.NoError(t, err, "nothing tells that the session had hashes")
	require.EqualValues(t, 8, report.Unchained)

	var broken *audit.BrokenError
	_, err = verify(exported(t, sources(map[string]string{"b": whole[0].Hash()}), keys, scope), public)
	require.ErrorAs(t, err, &broken)
	require.Contains(t, broken.Detail, "event 1 of session b is not the first one of the session that was exported")

	d.ledger["b"] = whole
	require.NoError(t, c.Look(t.Context()))
	forge()
	_, err = verify(exported(t, sources(nil), keys, scope), public)
	require.ErrorAs(t, err, &broken)
	require.Contains(t, broken.Detail, "its hashes were removed")
}

// Once an event of a session had a hash, each later one has one.
func TestAChainCannotBeTakenAwayFromLaterEvents(t *testing.T) {
	t.Parallel()
	d, _, keys, public := newDesk(t)
	whole := d.ledger["b"]
	life := whole[0].Hash()
	forge := func(from, to int) {
		d.ledger["b"] = slices.Clone(whole)
		for i := from - 1; i < to; i++ {
			event := &d.ledger["b"][i]
			event.Body, event.BodyDigest, event.Prev = api.JSON(`{"type":"progress","forged":true}`), "", ""
		}
	}
	for name, c := range map[string]struct {
		from, to int
		life     string
		sinceMs  int64
		says     string
	}{
		"all but the first":             {2, 8, life, 0, "event 2 of session b has no hash"},
		"without the life":              {2, 8, "", 0, "event 2 of session b has no hash"},
		"the newest":                    {8, 8, "", 0, "event 8 of session b has no hash"},
		"one":                           {4, 4, "", 0, "event 4 of session b has no hash"},
		"later than the export's first": {5, 8, life, 1004, "event 5 of session b has no hash"},
		"all, in a part":                {1, 8, life, 1004, "event 5 of session b has no hash"},
	} {
		forge(c.from, c.to)
		for _, sessionID := range []string{"", "b"} {
			sources := audit.Sources{Log: keptRows{d, map[string]string{"b": c.life}}, Entries: d, Checkpoints: d}
			_, err := verify(exported(t, sources, keys, audit.Scope{SessionID: sessionID, SinceMs: c.sinceMs}), public)
			var broken *audit.BrokenError
			require.ErrorAs(t, err, &broken, "%s %s", name, sessionID)
			require.Contains(t, broken.Detail, c.says, "%s %s", name, sessionID)
		}
	}
}
