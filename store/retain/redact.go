package retain

import (
	"context"
	"fmt"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/failpoint"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/columns"
)

// RedactStatements are the statements of an engine.
type RedactStatements struct {
	// Lock locks the session $1 and returns one row, or none if the session does not exist.
	Lock string
	// Events reads the events of $1 session_id whose numbers are in the list $2, in their order.
	Events string
	// Needed returns the first of those events whose run is not finished, or that a pending
	// delivery needs.
	Needed string
	// Requests reads request $3 of the run $2 of the session $1 if it is settled.
	Requests string
	// Event writes the body $3 of event $2 of the session $1.
	Event string
	// Request writes the body $4 and the resolution $5 of request $3 of run $2 of the session
	// $1, and deletes its sealed values, except $6, its callback, while the effect $7 is not
	// done.
	Request string
	// Run deletes the output and the error of run $2 of session $1.
	Run string
	// Asked delete the input and its preview of run $2 of session $1 if it is a child's
	// question: both are the question.
	Asked []string
	// Session changes the version of session $1.
	Session string
}

// Redact deletes the bodies of events, and the requests, resolutions and outputs that they
// report. addEntry writes the line of the audit's own log. It returns the number of events
// without a body, so that a repeated call gets the same answer.
func Redact(ctx context.Context, tx Transaction, s *RedactStatements, r *runs.Redaction, addEntry func() error) (int, error) {
	if _, there, err := number(ctx, tx, s.Lock, r.SessionID); err != nil || !there {
		if err == nil {
			err = refusal.UnknownSession(r.SessionID)
		}
		return 0, err
	}
	failpoint.Hit("redact.locked")
	ids := make([]string, len(r.EventIDs))
	for i, id := range r.EventIDs {
		ids[i] = strconv.FormatInt(id, 10)
	}
	needed, is, err := number(ctx, tx, s.Needed, r.SessionID, tx.List(ids))
	switch {
	case err != nil:
		return 0, err
	case is && needed != 0:
		return 0, refusal.New(api.CodeEventNeeded, "event %d belongs to a run that is not finished or has pending deliveries: redact it afterwards", needed)
	}
	changed, gone := false, map[string]bool{}
	// One at a time: their bodies together may be larger than the memory.
	for i, id := range ids {
		events, err := list(ctx, tx, columns.Events, s.Events, r.SessionID, tx.List([]string{id}))
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
	if _, err := tx.Write(ctx, s.Session, r.SessionID); err != nil {
		return 0, err
	}
	return len(gone), addEntry()
}

// redactOne deletes the body of one event and what it reports.
func redactOne(ctx context.Context, tx Transaction, s *RedactStatements, event *model.Event) error {
	reports := model.AboutRequest(event.Type) && event.Type != api.EventRequestAcknowledged
	if reports || event.Type == api.EventParentClarificationRequested {
		for requestID := range event.RequestIDs() {
			requests, err := list(ctx, tx, columns.Requests, s.Requests, event.SessionID, event.RunID, requestID)
			if err != nil {
				return err
			}
			for _, request := range requests {
				effectID := request.Redact()
				if _, err := tx.Write(ctx, s.Request, event.SessionID, event.RunID, requestID, string(request.Body), string(request.Resolution), string(request.Sealed), effectID); err != nil {
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
		if _, err := tx.Write(ctx, s.Run, event.SessionID, event.RunID); err != nil {
			return err
		}
	}
	_, err := tx.Write(ctx, s.Event, event.SessionID, event.EventID, string(event.RedactedBody()))
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
