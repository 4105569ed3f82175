package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs"
)

// The end of a session with many rules writes the lines of the audit's own log with one statement.
func TestManyLinesAreOneStatement(t *testing.T) {
	t.Parallel()
	entries := make([]*journal.Entry, 2000)
	for i := range entries {
		entries[i] = journal.New(1, "user:ada", api.AuditEvent{Type: api.AuditRuleRevoked})
	}
	var batch pgx.Batch
	queueWrites(&batch, &runs.Writes{Rows: runs.Rows{Entries: entries}}, nil)
	require.Equal(t, 1, batch.Len())
}
