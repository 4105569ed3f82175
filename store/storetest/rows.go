package storetest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Row is one row by column. NULL, 0, "" and false are left out, so that engines may choose among
// them for "none".
type Row map[string]any

// Tables are all rows of all tables, by table, each in the order of its key.
type Tables map[string][]Row

// tableKeys names the tables and their sort columns.
var tableKeys = map[string][]string{
	"sessions":            {"session_id"},
	"runs":                {"run_id"},
	"requests":            {"session_id", "run_id", "request_id"},
	"events":              {"session_id", "event_id"},
	"idempotency_records": {"operation", "scope", "idempotency_key"},
	"effects":             {"session_id", "effect_id"},
	"messages":            {"session_id", "message_id"},
	"rules":               {"session_id", "rule_id"},
}

// Querier is a database, or one connection to it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ReadTables reads all rows of the tables of a database.
func ReadTables(tb testing.TB, db Querier) Tables {
	tb.Helper()
	tables := Tables{}
	for name := range tableKeys {
		tables[name] = ReadRows(tb, db, "SELECT * FROM "+name)
	}
	// Versions are random.
	for _, session := range tables["sessions"] {
		delete(session, "version")
	}
	tables.sort()
	return tables
}

// ReadRows reads the rows of a query.
func ReadRows(tb testing.TB, db Querier, query string, args ...any) []Row {
	tb.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(tb.Context()), query, args...)
	require.NoError(tb, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(tb, err)
	var list []Row
	for rows.Next() {
		values := make([]any, len(columns))
		targets := make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		require.NoError(tb, rows.Scan(targets...))
		row := Row{}
		for i, column := range columns {
			row.set(column, values[i])
		}
		list = append(list, row)
	}
	require.NoError(tb, rows.Err())
	return list
}

func (r Row) set(column string, value any) {
	switch typed := value.(type) {
	case bool:
		value = int64(0)
		if typed {
			value = int64(1)
		}
	case []byte:
		value = string(typed)
	}
	if value == nil || value == int64(0) || value == "" {
		return
	}
	r[column] = value
}

// add puts a row, column by column, into a table.
func (t Tables) add(table string, columns map[string]any) {
	row := Row{}
	for column, value := range columns {
		row.set(column, value)
	}
	t[table] = append(t[table], row)
}

func (t Tables) sort() {
	for name, rows := range t {
		slices.SortFunc(rows, func(a, b Row) int {
			for _, column := range tableKeys[name] {
				if order := compareValues(a[column], b[column]); order != 0 {
					return order
				}
			}
			return 0
		})
	}
}

func compareValues(a, b any) int {
	number, isNumber := a.(int64)
	other, bothNumbers := b.(int64)
	if isNumber && bothNumbers {
		return cmp.Compare(number, other)
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
