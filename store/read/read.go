// Package read answers runs.Reader for both engines: it checks ids, asks the statements
// of an engine, and puts their rows together into records. Lists are built here as well
// (lists.go), because each has as many forms as it has filters.
//
// It must not know a driver; what differs between the dialects is in Statements.
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
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/columns"
)

// Query is one statement with its arguments. Read is handed the rows.
type Query struct {
	SQL  string
	Args []any
	Read func(columns.Rows) error
}

// Database runs queries. Errors of the database wrap runs.ErrUnavailable; those of a
// context and of package refusal are returned as they are.
type Database interface {
	// Ask runs queries one after the other, each of which may see another moment.
	Ask(ctx context.Context, queries ...Query) error
	// AskAtOneMoment runs queries that all see the same moment.
	AskAtOneMoment(ctx context.Context, queries ...Query) error
	// Snapshot calls do, whose queries all see the same moment and may depend on each
	// other.
	Snapshot(ctx context.Context, do func(ask func(...Query) error) error) error
	// List returns a list of texts as one argument.
	List(texts []string) any
	// Now returns the last argument of the statements that compare with the present
	// moment, none when the database has the clock itself.
	Now() []any
}

// Statements are the statements of an engine. In each, the columns of a row type are
// expanded (see columns.Expand).
type Statements struct {
	// Run, of $1 run_id, has the place in the queue last. RunPayload has run_id, input
	// and checkpoint.
	Run, RunPayload string
	// Of the list $1 of run ids: the open requests and those of the Resume.
	RequestsOfRuns string
	// RunOutputs is of $1 run_id: body of the newest outputs, oldest first, whose bodies
	// have $2 bytes together, and how many there are in all, of those that are shown at most.
	RunOutputs string
	// QueuePlaces has run_id and the number of queued runs ahead, of the sessions $1 and
	// the runs $2.
	QueuePlaces string
	// Named is of $1 scope, $2 operation and $3 idempotency_key.
	Named string
	// SettledAfter is of $1 run_id and $2 settled_number.
	SettledAfter string

	// Of $1 session_id. ActiveRun has the place in the queue last, SessionOutputs is as
	// RunOutputs, and SessionBesides is limited to $2.
	Session, ActiveRun, ActiveRunRequests        string
	QueuedRunIDs, SessionOutputs, SessionBesides string
	// SessionKept has the number of the first kept event of the session. RunKept is of $1 run_id:
	// it has the same of its session when events of the run are gone, else 1. Both have the session's last
	// event besides.
	SessionKept, RunKept string
	// Of $1 session_id or run_id, after $2 event_id, limited to $3 and to $4 bytes of bodies, one
	// event at least, or more: the rest is not read. Behind each event is how many there are within
	// the limit of $3, if that was counted, else 0.
	SessionEventsWithin, RunEventsWithin, RunOutputsWithin string
	// The same of the events about requests.
	SessionRequestEventsWithin, RunRequestEventsWithin string

	// RequestByHandle is of $1 handle, Rule of $1 rule_id.
	RequestByHandle, Rule string
	// StandingRules are those of $1 session_id that are in force and not exact, limited to $2.
	// The present moment is the next argument, if it is one. RuleVersion is of $1 session_id.
	StandingRules, RuleVersion string
	// RuleChanges, after $1 version and limited to $2, has version and rule_id of the changes of
	// rules of all sessions, and ChangedRules those of the same rules that StandingRules has. The
	// present moment is the next argument of the latter, if it is one.
	RuleChanges, ChangedRules string
	// RulesFor is of the list $1 of sessions, limited to $2, and RuleSizesFor has their sizes. Now
	// has the present moment.
	RulesFor, RuleSizesFor, Now string

	// LeasedRuns and ClaimableWithin have the present moment as their first argument, if it is
	// one, and end with a condition: others, an order and a limit are put behind it. The former
	// has the place in the queue last, and the latter is as Claimable, of a table c.
	LeasedRuns, ClaimableWithin string

	// Limited to $1. Claimable runs have run_id, session_id, agent_id and claimable_at_ms,
	// due ones session_id and run_id, due effects session_id and effect_id. The present
	// moment is the next argument, if it is one.
	Claimable, Due, DueEffects string
	// ClaimableOfAgents is of the list $1 of agents, limited to $2.
	ClaimableOfAgents string
	// FinishedRuns, of $1 a moment, after $2 finished_at_ms and $3 run_id, limited to $4, has
	// finished_at_ms, run_id and session_id.
	FinishedRuns string
	// NextDue has the earliest deadline, or 0, and the present moment.
	NextDue string

	Counts

	Lists Lists
}

// Counts are the statements that count rows of all sessions.
type Counts struct {
	// Vitals, of $1 a limit and the present moment as the next argument, if it is one, has what
	// is counted (see the Counted names), a kind, a band of ages, how many rows there are, and the
	// moment of the oldest, or 0.
	Vitals string
	// OpenRequestAfter has kind, session_id, run_id and request_id of the open request that is $5
	// places behind $1 to $4, which are the same. PromptsOf has a principal and how many open
	// requests it has, of those behind $1 to $4 that are not behind $5 to $8.
	OpenRequestAfter, PromptsOf string
	// UnfinishedRunAfter has the submitted_at_ms of the unfinished run that is $2 places behind
	// those of $1 submitted_at_ms. QueuedOf has a principal and how many queued runs it has, of those
	// submitted after $1 and not after $2.
	UnfinishedRunAfter, QueuedOf string
}

