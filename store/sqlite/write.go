package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/columns"
	"github.com/holdpoint/holdpoint/store/door"
	"github.com/holdpoint/holdpoint/store/tokens"
)

// The statements that write rows.
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

// rowsAtOnce is how many rows one statement inserts if there are enough. A single row takes half
// as long again per row; more than 20 at once take longer (see docs/benchmark-log.md).
const rowsAtOnce = 16

// writer writes rows of one table, without their large values.
type writer[R any] struct {
	table *columns.Table[R]
	// insert is for one row, insertMany for rowsAtOnce rows.
	insert, insertMany statement[R]
	// update is for rows that stay open, updateClosed for closed ones.
	update, updateClosed statement[R]
	// while follows the message of an update that finds no row.
	while string
}

// statement is an SQL statement with the columns that are its arguments.
type statement[R any] struct {
	sql       string
	arguments []*columns.Column[R]
}

func newWriter[R any](t *columns.Table[R]) *writer[R] {
	w := &writer[R]{table: t, update: updateOf(t, false), updateClosed: updateOf(t, true)}
	if t.UpdatesWhile != "" {
		w.while = " while " + t.UpdatesWhile
	}
	w.insert, w.insertMany = insertOf(t, 1), insertOf(t, rowsAtOnce)
	return w
}

// insertOf returns the statement that inserts count rows.
func insertOf[R any](t *columns.Table[R], count int) statement[R] {
	var s statement[R]
	var names, rows []string
	for range count {
		var values []string
		for i := range t.Columns {
			if c := &t.Columns[i]; !c.Large() && !c.Apart() {
				if len(rows) == 0 {
					names = append(names, c.Name)
				}
				values = append(values, s.add(c))
			}
		}
		rows = append(rows, "("+strings.Join(values, ", ")+")")
	}
	s.sql = "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") VALUES " + strings.Join(rows, ", ")
	return s
}

func updateOf[R any](t *columns.Table[R], closed bool) statement[R] {
	var s statement[R]
	var sets, finds []string
	for i := range t.Columns {
		if c := &t.Columns[i]; !c.Key() && c.Changes(closed) && !c.Large() {
			sets = append(sets, c.Name+" = "+s.add(c))
		}
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Key() {
			finds = append(finds, c.Name+" = "+s.add(c))
		}
	}
	if t.UpdatesWhile != "" {
		finds = append(finds, t.UpdatesWhile)
	}
	if len(sets) > 0 {
		s.sql = "UPDATE " + t.Name + " SET " + strings.Join(sets, ", ") + " WHERE " + strings.Join(finds, " AND ")
	}
	return s
}

// add adds the next argument of the text and returns its placeholder, without a number: the
// driver searches for each number among all others by name, which took half the time of a large
// insert.
func (s *statement[R]) add(c *columns.Column[R]) string {
	s.arguments = append(s.arguments, c)
	return "?"
}

// run runs the statement, which has as many arguments of each row, and returns how many rows it
// wrote.
func (s *statement[R]) run(ctx context.Context, c *connection, rows ...*R) (int64, error) {
	arguments, each := make([]any, len(s.arguments)), len(s.arguments)/len(rows)
	for i, column := range s.arguments {
		arguments[i] = column.Value(rows[i/each])
	}
	return c.exec(ctx, s.sql, arguments...)
}

func (w *writer[R]) insertRows(ctx context.Context, c *connection, rows []*R) error {
	for ; len(rows) >= rowsAtOnce; rows = rows[rowsAtOnce:] {
		if _, err := w.insertMany.run(ctx, c, rows[:rowsAtOnce]...); err != nil {
			return err
		}
	}
	for _, row := range rows {
		if _, err := w.insert.run(ctx, c, row); err != nil {
			return err
		}
	}
	return nil
}

// updateRow updates a row that must be there.
func (w *writer[R]) updateRow(ctx context.Context, c *connection, row *R) error {
	update := &w.update
	if w.table.Closed != nil && w.table.Closed(row) {
		update = &w.updateClosed
	}
	written, err := update.run(ctx, c, row)
	if err == nil && written != 1 {
		err = fmt.Errorf("%w: %s has no row %s to update%s", door.ErrRefused, w.table.Name, w.table.KeyOf(row), w.while)
	}
	return err
}

