package audit_test

import (
	"fmt"
	"testing"

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
