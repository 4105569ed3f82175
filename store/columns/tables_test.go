package columns_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/store/columns"
)

// Engines write and read a column by the same line of the table, so no round trip finds two that are swapped.
func TestEachColumnHasTheMemberOfItsName(t *testing.T) {
	t.Parallel()
	columnsOf(t, columns.Sessions)
	columnsOf(t, columns.Runs)
	columnsOf(t, columns.Requests)
	columnsOf(t, columns.Events)
	columnsOf(t, columns.Records)
	columnsOf(t, columns.Effects)
	columnsOf(t, columns.Messages)
	columnsOf(t, columns.Rules)
}

func columnsOf[R any](t *testing.T, table *columns.Table[R]) {
	t.Helper()
	var empty R
	for i := range table.Columns {
		column := table.Columns[i].Name
		if table.Name == "rules" && (column == "match" || column == "input_digest" || column == "escalation" || column == "hint") {
			continue // derived from the match, the escalation and the hint
		}
		var row R
		set(t, member(reflect.ValueOf(&row).Elem(), column), table.Name, column)
		for j := range table.Columns {
			if c := &table.Columns[j]; c.Name == column {
				require.NotEqual(t, c.Value(&empty), c.Value(&row), "%s.%s", table.Name, column)
			} else {
				require.Equal(t, c.Value(&empty), c.Value(&row), "%s.%s has %s", table.Name, c.Name, column)
			}
		}
	}
}

// member returns the member of a row, or of a struct in it, with the name of a column.
func member(row reflect.Value, column string) reflect.Value {
	name := strings.ReplaceAll(column, "_", "")
	named := func(member string) bool { return strings.EqualFold(member, name) }
	found := row.FieldByNameFunc(named)
	for i := 0; i < row.NumField() && !found.IsValid(); i++ {
		if part := row.Field(i); part.Kind() == reflect.Struct {
			found = part.FieldByNameFunc(named)
		}
	}
	return found
}

func set(t *testing.T, member reflect.Value, table, column string) {
	t.Helper()
	require.True(t, member.IsValid(), "no member is named like %s.%s", table, column)
	switch member.Kind() {
	case reflect.String:
		member.SetString("x")
	case reflect.Int64:
		member.SetInt(1)
	case reflect.Bool:
		member.SetBool(true)
	default:
		member.SetBytes([]byte("1"))
	}
}
