// Package read implements reads.Reader for both engines. It checks ids, runs an engine's statements
// and combines their rows into records. It also builds lists (lists.go), because their statements
// depend on the filters.
//
// It must not know a driver. Differences between the dialects are in Statements.
package read

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Query is one statement with its arguments. Read reads the rows.
type Query struct {
	SQL  string
	Args []any
	Read func(columns.Rows) error
}

// Database runs queries. Errors of the database wrap runs.ErrUnavailable; errors of a context
// and of package refusal are returned unchanged.
type Database interface {
	// Ask runs queries one after the other, without a common snapshot.
	Ask(ctx context.Context, queries ...Query) error
	// AskAtOneMoment runs queries in one snapshot.
	AskAtOneMoment(ctx context.Context, queries ...Query) error
	// Snapshot calls do, whose queries share one snapshot and may depend on each other.
	Snapshot(ctx context.Context, do func(ask func(...Query) error) error) error
	// List returns a list of texts as one argument.
	List(texts []string) any
	// Now returns the current time as the last argument of statements that need it, none if the
	// database has a clock.
	Now() []any
}

// Statements are the statements of an engine. In each, the columns of a row type are
// expanded (see columns.Expand).
type Statements struct {
	Same
	// RunPayload takes $1 run_id and has run_id, input and checkpoint.
	RunPayload string
	// For the list $1 of run ids: the open requests and the requests of the Resume.
	RequestsOfRuns string
	// RunOutputs takes $1 run_id and returns the bodies of the newest outputs, oldest first,
	// within $2 bytes, and the total number of outputs up to the limit.
	RunOutputs string
	// QueuePlaces has run_id and the number of queued runs ahead, of the sessions $1 and
	// the runs $2.
	QueuePlaces string
	// SettledAfter is of $1 run_id, after $2 settled_number, limited to $3 and to $4 bytes, one request at
	// least, or more: the rest is not read.
	SettledAfter string

	// Of $1 session_id. ActiveRun has the place in the queue last, SessionOutputs is as
	// RunOutputs, and SessionBesides is limited to $2.
	ActiveRun, ActiveRunRequests, SessionOutputs, SessionBesides string
	// Of $1 session_id or run_id, after $2 event_id, limited to $3 and to $4 bytes of bodies, one
	// event at least, or more: the rest is not read. Behind each event is how many there are within
	// the limit of $3, if that was counted, else 0.
	SessionEventsWithin, RunEventsWithin, RunOutputsWithin string
	// The same of the events about requests.
	SessionRequestEventsWithin, RunRequestEventsWithin string

	// RequestByHandle is of $1 handle.
	RequestByHandle string
	// StandingRules returns the rules of $1 session_id that are in force and not exact, limited
	// to $2. The current time is the next argument, if needed.
	StandingRules string
	// ChangedRules returns the rules of RuleChanges, if in force and not exact. The current time is the next
	// argument, if needed.
	ChangedRules string
	// RulesFor takes the list $1 of sessions, limited to $2, and RuleSizesFor returns their
	// sizes. Now returns the current time.
	RulesFor, RuleSizesFor, Now string

	// LeasedRuns and ClaimableWithin take the current time as their first argument, if needed,
	// and end with a condition, to which further ones, an order and a limit are appended. The
	// former returns the place in the queue last, and the latter is like Claimable, from a table
	// c.
	LeasedRuns, ClaimableWithin string

	// Limited to $1. Claimable runs have run_id, session_id, agent_id and claimable_at_ms, due
	// ones session_id and run_id, due effects session_id and effect_id. The current time is the
	// next argument, if needed.
	Claimable, Due, DueEffects string
	// ClaimableOfAgents is of the list $1 of agents, limited to $2.
	ClaimableOfAgents string
	// FinishedRuns takes $1 a time, returns the runs after $2 finished_at_ms and $3 run_id,
	// limited to $4, with finished_at_ms, run_id and session_id.
	FinishedRuns string
	// NextDue returns the earliest deadline, or 0, and the current time.
	NextDue string

	Counts

	Lists Lists
}

