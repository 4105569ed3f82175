package retain

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/columns"
)

// someRows are rows of one column.
type someRows []any

func (r *someRows) Next() bool { return len(*r) > 0 }
func (r *someRows) Err() error { return nil }
func (r *someRows) Scan(targets ...any) error {
	switch target := targets[0].(type) {
	case *int64:
		*target = (*r)[0].(int64)
	case *string:
		*target = (*r)[0].(string)
	}
	*r = (*r)[1:]
	return nil
}

// someTransaction answers each query with its rows, and each statement with its count.
type someTransaction struct {
	rows   map[string][]any
	counts map[string]int64
}

func (t *someTransaction) Ask(_ context.Context, sql string, read func(columns.Rows) error, _ ...any) error {
	rows := someRows(t.rows[sql])
	return read(&rows)
}

func (t *someTransaction) Write(_ context.Context, sql string, _ ...any) (int64, error) {
	return t.counts[sql], nil
}

func (*someTransaction) List(texts []string) any { return texts }

// On Postgres a child may be committed after the session was found to be empty.
func TestASessionThatGetsAChildMeanwhileKeepsItsKeys(t *testing.T) {
	t.Parallel()
	statements := &Statements{TrimLock: "lock", TrimEnd: "end", TrimEmpty: "empty", TrimSession: "session"}
	for keys, committed := range map[int64]bool{0: true, 3: false} {
		tx := &someTransaction{
			rows:   map[string][]any{"lock": {int64(8)}, "end": {int64(8)}, "empty": {int64(1)}},
			counts: map[string]int64{sqlTrimRecords: keys},
		}
		var done error
		alone := func(ctx context.Context, _ string, do func(context.Context, Transaction) error) error {
			done = do(ctx, tx)
			return done
		}
		retention := New(alone, func(context.Context) (int64, error) { return 1, nil }, statements, nil)
		trimmed, err := retention.TrimSession(t.Context(), "s", 1, 100)
		require.NoError(t, err, "the next pass tries again")
		require.Equal(t, upkeep.Trimmed{}, trimmed)
		require.Equal(t, committed, done == nil, "%d keys: %v", keys, done)
	}
}
