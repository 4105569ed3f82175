package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Summary says how much was looked at and how often each invariant is broken.
type Summary struct {
	Rows Rows `json:"rows"`
	// Findings counts the findings by code; it is empty when all is well.
	Findings map[Code]int64 `json:"findings"`
}

// Rows counts the rows that were looked at.
type Rows struct {
	Sessions           int64 `json:"sessions"`
	Runs               int64 `json:"runs"`
	Requests           int64 `json:"requests"`
	Events             int64 `json:"events"`
	IdempotencyRecords int64 `json:"idempotency_records"`
	Effects            int64 `json:"effects"`
	Messages           int64 `json:"messages"`
	Rules              int64 `json:"rules"`
}

// Healthy reports whether nothing was found.
func (s *Summary) Healthy() bool { return len(s.Findings) == 0 }

// Count returns how many findings there were.
func (s *Summary) Count() int64 {
	var count int64
	for _, ofCode := range s.Findings {
		count += ofCode
	}
	return count
}

// Examine walks all rows and calls report with each finding, in the order of the
// sessions. Where one fault shows in several ways, it is reported by the way that
// says most about it, as far as that can be told. It returns the walker's error, and
// then the summary is about what was walked until then. Memory grows with the
// largest session, not with the database.
func Examine(ctx context.Context, walker model.Walker, report func(Finding)) (Summary, error) {
	e := &examiner{
		report:   report,
		summary:  Summary{Findings: map[Code]int64{}},
		runs:     map[string]*run{},
		requests: map[runs.RequestKey]*request{},
		owed:     map[string]bool{}, delivered: map[runs.RequestKey]bool{},
	}
	err := walker.Walk(ctx, e.visit)
	return e.summary, err
}

// examiner holds what it knows of the session that it is at.
type examiner struct {
	report  func(Finding)
	summary Summary

	sessionID       string
	parentSessionID string
	runs            map[string]*run
	requests        map[runs.RequestKey]*request
	// owed holds, for each effect, its kind and the run of the clarification.
	owed map[string]bool
	// delivered holds the requests whose answers lie in the mailbox.
	delivered map[runs.RequestKey]bool
	// What is in the maps, in the order in which it is checked.
	orderedRuns     []*run
	orderedRequests []*request
}

// find reports a finding in the present session.
func (e *examiner) find(code Code, where Finding, detail string, args ...any) {
	e.summary.Findings[code]++
	where.Code, where.SessionID = code, e.sessionID
	where.Detail = fmt.Sprintf(detail, args...)
	e.report(where)
}

func (e *examiner) visit(rows *model.SessionRows) error {
	e.sessionID = rows.SessionID
	clear(e.runs)
	clear(e.requests)
	clear(e.owed)
	clear(e.delivered)
	e.orderedRuns, e.orderedRequests = e.orderedRuns[:0], e.orderedRequests[:0]
	if rows.Session == nil {
		return e.visitOrphans(rows)
	}
	e.summary.Rows.Sessions++
	e.parentSessionID = rows.Session.ParentSessionID
	if err := e.readRuns(rows.Runs); err != nil {
		return err
	}
	if err := e.readRequests(rows.Requests); err != nil {
		return err
	}
	if err := e.readEvents(rows); err != nil {
		return err
	}
	if err := e.readRecords(rows.Records); err != nil {
		return err
	}
	if err := e.readEffects(rows.Effects); err != nil {
		return err
	}
	if err := e.readMessages(rows.Messages); err != nil {
		return err
	}
	if err := e.readRules(rows); err != nil {
		return err
	}
	e.order()
	for _, request := range e.orderedRequests {
		e.checkReports(request)
		e.checkDelivery(request)
	}
	for _, run := range e.orderedRuns {
		e.checkRun(run)
	}
	e.checkSession(rows.Session)
	return nil
}

// order gives the findings of a session an order that does not depend on its engine.
func (e *examiner) order() {
	slices.SortFunc(e.orderedRuns, func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.FirstEventID, b.FirstEventID), cmp.Compare(a.RunID, b.RunID))
	})
	slices.SortFunc(e.orderedRequests, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.RequestID, b.RequestID))
	})
}

// visitOrphans counts the rows of a session that is not there. Its rules are none of
// them: a rule may name a session to come, or none.
func (e *examiner) visitOrphans(rows *model.SessionRows) error {
	var orphans Rows
	var err error
	if orphans.Runs, err = count(rows.Runs); err != nil {
		return err
	}
	if orphans.Requests, err = count(rows.Requests); err != nil {
		return err
	}
	if orphans.Events, err = count(rows.Events); err != nil {
		return err
	}
	if orphans.IdempotencyRecords, err = count(rows.Records); err != nil {
		return err
	}
	if orphans.Effects, err = count(rows.Effects); err != nil {
		return err
	}
	if orphans.Messages, err = count(rows.Messages); err != nil {
		return err
	}
	e.summary.Rows.Runs += orphans.Runs
	e.summary.Rows.Requests += orphans.Requests
	e.summary.Rows.Events += orphans.Events
	e.summary.Rows.IdempotencyRecords += orphans.IdempotencyRecords
	e.summary.Rows.Effects += orphans.Effects
	e.summary.Rows.Messages += orphans.Messages
	if err := e.readRules(rows); err != nil {
		return err
	}
	if orphans == (Rows{}) {
		return nil
	}
	e.find(SessionMissing, Finding{}, "the session is not there, but %d runs, %d requests, %d events, %d idempotency records, %d effects and %d messages of it are",
		orphans.Runs, orphans.Requests, orphans.Events, orphans.IdempotencyRecords, orphans.Effects, orphans.Messages)
	return nil
}

func count[R any](rows model.RowSequence[R]) (int64, error) {
	if rows == nil {
		return 0, nil
	}
	var counted int64
	for _, err := range rows {
		if err != nil {
			return counted, err
		}
		counted++
	}
	return counted, nil
}

func (e *examiner) readRecords(rows model.RowSequence[model.IdempotencyRecord]) error {
	for record, err := range rows {
		if err != nil {
			return err
		}
		e.summary.Rows.IdempotencyRecords++
		if e.runs[record.RunID] == nil {
			e.find(RecordWithoutRun, Finding{RunID: record.RunID, IdempotencyKey: record.IdempotencyKey},
				"the %s record of scope %s names a run that the session does not have", record.Operation, record.Scope)
		}
	}
	return nil
}
