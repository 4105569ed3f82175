package model

import (
	"context"
	"errors"
	"iter"

	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Walker reads every row of a database, for the doctor.
type Walker interface {
	// Walk calls visit with the rows of each session, ordered by id. All rows come from one
	// snapshot, with a bounded number in memory. Walk is read-only and blocks no writer. It
	// returns the first error of visit, an error that wraps runs.ErrUnavailable if the database
	// cannot be read, and also [ErrDamaged] if its storage is the reason, or the cause of the context's end.
	Walk(ctx context.Context, visit func(*SessionRows) error) error
}

// ErrDamaged says that the database found its storage damaged.
var ErrDamaged = errors.New("the storage is damaged")

// StorageChecker is a Walker of a database that keeps the same facts twice, such as in an index.
type StorageChecker interface {
	Walker
	// CheckStorage calls report with each fault of what the database derives from the rows, at most
	// [MaxStorageFaults] times. It is read-only and blocks no writer. Errors: as for Walk.
	CheckStorage(ctx context.Context, report func(fault string)) error
}

// MaxStorageFaults bounds the faults of [StorageChecker]: one bad page may cause very many.
const MaxStorageFaults = 100

// RowSequence yields rows one by one. An error comes last, with a nil row. Range over it at most
// once, and only during the visit.
type RowSequence[R any] = iter.Seq2[*R, error]

// SessionRows has all rows with one session id. Range over the sequences in any order, or not at
// all. An error from a sequence ends the walk, whatever visit returns.
type SessionRows struct {
	SessionID string
	// Session is nil if the rows belong to a session that does not exist. Only rules may: rules
	// for all sessions, and rules for a session that is not created yet.
	Session *Session
	// Runs come in any order, without Input, Checkpoint and QueuedAhead.
	Runs RowSequence[Run]
	// Requests come in any order.
	Requests RowSequence[Request]
	// Events come in the order of EventID.
	Events RowSequence[Event]
	// Records come in any order.
	Records RowSequence[IdempotencyRecord]
	// Effects and Messages come in any order.
	Effects  RowSequence[Effect]
	Messages RowSequence[Message]
	// Rules come in any order. Rules for all sessions have the session id rules.AllSessions.
	Rules RowSequence[rules.Rule]
	// Entries are all lines of the audit's own log by EntryID, then the unsealed ones. They come
	// with the session id rules.AllSessions.
	Entries RowSequence[journal.Entry]
}

// NextRow returns the next row of a table, or nil after the last one.
type NextRow[R any] func() (*R, error)

// RowStreams has the rows of all tables, each sorted by the bytes of session_id, events also by
// event_id. All must come from one snapshot.
type RowStreams struct {
	Sessions NextRow[Session]
	Runs     NextRow[Run]
	Requests NextRow[Request]
	Events   NextRow[Event]
	Records  NextRow[IdempotencyRecord]
	Effects  NextRow[Effect]
	Messages NextRow[Message]
	Rules    NextRow[rules.Rule]
	// Entries have the order of [SessionRows.Entries].
	Entries NextRow[journal.Entry]
}

// Visit merges the streams and calls visit once per session id, including ids of sessions that
// do not exist. It returns the first error of a stream or of visit.
func (s RowStreams) Visit(visit func(*SessionRows) error) error {
	sessions := stream[Session]{next: s.Sessions, sessionOf: func(r *Session) string { return r.SessionID }}
	runRows := stream[Run]{next: s.Runs, sessionOf: func(r *Run) string { return r.SessionID }}
	requests := stream[Request]{next: s.Requests, sessionOf: func(r *Request) string { return r.SessionID }}
	events := stream[Event]{next: s.Events, sessionOf: func(r *Event) string { return r.SessionID }}
	records := stream[IdempotencyRecord]{next: s.Records, sessionOf: func(r *IdempotencyRecord) string { return r.SessionID }}
	effects := stream[Effect]{next: s.Effects, sessionOf: func(r *Effect) string { return r.SessionID }}
	messages := stream[Message]{next: s.Messages, sessionOf: func(r *Message) string { return r.SessionID }}
	ruleRows := stream[rules.Rule]{next: s.Rules, sessionOf: func(r *rules.Rule) string { return r.SessionID }}
	entries := stream[journal.Entry]{next: s.Entries, sessionOf: func(*journal.Entry) string { return rules.AllSessions }, ended: s.Entries == nil}
	all := []interface {
		fill() error
		first() (sessionID string, there bool)
		skip(sessionID string) error
	}{&sessions, &runRows, &requests, &events, &records, &effects, &messages, &ruleRows, &entries}

	for {
		sessionID, there := "", false
		for _, table := range all {
			if err := table.fill(); err != nil {
				return err
			}
			if first, more := table.first(); more && (!there || first < sessionID) {
				sessionID, there = first, true
			}
		}
		if !there {
			return nil
		}
		rows := &SessionRows{
			SessionID: sessionID,
			Runs:      runRows.rowsOf(sessionID), Requests: requests.rowsOf(sessionID),
			Events: events.rowsOf(sessionID), Records: records.rowsOf(sessionID),
			Effects: effects.rowsOf(sessionID), Messages: messages.rowsOf(sessionID), Rules: ruleRows.rowsOf(sessionID),
			Entries: entries.rowsOf(sessionID),
		}
		if first, more := sessions.first(); more && first == sessionID {
			rows.Session, sessions.head = sessions.head, nil
		}
		visited := visit(rows)
		for _, table := range all {
			if err := table.skip(sessionID); err != nil {
				return err
			}
		}
		if visited != nil {
			return visited
		}
	}
}

// stream is a table and its next row.
type stream[R any] struct {
	next      NextRow[R]
	sessionOf func(*R) string
	head      *R
	ended     bool
	failed    error
}

// fill reads the next row into head unless head is set or the table has ended.
func (s *stream[R]) fill() error {
	if s.head == nil && !s.ended && s.failed == nil {
		s.head, s.failed = s.next()
		s.ended = s.head == nil
	}
	return s.failed
}

func (s *stream[R]) first() (string, bool) {
	if s.head == nil {
		return "", false
	}
	return s.sessionOf(s.head), true
}

// rowsOf yields the session's rows that were not yielded before.
func (s *stream[R]) rowsOf(sessionID string) RowSequence[R] {
	return func(yield func(*R, error) bool) {
		for {
			if err := s.fill(); err != nil {
				yield(nil, err)
				return
			}
			if first, more := s.first(); !more || first != sessionID {
				return
			}
			row := s.head
			s.head = nil
			if !yield(row, nil) {
				return
			}
		}
	}
}

// skip reads over the session's rows that visit did not range over.
func (s *stream[R]) skip(sessionID string) error {
	for _, err := range s.rowsOf(sessionID) {
		if err != nil {
			return err
		}
	}
	return nil
}
