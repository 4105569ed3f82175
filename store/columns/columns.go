// Package columns holds the table of columns of every row type: how a column is called,
// where it is scanned to, how it is written, and whether an update writes it. Both
// engines make their column lists, scan targets, inserts and updates from it, so a new
// column is one line here and one in each schema.
//
// It must not know a driver or a dialect: what differs between the engines (bulk
// arrays, placeholders) is theirs.
package columns

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// Type is the type of a column in SQL.
type Type int

// The types of columns.
const (
	Integer Type = iota
	Text
	Boolean
)

// flag is a property of a column.
type flag int

const (
	// key is a part of the key by which an update finds the row.
	key flag = 1 << iota
	// optional is NULL where the Go value is empty.
	optional
	// changes is written by every update.
	changes
	// closes is written by an update when the row is closed, or becomes so.
	closes
	// large may be long and is read only where a statement names it. Postgres has it as
	// a column, out of line; SQLite, which writes whole rows again, in run_payloads.
	large
	// unread is written and never read.
	unread
	// apart is NULL when the row is inserted; a statement of its own writes it.
	apart
)

// Column is one column of the table of R.
type Column[R any] struct {
	Name  string
	Type  Type
	flags flag
	// target returns where the column is scanned to: *int64, *string, *bool, *[]byte or
	// a [database/sql.Scanner].
	target func(*R) any
	// One of these is set, by Type. An empty value of an optional column is NULL.
	Integer func(*R) int64
	Text    func(*R) string
	Boolean func(*R) bool
	// WrittenIf, when set, says whether an update writes the column of that row.
	WrittenIf func(*R) bool
}

// Key reports whether the column is a part of the key by which an update finds its row.
func (c *Column[R]) Key() bool { return c.flags&key != 0 }

// Optional reports whether the column is NULL where the Go value is empty.
func (c *Column[R]) Optional() bool { return c.flags&optional != 0 }

// Large reports whether SQLite holds the column in run_payloads.
func (c *Column[R]) Large() bool { return c.flags&large != 0 }

// Apart reports whether a statement of its own writes the column, and neither an insert nor an
// update of the row.
func (c *Column[R]) Apart() bool { return c.flags&apart != 0 }

// Changes reports whether an update of a row writes the column; closed says whether the
// row is closed (see [Table.Closed]).
func (c *Column[R]) Changes(closed bool) bool {
	return c.flags&changes != 0 || closed && c.flags&closes != 0
}

// Value returns the column of a row as an argument of an SQL statement: nil, int64,
// string or bool.
func (c *Column[R]) Value(row *R) any {
	switch c.Type {
	case Integer:
		if value := c.Integer(row); value != 0 || !c.Optional() {
			return value
		}
	case Text:
		if value := c.Text(row); value != "" || !c.Optional() {
			return value
		}
	case Boolean:
		return c.Boolean(row)
	}
	return nil
}

// Table is the table of R.
type Table[R any] struct {
	Name string
	// Alias is what every statement calls the table: [Expand] replaces "Alias.*" by the
	// columns that [Table.Targets] reads.
	Alias   string
	Columns []Column[R]
	// Closed reports whether a row has reached its last state. SQLite names the columns
	// that closing writes only then, because it rewrites the entries of every index that
	// depends on a named column. Nil: the table has no such columns.
	Closed func(*R) bool
	// UpdatesWhile is a condition on the stored row without which an update finds none;
	// empty for none.
	UpdatesWhile string

	targets []func(*R) any
}

// newTable sets up what is derived from the columns.
func newTable[R any](t Table[R]) *Table[R] {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.flags&(large|unread) == 0 {
			t.targets = append(t.targets, c.target)
		}
	}
	return &t
}

// List returns the columns that [Table.Targets] reads, with NULL as the empty value that
// it stands for.
func (t *Table[R]) List() string {
	var list strings.Builder
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.flags&(large|unread) != 0 {
			continue
		}
		if list.Len() > 0 {
			list.WriteString(", ")
		}
		name := t.Alias + "." + c.Name
		switch _, document := c.target(new(R)).(*[]byte); {
		case !c.Optional() || document:
			list.WriteString(name)
		case c.Type == Integer:
			list.WriteString("coalesce(" + name + ", 0)")
		default:
			list.WriteString("coalesce(" + name + ", '')")
		}
	}
	return list.String()
}

