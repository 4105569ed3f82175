package read

import (
	"context"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/columns"
)

// EventsWithin implements reads.Reader. After the first [cpulimit.Bytes] of a page it enters the
// semaphore, so that a caller that reads many pages leaves processors to others.
func (r *Reader) EventsWithin(ctx context.Context, q reads.EventQuery) (events []model.Event, more bool, err error) {
	if q.RunID != "" {
		err = r.reachesRun(ctx, q.RunID)
	} else {
		err = r.reachesSession(ctx, q.SessionID)
	}
	if err != nil {
		return nil, false, err
	}
	first := q
	first.MaxBytes = min(q.MaxBytes, cpulimit.Bytes)
	page := eventPage{maxRows: q.Limit, maxBytes: first.MaxBytes}
	if err := r.readEvents(ctx, first, &page); err != nil {
		return nil, false, err
	}
	if !page.more || len(page.events) >= q.Limit || first.MaxBytes == q.MaxBytes {
		return page.events, page.more, nil
	}
	end, err := cpulimit.Begin(ctx)
	if err != nil {
		return nil, false, err
	}
	defer end()
	rest, had := q, len(page.events)
	rest.After, rest.Limit, rest.Kept = page.events[had-1].EventID, q.Limit-had, false
	page.more, page.maxBytes = false, q.MaxBytes
	switch err := r.readEvents(ctx, rest, &page); {
	case refusal.CodeOf(err) == api.CodeEventCursorReset:
		// Retention deleted events meanwhile. A page has no gap, so it ends before this event.
		return page.events[:had], true, nil
	case err != nil:
		return nil, false, err
	}
	return page.events, page.more, nil
}

// eventPage is a page of events that is being read.
type eventPage struct {
	maxRows, maxBytes int
	events            []model.Event
	// bytes is the size of the bodies. more says that some events did not fit.
	bytes int
	more  bool
}

// read reads the rows that fit; the first one of a page always does.
func (p *eventPage) read(rows columns.Rows) error {
	had := len(p.events)
	var counted int64
	for rows.Next() {
		var event model.Event
		if err := rows.Scan(append(columns.Events.Targets(&event), &counted)...); err != nil {
			return err
		}
		if bytes := p.bytes + len(event.Body); len(p.events) < p.maxRows && (bytes <= p.maxBytes || len(p.events) == 0) {
			p.events, p.bytes = append(p.events, event), bytes
			continue
		}
		p.more = true
		break
	}
	p.more = p.more || counted > int64(len(p.events)-had)
	return rows.Err()
}

// readEvents adds events to a page.
func (r *Reader) readEvents(ctx context.Context, q reads.EventQuery, page *eventPage) error {
	keptSQL, statement, id, unknown := r.sql.SessionKept, r.sql.SessionEventsWithin, q.SessionID, refusal.UnknownSession(q.SessionID)
	if q.RunID != "" {
		keptSQL, statement, id, unknown = r.sql.RunKept, r.sql.RunEventsWithin, q.RunID, refusal.UnknownRun(q.RunID)
	}
	switch {
	case q.Outputs:
		statement = r.sql.RunOutputsWithin
	case q.AboutRequests && q.RunID != "":
		statement = r.sql.RunRequestEventsWithin
	case q.AboutRequests:
		statement = r.sql.SessionRequestEventsWithin
	}
	type kept struct{ first, last int64 }
	var found []kept
	// The kept range is read last, so a log that is trimmed in between is not mistaken for
	// complete.
	err := r.db.Ask(ctx,
		Query{statement, []any{id, q.After, max(q.Limit, 0) + 1, q.MaxBytes - page.bytes}, page.read},
		Query{keptSQL, []any{id}, into(func(k *kept) []any { return []any{&k.first, &k.last} }, &found)})
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return unknown
	case !q.Kept && q.After > 0 && (q.After < found[0].first-1 || q.After > found[0].last):
		return refusal.EventsReset(q.After, found[0].last, found[0].first)
	}
	return nil
}