func (w *writer[R]) updateRows(ctx context.Context, c *connection, rows []*R) error {
	for _, row := range rows {
		if err := w.updateRow(ctx, c, row); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes the rows of a batch. amended are the updated sessions whose metadata, about or life changed.
func writeAll(ctx context.Context, c *connection, w *runs.Writes, amended []*model.Session) error {
	for _, write := range []func() error{
		func() error { return writeSessions.insertRows(ctx, c, w.NewSessions) },
		func() error { return writeSessions.updateRows(ctx, c, w.UpdatedSessions) },
		func() error { return amendSessions(ctx, c, amended) },
		// A session has at most one active run, even between two statements: runs leave the slot
		// before others enter it.
		func() error { return updateRuns(ctx, c, w.UpdatedRuns, false) },
		func() error { return updateRuns(ctx, c, w.UpdatedRuns, true) },
		func() error { return writeRuns.insertRows(ctx, c, w.NewRuns) },
		func() error { return insertPayloads(ctx, c, w.NewRuns) },
		func() error { return writeRequests.insertRows(ctx, c, w.NewRequests) },
		func() error { return writeRequests.updateRows(ctx, c, w.SettledRequests) },
		func() error { return redeemRequests(ctx, c, w.RedeemedRequests) },
		func() error { return writeEvents.insertRows(ctx, c, w.Events) },
		func() error { return writeRecords.insertRows(ctx, c, w.Records) },
		func() error { return writeRules.insertRows(ctx, c, w.NewRules) },
		func() error { return writeRules.updateRows(ctx, c, w.UpdatedRules) },
		func() error { return addEntries(ctx, c, w.Entries) },
		func() error { return writeEffects.insertRows(ctx, c, w.NewEffects) },
		func() error { return writeEffects.updateRows(ctx, c, w.UpdatedEffects) },
		func() error { return writeMessages.insertRows(ctx, c, w.NewMessages) },
		func() error { return writeMessages.updateRows(ctx, c, w.UpdatedMessages) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// addEntries writes lines of the audit's own log.
func addEntries(ctx context.Context, c *connection, entries []*journal.Entry) error {
	for _, entry := range entries {
		if _, err := c.exec(ctx, tokens.AddEntry, tokens.EntryArgs(entry)...); err != nil {
			return err
		}
	}
	return nil
}

func amendSessions(ctx context.Context, c *connection, sessions []*model.Session) error {
	for _, session := range sessions {
		var metadata any
		if session.Metadata != nil {
			metadata = string(session.Metadata)
		}
		if _, err := c.exec(ctx, sqlAmendSession, session.SessionID, metadata, string(session.About), session.Life); err != nil {
			return err
		}
	}
	return nil
}

// redeemRequests writes the redemptions of grants, each once.
func redeemRequests(ctx context.Context, c *connection, redeemed []*model.Request) error {
	for _, request := range redeemed {
		written, err := c.exec(ctx, sqlRedeemRequest, request.SessionID, request.RunID, request.RequestID, string(request.Redemption))
		if err == nil && written != 1 {
			err = fmt.Errorf("%w: request %s of run %s has no grant to redeem", door.ErrRefused, request.RequestID, request.RunID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// updateRuns updates the runs that hold their session's slot, or the others.
func updateRuns(ctx context.Context, c *connection, updated []*model.Run, holding bool) error {
	for _, run := range updated {
		if holding != holdsSlot(run) {
			continue
		}
		if err := writeRuns.updateRow(ctx, c, run); err != nil {
			return err
		}
		if err := putPayloads(ctx, c, run, true); err != nil {
			return err
		}
	}
	return nil
}

func holdsSlot(r *model.Run) bool {
	return r.Status != api.StatusQueued && !model.Terminal(r.Status)
}

func insertPayloads(ctx context.Context, c *connection, made []*model.Run) error {
	for _, run := range made {
		if err := putPayloads(ctx, c, run, false); err != nil {
			return err
		}
	}
	return nil
}

// putPayloads writes a run's large values: all of a new run, and the changed ones of an existing
// run.
func putPayloads(ctx context.Context, c *connection, run *model.Run, there bool) error {
	for i := range columns.Runs.Columns {
		column := &columns.Runs.Columns[i]
		if !column.Large() || there && (column.WrittenIf == nil || !column.WrittenIf(run)) {
			continue
		}
		var err error
		switch value := column.Text(run); {
		case value != "":
			_, err = c.exec(ctx, sqlPutPayload, run.RunID, column.Name, value)
		case there:
			_, err = c.exec(ctx, sqlDeletePayload, run.RunID, column.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
