// Package columns has the table of columns of every row type: their names, their scan targets,
// how they are written, and whether updates write them. Both engines build their column lists,
// scan targets, inserts and updates from it, so a new column is one line here and one in each
// schema.
//
// It must not know a driver or a dialect: differences (bulk arrays, placeholders) belong to the
// engines.
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
	// key is part of the key by which an update finds the row.
	key flag = 1 << iota
	// optional is NULL where the Go value is empty.
	optional
	// changes is written by every update.
	changes
	// closes is written by an update when the row is closed, or becomes so.
	closes
	// large may be long and is only read by statements that name it. In Postgres it is an
	// ordinary column, stored out of line; in SQLite, which rewrites whole rows, it is in
	// run_payloads.
	large
	// unread is written and never read.
	unread
	// apart is NULL on insert; a separate statement writes it.
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
	// WrittenIf, if set, says whether an update writes the column of that row.
	WrittenIf func(*R) bool
}

// Key reports whether the column is part of the key by which an update finds its row.
func (c *Column[R]) Key() bool { return c.flags&key != 0 }

// Optional reports whether the column is NULL where the Go value is empty.
func (c *Column[R]) Optional() bool { return c.flags&optional != 0 }

// Large reports whether SQLite stores the column in run_payloads.
func (c *Column[R]) Large() bool { return c.flags&large != 0 }

// Apart reports whether only a separate statement writes the column.
func (c *Column[R]) Apart() bool { return c.flags&apart != 0 }

// Changes reports whether an update of a row writes the column; closed is [Table.Closed] of the
// row.
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
	// Alias is the table's alias in all statements: [Expand] replaces "Alias.*" by the columns
	// of [Table.Targets].
	Alias   string
	Columns []Column[R]
	// Closed reports whether a row has reached its last state. SQLite names the closing columns
	// only then, because it rewrites every index that depends on a named column. Nil: the table
	// has no such columns.
	Closed func(*R) bool
	// UpdatesWhile is a condition on the stored row for updates; empty for none.
	UpdatesWhile string

	targets []func(*R) any
}

// newTable derives lookups from the columns.
func newTable[R any](t Table[R]) *Table[R] {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.flags&(large|unread) == 0 {
			t.targets = append(t.targets, c.target)
		}
	}
	return &t
}

// List returns the columns of [Table.Targets], with NULL as the empty value.
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

// Walk returns the statement that reads the whole table by session; order has further sort
// columns.
func (t *Table[R]) Walk(order ...string) string {
	by := append([]string{"session_id"}, order...)
	return "SELECT " + t.List() + " FROM " + t.Name + " AS " + t.Alias + " ORDER BY " + t.Alias + "." + strings.Join(by, ", "+t.Alias+".")
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

// Rows are the rows of a statement, of pgx or database/sql.
type Rows interface {
	Next() bool
	Scan(targets ...any) error
	Err() error
}

// Each scans the rows of a statement with the columns of List into new rows and passes them to
// do. It returns the first error of the rows.
func (t *Table[R]) Each(rows Rows, do func(*R)) error { return Each(rows, t.Targets, do) }

// Itself is the target of a row of one column.
func Itself[R any](row *R) []any { return []any{row} }

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
	// How many runs are queued ahead of the run r.
	"{place of r}", `CASE WHEN r.status = 'queued' THEN (
		SELECT count(*) FROM runs AS ahead
		WHERE ahead.session_id = r.session_id AND ahead.finished_at_ms IS NULL
			AND ahead.status = 'queued' AND ahead.first_event_id < r.first_event_id
	) ELSE 0 END`,
	Sessions.Alias+".*", Sessions.List(), Runs.Alias+".*", Runs.List(), Requests.Alias+".*", Requests.List(),
	Events.Alias+".*", Events.List(), Records.Alias+".*", Records.List(), Effects.Alias+".*", Effects.List(),
	Messages.Alias+".*", Messages.List(), Rules.Alias+".*", Rules.List(),
)

// Expand replaces each alias with a star by the row type's columns, and {place of r} by an expression.
// "SELECT r.* FROM runs AS r" is valid SQL and reads all columns of the table; expanded, it reads the
// columns of [Runs].
func Expand(statement string) string { return expander.Replace(statement) }

// ExpandAll expands statements that have names.
func ExpandAll(expand func(string) string, statements map[string]string) map[string]string {
	for name, statement := range statements {
		statements[name] = expand(statement)
	}
	return statements
}

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
