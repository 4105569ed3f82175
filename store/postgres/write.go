package postgres

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/tokens"
)

// Statements that write any number of rows.
var (
	writeSessions = newWriter(columns.Sessions)
	writeRuns     = newWriter(columns.Runs)
	writeRequests = newWriter(columns.Requests)
	writeEvents   = newWriter(columns.Events)
	writeRecords  = newWriter(columns.Records)
	writeEffects  = newWriter(columns.Effects)
	writeMessages = newWriter(columns.Messages)
	writeRules    = newWriter(columns.Rules)
)

// writer writes rows of one table. It writes a few rows with one statement each, and many with one
// statement whose arguments are an array for each column.
type writer[R any] struct {
	insert, update           string
	insertArray, updateArray []func([]*R) any
	insertOne, updateOne     oneRow[R]
}

func newWriter[R any](t *columns.Table[R]) *writer[R] {
	w := &writer[R]{}
	var insert, update bulk[R]
	var names, insertOne, sets, setsOne, finds, findsOne []string
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Apart() {
			continue
		}
		names = append(names, c.Name)
		insert.add(c)
		insertOne = append(insertOne, w.insertOne.add(c))
		own := t.Alias + "." + c.Name
		switch {
		case c.Key():
			update.add(c)
			finds = append(finds, own+" = u."+c.Name)
			findsOne = append(findsOne, own+" = "+w.updateOne.add(c))
		case c.Changes(true):
			value, one := update.add(c), w.updateOne.add(c)
			if c.WrittenIf != nil {
				value = "CASE WHEN u." + update.addFlag(c) + " THEN " + value + " ELSE " + own + " END"
				one = "CASE WHEN " + w.updateOne.addFlag(c) + " THEN " + one + " ELSE " + own + " END"
			}
			sets, setsOne = append(sets, c.Name+" = "+value), append(setsOne, c.Name+" = "+one)
		}
	}
	if t.UpdatesWhile != "" {
		finds, findsOne = append(finds, t.Alias+"."+t.UpdatesWhile), append(findsOne, t.Alias+"."+t.UpdatesWhile)
	}
	into := "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ")\n"
	w.insert = into + "SELECT " + strings.Join(insert.values, ", ") + "\nFROM " + insert.rows()
	w.insertArray = insert.arrays
	w.insertOne.sql = into + "VALUES (" + strings.Join(insertOne, ", ") + ")"
	if len(sets) > 0 {
		set := "UPDATE " + t.Name + " AS " + t.Alias + " SET\n\t"
		w.update = set + strings.Join(sets, ",\n\t") + "\nFROM " + update.rows() + "\nWHERE " + strings.Join(finds, " AND ")
		w.updateArray = update.arrays
		w.updateOne.sql = set + strings.Join(setsOne, ",\n\t") + "\nWHERE " + strings.Join(findsOne, " AND ")
	}
	return w
}

// oneRow is a statement that writes one row.
type oneRow[R any] struct {
	sql    string
	values []func(*R) any
}

// add adds a column and returns its parameter.
func (o *oneRow[R]) add(c *columns.Column[R]) string { return o.parameter(typeName(c.Type), c.Value) }

// addFlag adds whether the column is written, and returns the parameter.
func (o *oneRow[R]) addFlag(c *columns.Column[R]) string {
	return o.parameter(typeName(columns.Boolean), func(row *R) any { return c.WrittenIf(row) })
}

func (o *oneRow[R]) parameter(typeName string, value func(*R) any) string {
	o.values = append(o.values, value)
	return "$" + strconv.Itoa(len(o.values)) + "::" + typeName
}

// bulk builds the rows of a bulk statement, as table u.
type bulk[R any] struct {
	names, types, values []string
	arrays               []func([]*R) any
}

func typeName(t columns.Type) string {
	switch t {
	case columns.Integer:
		return "bigint"
	case columns.Boolean:
		return "boolean"
	case columns.Text:
	}
	return "text"
}

// add adds a column and returns its value in u. NULL is sent as the empty value: arrays
// without NULLs are cheaper on both sides.
func (b *bulk[R]) add(c *columns.Column[R]) (value string) {
	value = "u." + c.Name
	switch {
	case c.Optional() && c.Type == columns.Integer:
		value = "nullif(" + value + ", 0)"
	case c.Optional():
		value = "nullif(" + value + ", '')"
	}
	b.names, b.types, b.values = append(b.names, c.Name), append(b.types, typeName(c.Type)), append(b.values, value)
	switch c.Type {
	case columns.Integer:
		b.arrays = append(b.arrays, arrayOf(c.Integer))
	case columns.Boolean:
		b.arrays = append(b.arrays, arrayOf(c.Boolean))
	case columns.Text:
		b.arrays = append(b.arrays, arrayOf(c.Text))
	}
	return value
}

// addFlag adds whether the column is written, and returns the name of the flag.
func (b *bulk[R]) addFlag(c *columns.Column[R]) string {
	name := c.Name + "_written"
	b.names, b.types = append(b.names, name), append(b.types, "boolean")
	b.arrays = append(b.arrays, arrayOf(c.WrittenIf))
	return name
}

// rows returns the table u with the arrays as columns. They are unnested in the select list, row
// by row: unnest in FROM first stores each array separately, which takes twice the time for a
// few rows, and a subscript walks a text array from its start for every row.
func (b *bulk[R]) rows() string {
	list := make([]string, len(b.types))
	for i, name := range b.types {
		list[i] = "unnest($" + strconv.Itoa(i+1) + "::" + name + "[]) AS " + b.names[i]
	}
	return "(SELECT " + strings.Join(list, ", ") + ") AS u"
}