// Counts are the statements that count rows of all sessions.
type Counts struct {
	// Vitals takes $1 a limit, and the current time next, if needed. It returns what is counted
	// (see the Counted names), a kind, a range of ages, the number of rows, and the time of the
	// oldest, or 0.
	Vitals string
	// OpenRequestAfter returns kind, session_id, run_id and request_id of the open request $5
	// rows after $1 to $4, which are the same columns. PromptsOf returns principals and the
	// number of their open requests after $1 to $4 and up to $5 to $8.
	OpenRequestAfter, PromptsOf string
	// UnfinishedRunAfter returns the submitted_at_ms of the unfinished run $2 rows after $1
	// submitted_at_ms. QueuedOf returns principals and the number of their queued runs submitted
	// after $1 and up to $2.
	UnfinishedRunAfter, QueuedOf string
}

// Reader implements reads.Reader within a scope: rows outside of it are not there.
type Reader struct {
	scope reads.Scope
	db    Database
	// lists has the lists of everything and their counts, which may be slow.
	lists Database
	sql   *Statements
	// turns limits the lists.
	turns *cpulimit.Semaphore
}

// New returns a reader on a number of connections. Each read ends after [Timeout] with an error
// that wraps runs.ErrUnavailable. Half of the connections read lists, so slow lists leave the
// others to the reads of the door and the views. A caller that reads much waits for the others.
func New(db Database, statements *Statements, connections int) *Reader {
	all := few{db, cpulimit.NewSemaphore(connections)}
	lists := few{all, cpulimit.NewSemaphore(connections / 2)}
	return &Reader{db: Bounded(all), lists: Bounded(lists), sql: statements, turns: lists.turns}
}

// PauseLists waits for the lists that are being read, at most [Timeout]. No other begins until resume is called.
func (r *Reader) PauseLists(ctx context.Context) (resume func(), err error) {
	return r.turns.Pause(ctx)
}

// Within implements runs.Store.
func (r *Reader) Within(scope reads.Scope) reads.Reader {
	within := *r
	within.scope = scope
	return &within
}

// storable reports whether a text can be compared with a column: Postgres rejects parameters
// that are not UTF-8 or have a NUL byte, so no column contains one.
func storable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		return !utf8.ValidString(text) || slices.Contains([]byte(text), 0)
	})
}

// List runs one query and returns its rows.
func List[R any](ctx context.Context, db Database, targets func(*R) []any, sql string, args ...any) ([]R, error) {
	var found []R
	err := db.Ask(ctx, Query{sql, args, into(targets, &found)})
	return found, err
}

// Find runs one query and returns its first row, or nil.
func Find[R any](ctx context.Context, db Database, targets func(*R) []any, sql string, args ...any) (*R, error) {
	found, err := List(ctx, db, targets, sql, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// errNoRow is the error if a query that always has a row returns none.
var errNoRow = fmt.Errorf("%w: a query has no row", runs.ErrUnavailable)

// first runs one query and returns its first row, or an error without one.
func first[R any](ctx context.Context, db Database, targets func(*R) []any, missing error, sql string, args ...any) (*R, error) {
	found, err := Find(ctx, db, targets, sql, args...)
	if err == nil && found == nil {
		err = missing
	}
	return found, err
}

// count runs a query that has one number.
func count(ctx context.Context, db Database, sql string, args ...any) (int64, error) {
	counted, err := first(ctx, db, columns.Itself[int64], errNoRow, sql, args...)
	if err != nil {
		return 0, err
	}
	return *counted, nil
}

// into returns the function that reads rows into a list.
func into[R any](targets func(*R) []any, found *[]R) func(columns.Rows) error {
	return func(rows columns.Rows) error { return columns.List(rows, targets, found) }
}

// Run implements reads.Reader.
func (r *Reader) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	return r.run(ctx, runID, false)
}

// ClaimedRun implements reads.Reader.
func (r *Reader) ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error) {
	return r.run(ctx, runID, true)
}

func (r *Reader) run(ctx context.Context, runID string, withPayload bool) (*model.RunRecord, error) {
	if err := r.reachesRun(ctx, runID); err != nil {
		return nil, err
	}
	var found records
	one := r.db.List([]string{runID})
	queries := []Query{
		{r.sql.Run, []any{runID}, found.readRuns},
		{r.sql.RequestsOfRuns, []any{one}, found.readRequests},
	}
	var shown outputs
	if withPayload {
		queries = append(queries, Query{r.sql.RunPayload, []any{runID}, found.readPayloads})
	} else {
		queries = append(queries, Query{r.sql.RunOutputs, []any{runID, api.MaxReplyBytes}, shown.read})
	}
	if err := r.db.AskAtOneMoment(ctx, queries...); err != nil {
		return nil, err
	}
	if len(found.list) == 0 {
		return nil, refusal.UnknownRun(runID)
	}
	found.list[0].Outputs = shown.list
	return found.list[0], nil
}

