package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Summary counts the checked rows and the findings.
type Summary struct {
	Rows Rows `json:"rows"`
	// Findings counts the findings by code. It is empty if every invariant holds.
	Findings map[Code]int64 `json:"findings"`
}

// Rows counts the checked rows by table.
type Rows struct {
	Sessions           int64 `json:"sessions"`
	Runs               int64 `json:"runs"`
	Requests           int64 `json:"requests"`
	Events             int64 `json:"events"`
	IdempotencyRecords int64 `json:"idempotency_records"`
	Effects            int64 `json:"effects"`
	Messages           int64 `json:"messages"`
	Rules              int64 `json:"rules"`
	AuditEntries       int64 `json:"audit_entries"`
}

// Healthy reports whether every invariant holds.
func (s *Summary) Healthy() bool { return len(s.Findings) == 0 }

// Count returns the number of findings.
func (s *Summary) Count() int64 {
	var count int64
	for _, ofCode := range s.Findings {
		count += ofCode
	}
	return count
}

// Examine walks all rows and calls report with each finding, ordered by session. If one fault
// breaks several invariants, it reports the most specific one where possible. It returns the
// walker's error together with the summary so far. Memory grows with the largest session, not
// with the database.
func Examine(ctx context.Context, walker model.Walker, report func(Finding)) (Summary, error) {
	e := &examiner{
		report:    report,
		summary:   Summary{Findings: map[Code]int64{}},
		runs:      map[string]*run{},
		requests:  map[runs.RequestKey]*request{},
		effectIDs: map[string]bool{}, answered: map[runs.RequestKey]bool{},
	}
	if checker, able := walker.(model.StorageChecker); able {
		if err := e.found(checker.CheckStorage(ctx, e.damaged)); err != nil {
			return e.summary, err
		}
	}
	return e.summary, e.found(walker.Walk(ctx, e.visit))
}

// found reports an error of damaged storage and returns any other.
func (e *examiner) found(err error) error {
	if !errors.Is(err, model.ErrDamaged) {
		return err
	}
	e.sessionID = ""
	e.damaged("not everything can be read: " + err.Error())
	return nil
}

// storageDamaged says what the finding of [model.StorageChecker] means.
const storageDamaged = "Pages of SQLite's file are damaged, an index lacks rows, or Postgres's `claimable_runs` differs from the runs that can be claimed."

func (e *examiner) damaged(fault string) { e.find(StorageDamaged, Finding{}, fault) }

// examiner holds the state of the session being checked.
type examiner struct {
	report  func(Finding)
	summary Summary

	sessionID       string
	parentSessionID string
	createdAtMs     int64
	endedAtMs       int64 // 0 for no end
	// draining: the session has ended, and an effect ends the rest of it.
	draining bool
	// firstKept is the first kept event, 0 if all are kept.
	firstKept   int64
	lastEventID int64
	// lastEventHash is its hash, "" without one, and firstEventHash the hash of event 1.
	lastEventHash, firstEventHash string
	// outputs counts its output events.
	outputs  int64
	runs     map[string]*run
	requests map[runs.RequestKey]*request
	// effectIDs are the ids that the session's effects have or should have.
	effectIDs map[string]bool
	// answered are the requests whose answers are in the mailbox.
	answered map[runs.RequestKey]bool
	// orderedRuns and orderedRequests have an order that does not depend on the engine.
	orderedRuns     []*run
	orderedRequests []*request
	// active are the runs in the session's slot, queued those in its queue.
	active, queued []*run
}

// find reports a finding in the current session.
func (e *examiner) find(code Code, at Finding, detail string) {
	e.summary.Findings[code]++
	at.Code, at.SessionID, at.Detail = code, e.sessionID, detail
	e.report(at)
}

// visit checks the rows of one session. Tables are read one by one; checks across tables come
// last.
func (e *examiner) visit(rows *model.SessionRows) error {
	e.sessionID = rows.SessionID
	e.endedAtMs, e.draining = 0, false
	if rows.Session != nil {
		e.endedAtMs = rows.Session.EndedAtMs
	}
	clear(e.runs)
	clear(e.requests)
	clear(e.effectIDs)
	clear(e.answered)
	e.orderedRuns, e.orderedRequests = e.orderedRuns[:0], e.orderedRequests[:0]
	if rows.Session == nil {
		return e.visitOrphans(rows)
	}
	e.summary.Rows.Sessions++
	e.parentSessionID, e.createdAtMs = rows.Session.ParentSessionID, rows.Session.CreatedAtMs
	e.firstKept = rows.Session.FirstKeptEventID
	for _, read := range []func(*model.SessionRows) error{
		e.readRuns, e.readRequests, e.readEvents, e.readRecords, e.readEffects, e.readMessages, e.readRules,
	} {
		if err := read(rows); err != nil {
			return err
		}
	}
	slices.SortFunc(e.orderedRequests, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.RequestID, b.RequestID))
	})
	for _, request := range e.orderedRequests {
		if of := e.runs[request.RunID]; of != nil && (of.FirstEventID < e.firstKept || of.redacted) {
			continue // its events are deleted or redacted
		}
		reportInvariants.examine(e, request, request.at())
	}
	for _, run := range e.orderedRuns {
		if run.FirstEventID < e.firstKept {
			continue // its first events are deleted, and the run will be next
		}
		runInvariants.examine(e, run, Finding{RunID: run.RunID})
	}
	activeRunInvariants.examine(e, rows.Session, e.activeRunAt(rows.Session))
	sessionInvariants.examine(e, rows.Session, Finding{})
	return nil
}

