// Package operate holds the commands by which people decide, answer, inspect, and repair:
// approvals, questions, rules, runs, sessions, mailbox and effects. Each kind of record
// defines its table and its description; list and show do the rest. The package uses
// package client and no store.
package operate

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// table defines how records of a kind are listed, one per line.
type table[T any] struct {
	header []string
	// row returns one cell per heading; an empty one is shown as a dash.
	row func(record *T, now time.Time) []string
	// note returns what to know about a record; nil for a kind without. The column of notes is shown if
	// there is one.
	note func(record *T, now time.Time) string
}

// print prints records as a table, or as a JSON array.
func (t table[T]) print(terminal *console.Console, asJSON bool, records []T) error {
	if asJSON {
		return console.PrintJSON(terminal.Stdout, records)
	}
	now := terminal.Now()
	rows := make([][]string, len(records))
	for i := range records {
		rows[i] = t.row(&records[i], now)
	}
	header := t.header
	if t.note != nil && slices.ContainsFunc(records, func(record T) bool { return t.note(&record, now) != "" }) {
		header = append(slices.Clip(header), "NOTE")
		for i := range records {
			rows[i] = append(rows[i], t.note(&records[i], now))
		}
	}
	return terminal.Table(header, rows)
}

// noteOf returns the explanation of a pending request.
func noteOf(explained *api.PendingExplanation) string {
	if explained == nil {
		return ""
	}
	return explained.Text
}

// filter is the flags and arguments of a list command.
type filter[T any] interface {
	read(ctx context.Context, c *client.Client) ([]T, error)
	table() table[T]
}

// list is a command that prints the records of a filter.
type list[T any, F filter[T]] struct {
	console.Reporting
	Filter F `embed:""`
}

// Run prints the records.
func (l *list[T, F]) Run(ctx context.Context, terminal *console.Console) error {
	return l.Call(func(c *client.Client) error {
		records, err := l.Filter.read(ctx, c)
		if err != nil {
			return err
		}
		return l.Filter.table().print(terminal, l.JSON, records)
	})
}

// limited is the flag of a list that may be long.
type limited struct {
	Limit int `default:"100" placeholder:"N" help:"Maximum number (default ${default}); 0 for all."`
}

// defaultLimit is the default of limited.
const defaultLimit = 100

// collect reads pages until it has as many records as the limit. It refuses a negative
// limit.
func collect[T any](all iter.Seq2[T, error], limit int) ([]T, error) {
	if limit < 0 {
		return nil, console.Usage("--limit must not be negative")
	}
	records := []T{}
	for record, err := range all {
		if err != nil {
			return nil, err
		}
		records = append(records, record)
		if limit > 0 && len(records) == limit {
			break
		}
	}
	return records, nil
}

// reference is the flags and arguments of a command that prints one record.
type reference[T any] interface {
	// find returns the record. If the command changes records, it is changed first.
	find(ctx context.Context, c *client.Client) (*T, error)
	// fields describes the record; empty ones are not shown.
	fields(record *T, now time.Time) []console.Field
}

// show is a command that prints one record, as it is or after a change.
type show[T any, R reference[T]] struct {
	console.Reporting
	Reference R `embed:""`
}

// Run prints the record.
func (s *show[T, R]) Run(ctx context.Context, terminal *console.Console) error {
	return s.Call(func(c *client.Client) error {
		record, err := s.Reference.find(ctx, c)
		if err != nil {
			return err
		}
		return printRecord(terminal, s.JSON, record, s.Reference.fields)
	})
}

// printDelivered prints the result of a test message, an error unless it was delivered: result is its
// document, problem the error, and words say what was delivered.
func printDelivered(terminal *console.Console, asJSON bool, result any, delivered bool, problem error, words string) error {
	if asJSON {
		if err := console.PrintJSON(terminal.Stdout, result); err != nil {
			return err
		}
	}
	if !delivered {
		return problem
	}
	if !asJSON {
		fmt.Fprintln(terminal.Stdout, words)
	}
	return nil
}

// printDeleted prints that a record of a kind, such as "webhook", was deleted.
func printDeleted(terminal *console.Console, asJSON bool, kind, id string) error {
	if asJSON {
		return console.PrintJSON(terminal.Stdout, map[string]any{kind + "_id": id, "deleted": true})
	}
	terminal.Say("deleted %s %s", kind, id)
	return nil
}

func printRecord[T any](terminal *console.Console, asJSON bool, record *T, fields func(*T, time.Time) []console.Field) error {
	if asJSON {
		return console.PrintJSON(terminal.Stdout, record)
	}
	return terminal.Describe(fields(record, terminal.Now()))
}