// Size returns an expression for about how many bytes a row has that [Table.Targets] reads. It
// reads no text.
func (t *Table[R]) Size() string {
	integers, texts := 0, ""
	for i := range t.Columns {
		switch c := &t.Columns[i]; {
		case c.flags&(large|unread) != 0:
		case c.Type == Text && c.Optional():
			texts += " + coalesce(octet_length(" + t.Alias + "." + c.Name + "), 0)"
		case c.Type == Text:
			texts += " + octet_length(" + t.Alias + "." + c.Name + ")"
		default:
			integers++
		}
	}
	return strconv.Itoa(8*integers) + texts
}

// Walk returns the statement that reads the whole table by sessions; order holds further
// columns to sort by.
func (t *Table[R]) Walk(order ...string) string { return t.WalkWhere("true", order...) }

// WalkWhere is [Table.Walk] for the rows of which a condition holds.
func (t *Table[R]) WalkWhere(condition string, order ...string) string {
	by := append([]string{"session_id"}, order...)
	return "SELECT " + t.List() + " FROM " + t.Name + " AS " + t.Alias + " WHERE " + condition +
		" ORDER BY " + t.Alias + "." + strings.Join(by, ", "+t.Alias+".")
}

// Targets returns where a row is scanned to, in the order of [Table.List].
func (t *Table[R]) Targets(row *R) []any {
	targets := make([]any, len(t.targets), len(t.targets)+4)
	for i, target := range t.targets {
		targets[i] = target(row)
	}
	return targets
}

// KeyOf returns the key of a row as people read it.
func (t *Table[R]) KeyOf(row *R) string {
	var parts []string
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Key() {
			parts = append(parts, fmt.Sprint(c.Value(row)))
		}
	}
	return strings.Join(parts, "/")
}

// Rows are the rows of a statement. Those of pgx and of database/sql fit.
type Rows interface {
	Next() bool
	Scan(targets ...any) error
	Err() error
}

// Each scans the rows of a statement whose columns are those of List, and hands over each
// row, which is a new one. It returns the first error of the rows.
func (t *Table[R]) Each(rows Rows, do func(*R)) error { return Each(rows, t.Targets, do) }

// Each scans the rows of a statement into new values of R, to the targets that a value
// has, and hands over each. It returns the first error of the rows.
func Each[R any](rows Rows, targets func(*R) []any, do func(*R)) error {
	for rows.Next() {
		row := new(R)
		if err := rows.Scan(targets(row)...); err != nil {
			return err
		}
		do(row)
	}
	return rows.Err()
}

// List adds the rows of a statement to a list.
func List[R any](rows Rows, targets func(*R) []any, list *[]R) error {
	return Each(rows, targets, func(row *R) { *list = append(*list, *row) })
}

var expander = strings.NewReplacer(
	Sessions.Alias+".*", Sessions.List(), Runs.Alias+".*", Runs.List(), Requests.Alias+".*", Requests.List(),
	Events.Alias+".*", Events.List(), Records.Alias+".*", Records.List(), Effects.Alias+".*", Effects.List(),
	Messages.Alias+".*", Messages.List(), Rules.Alias+".*", Rules.List(),
)

// Expand returns a statement with the columns of each row type in place of its alias and
// a star: "SELECT r.* FROM runs AS r", which can be run as it stands, reads all columns
// of the table, and expanded those that [Runs] reads.
func Expand(statement string) string { return expander.Replace(statement) }

func integer[R any](name string, at func(*R) *int64, flags flag) Column[R] {
	return Column[R]{
		Name: name, Type: Integer, flags: flags,
		target: func(row *R) any { return at(row) }, Integer: func(row *R) int64 { return *at(row) },
	}
}

func text[R any](name string, at func(*R) *string, flags flag) Column[R] {
	return Column[R]{
		Name: name, Type: Text, flags: flags,
		target: func(row *R) any { return at(row) }, Text: func(row *R) string { return *at(row) },
	}
}

func boolean[R any](name string, at func(*R) *bool, flags flag) Column[R] {
	return Column[R]{
		Name: name, Type: Boolean, flags: flags,
		target: func(row *R) any { return at(row) }, Boolean: func(row *R) bool { return *at(row) },
	}
}

// jsonText is JSON text, which is kept byte for byte.
func jsonText[R any](name string, at func(*R) *api.JSON, flags flag) Column[R] {
	return Column[R]{
		Name: name, Type: Text, flags: flags,
		target: func(row *R) any { return (*[]byte)(at(row)) }, Text: func(row *R) string { return string(*at(row)) },
	}
}
