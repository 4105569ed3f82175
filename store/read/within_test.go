package read

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/columns"
)

// changing is a database with one list, which meanwhile changes after the first query.
type changing struct {
	frozen
	rows      []string
	meanwhile func(rows []string) []string
	asked     int
}

func (c *changing) Ask(_ context.Context, queries ...Query) error { return c.ask(c.rows, queries) }

func (c *changing) Snapshot(_ context.Context, do func(func(...Query) error) error) error {
	seen := slices.Clone(c.rows)
	return do(func(queries ...Query) error { return c.ask(seen, queries) })
}

func (c *changing) ask(rows []string, queries []Query) error {
	for _, q := range queries {
		limit, _ := q.Args[0].(int)
		found := listedRows(rows[:min(limit, len(rows))])
		if err := q.Read(&found); err != nil {
			return err
		}
	}
	if c.asked++; c.asked == 1 {
		c.rows = c.meanwhile(slices.Clone(c.rows))
	}
	return nil
}

// listedRows are texts, or their sizes.
type listedRows []string

func (r *listedRows) Next() bool { return len(*r) > 0 }
func (r *listedRows) Err() error { return nil }

func (r *listedRows) Scan(targets ...any) error {
	switch target := targets[0].(type) {
	case *string:
		*target = (*r)[0]
	case *int64:
		*target = int64(len((*r)[0]))
	}
	*r = (*r)[1:]
	return nil
}

// The rows of a page are those that were measured. Otherwise a new row in front takes the place of
// the last one of a page that says that nothing follows, and a page that was cut has no row from
// which its cursor could be made.
func TestAPageHasTheRowsThatWereMeasured(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		maxBytes  int
		meanwhile func([]string) []string
		found     []string
		cut       bool
	}{
		{"a row that sorts first", 100, func(rows []string) []string { return append([]string{"a"}, rows...) }, []string{"b", "c", "d"}, false},
		{"no row left", 100, func([]string) []string { return nil }, []string{"b", "c", "d"}, false},
		{"a row that sorts first, of a page that is cut", 2, func(rows []string) []string { return append([]string{"a"}, rows...) }, []string{"b", "c"}, true},
		{"no row left, of a page that is cut", 2, func([]string) []string { return nil }, []string{"b", "c"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := &changing{rows: []string{"b", "c", "d"}, meanwhile: test.meanwhile}
			budget := &reads.Budget{MaxBytes: test.maxBytes}
			found, err := listWithin(t.Context(), db, budget, 10, columns.Itself[string], "sizes", "rows",
				func(statement string, limit int) (string, []any) { return statement, []any{limit} })
			require.NoError(t, err)
			require.Equal(t, test.found, found)
			require.Equal(t, test.cut, budget.Cut)
		})
	}
}
