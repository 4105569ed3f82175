package retain

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
	"github.com/holdpoint/holdpoint/store/columns"
)

// RedactStatements are the statements of redaction that differ between the engines.
type RedactStatements struct {
	// Lock locks the session $1 and returns one row, or none if the session does not exist.
	Lock string
	// Changed changes the version of session $1, so that caches of its rows become stale.
	Changed string
	// Events reads the events of $1 session_id whose numbers are in the list $2, in their order.
	Events string
	// Needed returns the first of those events whose run is not finished, or that a pending
	// delivery needs, or a failed one to another session, which may be retried.
	Needed string
	// Asked delete the input and its preview of run $2 of session $1 if it is a child's
	// question: both are the question, which is the input of a run in its parent's session.
	Asked []string
}

// The statements of redaction that are the same in both engines, whose tests check their plans. They are about
// a settled request $3 of run $2 of session $1, an event $2 of session $1, and run $2 of session $1, whose end the event
// $3 was. After a retry, the output and the error belong to a later event. The last error may be of any of its ends.
const (
	sqlRedactRequests = `SELECT q.* FROM requests AS q WHERE q.session_id = $1 AND q.run_id = $2 AND q.request_id = $3 AND q.outcome IS NOT NULL`
	// The sealed values are deleted. The callback $6 is kept while its delivery, the effect $7, is pending, and
	// after it failed, because it may be replayed.
	sqlRedactRequest = `
UPDATE requests SET body = $4, resolution = $5,
	sealed = (SELECT CAST($6 AS text) FROM effects AS f WHERE f.session_id = $1 AND f.effect_id = $7 AND f.state <> 'done')
WHERE session_id = $1 AND run_id = $2 AND request_id = $3`
	// A worker that continues the run would get an emptied decision, in a Resume or for a repeated suspension: it is not retried.
	sqlRedactDecided = `UPDATE runs SET secrets_erased = TRUE WHERE session_id = $1 AND run_id = $2`
	sqlRedactEvent   = `UPDATE events SET body = $3 WHERE session_id = $1 AND event_id = $2`
	sqlRedactRun     = `
UPDATE runs SET output = CASE WHEN last_event_id = $3 THEN NULL ELSE output END,
	error = CASE WHEN error IS NULL OR last_event_id <> $3 THEN error ELSE 'redacted' END,
	last_error = CASE WHEN last_error IS NULL THEN NULL ELSE 'redacted' END
WHERE session_id = $1 AND run_id = $2`
)

// RedactEvents implements [upkeep.Redactor].
func (r *Retention) RedactEvents(ctx context.Context, redaction *upkeep.Redaction) (count int, err error) {
	err = r.alone(ctx, "redact events", func(ctx context.Context, tx Transaction) (err error) {
		count, err = r.redact(ctx, tx, redaction)
		return err
	})
	if err != nil {
		return 0, err
	}
	failpoint.Hit("redact.committed")
	return count, nil
}

// redact deletes the bodies of events, and the requests, resolutions and outputs that they
// report, and writes the line of the audit's own log. It returns the number of events without a
// body, so that a repeated call gets the same answer.
func (r *Retention) redact(ctx context.Context, tx Transaction, redaction *upkeep.Redaction) (int, error) {
	s, sessionID := r.redaction, redaction.SessionID
	if _, there, err := number(ctx, tx, s.Lock, sessionID); err != nil || !there {
		if err == nil {
			err = refusal.UnknownSession(sessionID)
		}
		return 0, err
	}
	failpoint.Hit("redact.locked")
	ids := make([]string, len(redaction.EventIDs))
	for i, id := range redaction.EventIDs {
		ids[i] = strconv.FormatInt(id, 10)
	}
	needed, is, err := number(ctx, tx, s.Needed, sessionID, tx.List(ids))
	switch {
	case err != nil:
		return 0, err
	case is && needed != 0:
		return 0, refusal.New(api.CodeEventNeeded, "event %d belongs to a run that is not finished or has pending deliveries: redact it afterwards", needed)
	}
	changed, gone := false, map[string]bool{}
	// One at a time: their bodies together may be larger than the memory.
	for i, id := range ids {
		events, err := list(ctx, tx, columns.Events, s.Events, sessionID, tx.List([]string{id}))
		if err != nil {
			return 0, err
		}
		if len(events) == 0 {
			return 0, refusal.Invalid(api.Fault{Pointer: "/event_ids/" + strconv.Itoa(i), Detail: fmt.Sprintf("the session has no event %s", id)})
		}
		gone[id] = true
		if events[0].Redacted() {
			continue
		}
		if err := redactOne(ctx, tx, s, events[0]); err != nil {
			return 0, err
		}
		changed = true
	}
	if !changed {
		return len(gone), nil
	}
	failpoint.Hit("redact.rows")
	if _, err := tx.Write(ctx, s.Changed, sessionID); err != nil {
		return 0, err
	}
	return len(gone), addEntry(ctx, tx, redaction.Entry())
}

// redactOne deletes the body of one event and what it reports.
func redactOne(ctx context.Context, tx Transaction, s *RedactStatements, event *model.Event) error {
	reports := model.AboutRequest(event.Type) && event.Type != api.EventRequestAcknowledged
	if reports || event.Type == api.EventParentClarificationRequested {
		for requestID := range event.RequestIDs() {
			requests, err := list(ctx, tx, columns.Requests, sqlRedactRequests, event.SessionID, event.RunID, requestID)
			if err != nil {
				return err
			}
			for _, request := range requests {
				effectID := request.Redact()
				if _, err := tx.Write(ctx, sqlRedactRequest, event.SessionID, event.RunID, requestID, string(request.Body), string(request.Resolution), string(request.Sealed), effectID); err != nil {
					return err
				}
				if _, err := tx.Write(ctx, sqlRedactDecided, event.SessionID, event.RunID); err != nil {
					return err
				}
			}
		}
	}
	if event.Type == api.EventWaitingForUserQuestion {
		for _, sql := range s.Asked {
			if _, err := tx.Write(ctx, sql, event.SessionID, event.RunID); err != nil {
				return err
			}
		}
	}
	if ends[event.Type] {
		if _, err := tx.Write(ctx, sqlRedactRun, event.SessionID, event.RunID, event.EventID); err != nil {
			return err
		}
	}
	_, err := tx.Write(ctx, sqlRedactEvent, event.SessionID, event.EventID, string(event.RedactedBody()))
	return err
}

// ends are the events that end a run.
var ends = map[api.EventType]bool{api.EventCompleted: true, api.EventFailed: true, api.EventInterrupted: true, api.EventCancelled: true}

// list returns the rows of a query.
func list[R any](ctx context.Context, tx Transaction, table *columns.Table[R], sql string, args ...any) ([]*R, error) {
	var rows []*R
	err := tx.Ask(ctx, columns.Expand(sql), func(found columns.Rows) error {
		return table.Each(found, func(row *R) { rows = append(rows, row) })
	}, args...)
	return rows, err
}
