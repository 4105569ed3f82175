//go:build faults

package crash

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// row is the result of one kind of call on one engine.
type row struct {
	engine, scenario string
	// known is how many points the call has, tried at how many of them the service was
	// killed or at least should have been.
	known, tried int
	killed       int
	acknowledged int
	// before and after count the kills after which the effect was in force: after the
	// restart, and after the repeated call.
	before, after int
	twice, wrong  int
}

// count adds the result of one kill.
func (r *row) count(seen observation) {
	r.tried++
	for _, one := range []struct {
		holds bool
		into  *int
	}{
		{seen.killed, &r.killed},
		{seen.acknowledged, &r.acknowledged},
		{seen.before > 0, &r.before},
		{seen.after > 0, &r.after},
		{seen.before > 1 || seen.after > 1, &r.twice},
	} {
		if one.holds {
			*one.into++
		}
	}
}

func (r *row) cells() []string {
	result := "holds"
	if r.wrong > 0 {
		result = fmt.Sprintf("BROKEN at %d", r.wrong)
	}
	cells := []string{r.engine, r.scenario}
	for _, number := range []int{r.known, r.tried, r.killed, r.acknowledged, r.before, r.after, r.twice} {
		cells = append(cells, fmt.Sprint(number))
	}
	return append(cells, result)
}

var headings = []string{
	"engine", "call", "points", "tries", "died at the point", "acknowledged before it died",
	"in force after the restart", "in force after the repeated call", "twice", "result",
}

// sorted returns the rows in the order of the engines and scenarios.
func (f *table) sorted() []row {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rows []row
	for _, at := range slices.SortedFunc(maps.Keys(f.rows), func(a, b position) int {
		return cmp.Or(cmp.Compare(a.engine, b.engine), cmp.Compare(a.scenario, b.scenario))
	}) {
		rows = append(rows, f.rows[at])
	}
	return rows
}

// summary says how much was tried, in one line.
func (f *table) summary() string {
	var total row
	rows := f.sorted()
	for _, r := range rows {
		total.known += r.known
		total.tried += r.tried
		total.killed += r.killed
		total.acknowledged += r.acknowledged
		total.before += r.before
		total.twice += r.twice
		total.wrong += r.wrong
	}
	return fmt.Sprintf("%d kinds of calls, %d points: %d tries, %d died at the point and the others after the reply, "+
		"%d were acknowledged, %d in force after the restart, %d twice, %d wrong",
		len(rows), total.known, total.tried, total.killed, total.acknowledged, total.before, total.twice, total.wrong)
}

// markdown returns the table.
func (f *table) markdown() string {
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	line(headings)
	rules := make([]string, len(headings))
	for i := range rules {
		rules[i] = "---"
		if i > 1 && i < len(rules)-1 {
			rules[i] = "---:"
		}
	}
	line(rules)
	for _, r := range f.sorted() {
		line(r.cells())
	}
	return text.String()
}

// The lines of a document between which the table stands.
const (
	tableBegin = "<!-- crash-matrix -->"
	tableEnd   = "<!-- /crash-matrix -->"
)

// writeInto writes the table between the markers of a document, and creates the document if it is
// missing. A relative path starts at the module's root.
func (f *table) writeInto(path string) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join("..", "..", path)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text, err = []byte(tableBegin+"\n"+tableEnd+"\n"), nil
	}
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no lines %q and %q", path, tableBegin, tableEnd)
	}
	return os.WriteFile(path, []byte(before+tableBegin+"\n"+f.markdown()+tableEnd+after), 0o644)
}

func TestTableIsWrittenBetweenItsMarkers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "table")
	var f table
	second := row{engine: "SQLite", scenario: "suspend", known: 2}
	second.count(observation{killed: true, before: 1, after: 1})
	second.count(observation{acknowledged: true, before: 1, after: 2})
	second.wrong++
	f.add(position{1, 0}, second)
	f.add(position{0, 3}, row{engine: "Postgres", scenario: "resolve"})

	require.NoError(t, os.WriteFile(path, []byte("# Page\n\n"+tableBegin+"\nthe table before\n"+tableEnd+"\n\nEnd\n"), 0o600))
	require.NoError(t, f.writeInto(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	require.Equal(t, []string{"# Page", "", tableBegin}, lines[:3])
	require.Equal(t, "| Postgres | resolve | 0 | 0 | 0 | 0 | 0 | 0 | 0 | holds |", lines[5])
	require.Equal(t, "| SQLite | suspend | 2 | 2 | 1 | 1 | 2 | 2 | 1 | BROKEN at 1 |", lines[6])
	require.Equal(t, []string{tableEnd, "", "End", ""}, lines[7:])
	require.NotContains(t, string(text), "the table before")

	require.NoError(t, os.WriteFile(path, []byte("no markers"), 0o600))
	require.Error(t, f.writeInto(path))
	require.NoError(t, os.Remove(path))
	require.NoError(t, f.writeInto(path))
}