// Named implements reads.Reader.
func (r *Reader) Named(ctx context.Context, name string) (*model.IdempotencyRecord, error) {
	unknown := refusal.UnknownRun(name)
	if !refusal.ValidID(name) {
		return nil, unknown
	}
	key := model.NameKey(name)
	record, err := first(ctx, r.db, columns.Records.Targets, unknown, r.sql.Named, key.Scope, string(key.Operation), key.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	if err = r.reachesRun(ctx, record.RunID); refusal.CodeOf(err) != "" {
		return nil, unknown
	}
	return record, err
}

// SettledAfter implements reads.Reader.
func (r *Reader) SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error) {
	if err := r.reachesRun(ctx, runID); err != nil {
		return nil, nil, err
	}
	var found records
	var settled []model.Request
	err := r.db.AskAtOneMoment(ctx,
		Query{r.sql.Run, []any{runID}, found.readRuns},
		Query{r.sql.SettledAfter, []any{runID, after, api.MaxUnpaged, api.MaxReplyBytes}, func(rows columns.Rows) error {
			return readWithin(rows, columns.Requests.Targets, sizeOfSettled, &settled)
		}})
	if err != nil {
		return nil, nil, err
	}
	if len(found.list) == 0 {
		return nil, nil, refusal.UnknownRun(runID)
	}
	return &found.list[0].Run, settled, nil
}

func sizeOfSettled(q *model.Request) int { return len(q.Body) + len(q.Resolution) + len(q.Sealed) }

// readWithin adds the rows of a statement that fit into api.MaxReplyBytes, one at least, and leaves the rest unread.
func readWithin[R any](rows columns.Rows, targets func(*R) []any, size func(*R) int, list *[]R) error {
	for bytes := 0; bytes < api.MaxReplyBytes && rows.Next(); {
		var row R
		if err := rows.Scan(targets(&row)...); err != nil {
			return err
		}
		if bytes += size(&row); bytes > api.MaxReplyBytes && len(*list) > 0 {
			break
		}
		*list = append(*list, row)
	}
	return rows.Err()
}

// Session implements reads.Reader.
func (r *Reader) Session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	if err := r.reachesSession(ctx, sessionID); err != nil {
		return nil, err
	}
	var sessions []model.Session
	var active records
	var shown outputs
	record := &model.SessionRecord{}
	id := []any{sessionID}
	err := r.db.AskAtOneMoment(ctx,
		Query{r.sql.Session, id, into(columns.Sessions.Targets, &sessions)},
		Query{r.sql.ActiveRun, id, active.readRuns},
		Query{r.sql.ActiveRunRequests, id, active.readRequests},
		Query{r.sql.SessionBesides, []any{sessionID, api.MaxClarificationsShown}, into(columns.PendingRequest, &record.Besides)},
		Query{r.sql.QueuedRunIDs, id, into(columns.Itself[string], &record.QueuedRunIDs)},
		Query{r.sql.SessionOutputs, []any{sessionID, api.MaxReplyBytes}, shown.read})
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, refusal.UnknownSession(sessionID)
	}
	record.Session, record.Outputs, record.OutputsTruncated = sessions[0], shown.list, shown.truncated()
	if len(active.list) > 0 {
		record.Active = active.list[0]
	}
	return record, nil
}

// SessionHead implements reads.Reader.
func (r *Reader) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	unknown := refusal.UnknownSession(sessionID)
	if !refusal.ValidID(sessionID) {
		return nil, unknown
	}
	f := filter{args: []any{sessionID}}
	f.sessionWithin(&r.scope)
	return first(ctx, r.db, columns.Sessions.Targets, unknown, f.with(r.sql.Session), f.args...)
}

// RequestByHandle implements reads.Reader.
func (r *Reader) RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error) {
	unknown := refusal.UnknownRequest(handle)
	if !storable(handle) {
		return nil, unknown
	}
	f := filter{args: []any{handle}}
	f.requestWithin(&r.scope)
	return first(ctx, r.db, columns.PendingRequest, unknown, f.with(r.sql.RequestByHandle), f.args...)
}