func (e *examiner) readRuns(rows *model.SessionRows) error {
	err := each(rows.Runs, &e.summary.Rows.Runs, func(row *model.Run) {
		known := newRun(row)
		e.runs[row.RunID] = known
		e.orderedRuns = append(e.orderedRuns, known)
	})
	slices.SortFunc(e.orderedRuns, func(a, b *run) int {
		return cmp.Or(cmp.Compare(a.FirstEventID, b.FirstEventID), cmp.Compare(a.RunID, b.RunID))
	})
	e.orderRuns()
	return err
}

func (e *examiner) readRequests(rows *model.SessionRows) error {
	return each(rows.Requests, &e.summary.Rows.Requests, func(row *model.Request) {
		full, known := e.readRequest(row)
		if full.of != nil {
			e.requests[known.RequestKey] = known
			e.orderedRequests = append(e.orderedRequests, known)
			full.of.add(row, known)
		}
		requestInvariants.examine(e, full, known.at())
	})
}

func (e *examiner) readRecords(rows *model.SessionRows) error {
	return each(rows.Records, &e.summary.Rows.IdempotencyRecords, func(record *model.IdempotencyRecord) {
		recordInvariants.examine(e, record, Finding{RunID: record.RunID, IdempotencyKey: record.IdempotencyKey})
	})
}

func (e *examiner) readEffects(rows *model.SessionRows) error {
	return each(rows.Effects, &e.summary.Rows.Effects, func(row *model.Effect) {
		effect := readEffect(row)
		e.effectIDs[row.EffectID] = true
		e.draining = e.draining || row.Kind == api.EffectDrainSession && row.State == api.EffectPending
		if effect.readable {
			e.effectIDs[effect.id()] = true
		}
		effectInvariants.examine(e, effect, Finding{RunID: row.RunID, EffectID: row.EffectID})
	})
}

func (e *examiner) readMessages(rows *model.SessionRows) error {
	return each(rows.Messages, &e.summary.Rows.Messages, func(row *model.Message) {
		messageInvariants.examine(e, e.readMessage(row), Finding{RunID: row.RunID, MessageID: row.MessageID})
	})
}

func (e *examiner) readRules(rows *model.SessionRows) error {
	return each(rows.Rules, &e.summary.Rows.Rules, func(rule *rules.Rule) {
		ruleInvariants.examine(e, rule, Finding{RuleID: rule.RuleID})
	})
}

// visitOrphans counts the rows of a session that does not exist. Its rules are not orphans: a
// rule may name a session that is created later, or never.
func (e *examiner) visitOrphans(rows *model.SessionRows) error {
	before := e.summary.Rows
	all := &e.summary.Rows
	// A key may outlive its session.
	err := each(rows.Records, &before.IdempotencyRecords, nil)
	if err != nil {
		return err
	}
	all.IdempotencyRecords = before.IdempotencyRecords
	for _, err := range []error{
		each(rows.Runs, &all.Runs, nil), each(rows.Requests, &all.Requests, nil), each(rows.Events, &all.Events, nil),
		each(rows.Effects, &all.Effects, nil), each(rows.Messages, &all.Messages, nil),
	} {
		if err != nil {
			return err
		}
	}
	if *all != before {
		e.find(SessionMissing, Finding{}, fmt.Sprintf(
			"the session is not there, but %d runs, %d requests, %d events, %d effects and %d messages of it are",
			all.Runs-before.Runs, all.Requests-before.Requests, all.Events-before.Events,
			all.Effects-before.Effects, all.Messages-before.Messages))
	}
	if err := e.readRules(rows); err != nil {
		return err
	}
	return e.readEntries(rows)
}

// each counts the rows of a table, nil if empty, and calls visit with each unless visit is nil.
func each[Row any](rows model.RowSequence[Row], counted *int64, visit func(*Row)) error {
	if rows == nil {
		return nil
	}
	for row, err := range rows {
		if err != nil {
			return err
		}
		*counted++
		if visit != nil {
			visit(row)
		}
	}
	return nil
}
