package audit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// A session that was deleted with all of its events is told from one that retention has deleted.
func TestASessionThatWasTakenAwayIsNamed(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	missing := func(scope audit.Scope) []string {
		report, err := verify(exported(t, d.logged(), keys, scope), public)
		require.NoError(t, err)
		return report.Missing
	}
	require.Empty(t, missing(audit.Scope{}))
	lives := map[string]string{}
	for _, id := range []string{"a", "b"} {
		lives[id] = d.ledger[id][0].Hash()
		delete(d.ledger, id)
	}
	require.Equal(t, []string{"a", "b"}, missing(audit.Scope{}))
	d.add(t, "a", `{"type":"progress","text":"another session with the id"}`)
	c.Notice(d.moved("a", 1000))
	require.NoError(t, c.Look(t.Context()))
	delete(d.ledger, "a")
	require.Equal(t, []string{"a", "b"}, missing(audit.Scope{}), "each id once")
	require.Empty(t, missing(audit.Scope{SinceMs: 1001}), "what is older is not in the file")
	require.Empty(t, missing(audit.Scope{SessionID: "c"}))

	say := func(life string) {
		event := api.AuditEvent{Type: api.AuditSessionDeleted, SessionID: "b", Life: life}
		require.NoError(t, d.AddEntry(t.Context(), journal.New(d.nowMs, "", event)))
	}
	say(lives["a"])
	require.Equal(t, []string{"a", "b"}, missing(audit.Scope{}), "a line about another session with the id")
	say(lives["b"])
	require.Equal(t, []string{"a"}, missing(audit.Scope{}))
}

// emptied is a ledger with the row of a session whose events are gone, as after retention.
type emptied struct {
	ledger
	row model.Session
}

func (e emptied) Sessions(ctx context.Context, q reads.SessionQuery) ([]model.SessionSummary, error) {
	page, err := e.ledger.Sessions(ctx, q)
	for i := range page {
		if page[i].Session.SessionID == e.row.SessionID {
			page[i].Session = e.row
		}
	}
	return page, err
}

// The file says how many sessions begin after their first event: retention deletes from the beginning, and so may
// somebody else.
func TestSessionsWithoutTheirFirstEventsAreCounted(t *testing.T) {
	t.Parallel()
	d, c, keys, public := newDesk(t)
	require.NoError(t, c.Look(t.Context()))
	last := d.ledger["b"][7]
	row := model.Session{SessionID: "b", Life: d.ledger["b"][0].Hash(), LastEventID: 8, LastEventHash: last.Hash(), UpdatedAtMs: last.TimestampMs}
	for kept, trimmed := range map[int]int64{8: 0, 3: 1, 0: 1} {
		cut := newLedger(t)
		cut["b"] = cut["b"][8-kept:]
		sources := audit.Sources{Log: emptied{cut, row}, Entries: d, Checkpoints: d}
		report, err := verify(exported(t, sources, keys, audit.Scope{}), public)
		require.NoError(t, err)
		require.Equal(t, trimmed, report.Trimmed, kept)
		require.Empty(t, report.Missing, kept)
		require.EqualValues(t, 3, report.Chains, kept)
		require.EqualValues(t, 16+kept, report.Events)
		report, err = verify(exported(t, sources, keys, audit.Scope{SinceMs: 1004}), public)
		require.NoError(t, err)
		require.Zero(t, report.Trimmed, "an export of what is new")
	}
}