// Reader implements runs.Reader.
type Reader struct {
	db Database
	// lists has the lists of everything and their counts, which may be slow.
	lists Database
	sql   *Statements
}

// New returns a reader on so many connections. Each read ends after [Timeout] with an error that wraps
// runs.ErrUnavailable. Half of the connections read lists, so slow ones leave the others to the reads that
// the door and the views wait for. A caller that reads much waits for the others.
func New(db Database, statements *Statements, connections int) *Reader {
	all := few{db, cpulimit.NewSemaphore(connections)}
	lists := few{all, cpulimit.NewSemaphore(connections / 2)}
	return &Reader{bounded{all, Timeout}, bounded{lists, Timeout}, statements}
}

// storable reports whether a text can be compared with a column at all: Postgres refuses
// a parameter that is not UTF-8 or holds a NUL byte, so no column holds one.
func storable(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		return !utf8.ValidString(text) || slices.Contains([]byte(text), 0)
	})
}

// list runs one query and returns its rows.
func list[R any](ctx context.Context, db Database, targets func(*R) []any, sql string, args ...any) ([]R, error) {
	var found []R
	err := db.Ask(ctx, Query{sql, args, func(rows columns.Rows) error { return columns.List(rows, targets, &found) }})
	return found, err
}

// errNoRow is the error of a query that always has a row, and had none.
var errNoRow = fmt.Errorf("%w: a query has no row", runs.ErrUnavailable)

// first runs one query and returns its first row, or an error when there is none.
func first[R any](ctx context.Context, db Database, targets func(*R) []any, missing error, sql string, args ...any) (*R, error) {
	found, err := list(ctx, db, targets, sql, args...)
	if err == nil && len(found) == 0 {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// count runs a query that has one number.
func count(ctx context.Context, db Database, sql string, args ...any) (int64, error) {
	counted, err := first(ctx, db, itself[int64], errNoRow, sql, args...)
	if err != nil {
		return 0, err
	}
	return *counted, nil
}

// itself is the target of a row of one column.
func itself[R any](row *R) []any { return []any{row} }

// into returns the function that reads rows into a list.
func into[R any](targets func(*R) []any, found *[]R) func(columns.Rows) error {
	return func(rows columns.Rows) error { return columns.List(rows, targets, found) }
}

// Run implements runs.Reader.
func (r *Reader) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	return r.run(ctx, runID, false)
}

// ClaimedRun implements runs.Reader.
func (r *Reader) ClaimedRun(ctx context.Context, runID string) (*model.RunRecord, error) {
	return r.run(ctx, runID, true)
}

func (r *Reader) run(ctx context.Context, runID string, withPayload bool) (*model.RunRecord, error) {
	if !refusal.ValidID(runID) {
		return nil, refusal.UnknownRun(runID)
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

// Named implements runs.Reader.
func (r *Reader) Named(ctx context.Context, name string) (*model.IdempotencyRecord, error) {
	unknown := refusal.UnknownRun(name)
	if !refusal.ValidID(name) {
		return nil, unknown
	}
	key := model.NameKey(name)
	return first(ctx, r.db, columns.Records.Targets, unknown, r.sql.Named, key.Scope, string(key.Operation), key.IdempotencyKey)
}

// SettledAfter implements runs.Reader.
func (r *Reader) SettledAfter(ctx context.Context, runID string, after int64) (*model.Run, []model.Request, error) {
	if !refusal.ValidID(runID) {
		return nil, nil, refusal.UnknownRun(runID)
	}
	var found records
	var settled []model.Request
	err := r.db.AskAtOneMoment(ctx,
		Query{r.sql.Run, []any{runID}, found.readRuns},
		Query{r.sql.SettledAfter, []any{runID, after}, into(columns.Requests.Targets, &settled)})
	if err != nil {
		return nil, nil, err
	}
	if len(found.list) == 0 {
		return nil, nil, refusal.UnknownRun(runID)
	}
	return &found.list[0].Run, settled, nil
}

// Session implements runs.Reader.
func (r *Reader) Session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	if !refusal.ValidID(sessionID) {
		return nil, refusal.UnknownSession(sessionID)
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
		Query{r.sql.QueuedRunIDs, id, into(itself[string], &record.QueuedRunIDs)},
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

// SessionHead implements runs.Reader.
func (r *Reader) SessionHead(ctx context.Context, sessionID string) (*model.Session, error) {
	unknown := refusal.UnknownSession(sessionID)
	if !refusal.ValidID(sessionID) {
		return nil, unknown
	}
	return first(ctx, r.db, columns.Sessions.Targets, unknown, r.sql.Session, sessionID)
}

// RequestByHandle implements runs.Reader.
func (r *Reader) RequestByHandle(ctx context.Context, handle string) (*model.PendingRequest, error) {
	unknown := refusal.UnknownRequest(handle)
	if !storable(handle) {
		return nil, unknown
	}
	return first(ctx, r.db, columns.PendingRequest, unknown, r.sql.RequestByHandle, handle)
}