func array[R, V any](rows []*R, value func(*R) V) []V {
	column := make([]V, len(rows))
	for i, row := range rows {
		column[i] = value(row)
	}
	return column
}

// arrayOf returns the argument that is the array of a value of each row.
func arrayOf[R, V any](value func(*R) V) func([]*R) any {
	return func(rows []*R) any { return array(rows, value) }
}

func (w *writer[R]) queueInsert(batch *pgx.Batch, rows []*R) {
	if len(rows) <= fewRows {
		w.insertOne.queue(batch, rows)
	} else {
		queueRows(batch, w.insert, rows, w.insertArray)
	}
}

func (w *writer[R]) queueUpdate(batch *pgx.Batch, rows []*R) {
	if len(rows) <= fewRows {
		w.updateOne.queue(batch, rows)
	} else {
		queueRows(batch, w.update, rows, w.updateArray)
	}
}

// fewRows is the number of rows up to which single statements are cheaper than a bulk statement.
const fewRows = 3

// queue queues one statement per row. All must be written: the session's lock guarantees that
// the rows exist.
func (o *oneRow[R]) queue(batch *pgx.Batch, rows []*R) {
	for _, row := range rows {
		arguments := make([]any, len(o.values))
		for i, value := range o.values {
			arguments[i] = value(row)
		}
		batch.Queue(o.sql, arguments...).Exec(wrote(1))
	}
}

// wrote returns a check that a statement wrote this number of rows.
func wrote(rows int) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != int64(rows) {
			return fmt.Errorf("wrote %d rows of %d", tag.RowsAffected(), rows)
		}
		return nil
	}
}

// queueRows queues one statement that writes all the rows, if any. All must be written: the
// session's lock guarantees that the rows exist.
func queueRows[R any](batch *pgx.Batch, sql string, rows []*R, arrays []func([]*R) any) {
	if len(rows) == 0 {
		return
	}
	arguments := make([]any, len(arrays))
	for i, array := range arrays {
		arguments[i] = array(rows)
	}
	batch.Queue(sql, arguments...).Exec(wrote(len(rows)))
}

// sessionMetadata are the arguments of sqlAmendSessions.
var sessionMetadata = []func([]*model.Session) any{
	arrayOf(func(s *model.Session) string { return s.SessionID }),
	arrayOf(func(s *model.Session) string { return string(s.Metadata) }),
	arrayOf(func(s *model.Session) string { return string(s.About) }),
	arrayOf(func(s *model.Session) string { return s.Life }),
}

// queueWrites queues the writes of a batch of commands. Rows of each kind are sorted by key, so
// that transactions with conflicting keys wait in the same order.
//
// amended are the updated sessions with changed metadata, about or life.
func queueWrites(batch *pgx.Batch, w *runs.Writes, amended []*model.Session) {
	slices.SortFunc(w.NewSessions, func(a, b *model.Session) int { return cmp.Compare(a.SessionID, b.SessionID) })
	slices.SortFunc(w.NewRuns, func(a, b *model.Run) int { return cmp.Compare(a.RunID, b.RunID) })
	slices.SortFunc(w.Records, func(a, b *model.IdempotencyRecord) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.IdempotencyKey, b.IdempotencyKey))
	})
	slices.SortFunc(w.NewRules, func(a, b *rules.Rule) int { return cmp.Compare(a.RuleID, b.RuleID) })
	writeSessions.queueInsert(batch, w.NewSessions)
	writeSessions.queueUpdate(batch, w.UpdatedSessions)
	queueRows(batch, sqlAmendSessions, amended, sessionMetadata)
	writeRuns.queueUpdate(batch, w.UpdatedRuns)
	writeRuns.queueInsert(batch, w.NewRuns)
	writeRequests.queueUpdate(batch, w.SettledRequests)
	writeRequests.queueInsert(batch, w.NewRequests)
	for _, request := range w.RedeemedRequests {
		batch.Queue(sqlRedeemRequest, request.SessionID, request.RunID, request.RequestID, string(request.Redemption)).Exec(wrote(1))
	}
	writeEvents.queueInsert(batch, w.Events)
	writeRecords.queueInsert(batch, w.Records)
	writeEffects.queueUpdate(batch, w.UpdatedEffects)
	writeEffects.queueInsert(batch, w.NewEffects)
	writeMessages.queueUpdate(batch, w.UpdatedMessages)
	writeMessages.queueInsert(batch, w.NewMessages)
	writeRules.queueUpdate(batch, w.UpdatedRules)
	writeRules.queueInsert(batch, w.NewRules)
	queueEntries(batch, w.Entries)
}

// entryColumns are the arguments of sqlAddEntries.
var entryColumns = []func([]*journal.Entry) any{
	arrayOf(func(e *journal.Entry) int64 { return e.TimestampMs }),
	arrayOf(func(e *journal.Entry) string { return string(e.Type) }),
	arrayOf(func(e *journal.Entry) string { return e.Actor }),
	arrayOf(func(e *journal.Entry) string { return string(e.Body) }),
	arrayOf(func(e *journal.Entry) string { return e.BodyDigest }),
}

// queueEntries queues the insertion of lines of the audit's own log, which arrive in the order of the entries.
func queueEntries(batch *pgx.Batch, entries []*journal.Entry) {
	if len(entries) > fewRows {
		queueRows(batch, sqlAddEntries, entries, entryColumns)
		return
	}
	for _, entry := range entries {
		batch.Queue(tokens.AddEntry, tokens.EntryArgs(entry)...).Exec(wrote(1))
	}
}
