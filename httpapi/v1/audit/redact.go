package audit

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// redact removes the bodies of a session's events.
func (a *audits) redact(w http.ResponseWriter, r *http.Request) error {
	if a.Redactor == nil {
		return refusal.New(wire.CodeServiceUnavailable, "this service redacts nothing")
	}
	sessionID := wire.PathID(r, "session_id")
	var body api.RedactBody
	var faults refusal.Faults
	if err := a.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	var others refusal.Faults
	ids, after := checkRedact(&body, &others)
	faults.AddBeside(others.List...)
	if err := faults.Err(); err != nil {
		return err
	}
	if !refusal.ValidID(sessionID) {
		return refusal.UnknownSession(wire.Shown(sessionID))
	}
	reply := api.RedactReply{}
	if body.BeforeMs != nil {
		var err error
		if ids, reply.NextAfterEventID, err = a.eventsBefore(r, sessionID, after, *body.BeforeMs); err != nil {
			return err
		}
	}
	nowMs, err := a.Store.NowMs(r.Context())
	if err != nil {
		return err
	}
	redaction := &upkeep.Redaction{SessionID: sessionID, EventIDs: ids}
	redaction.Entry = func() *journal.Entry {
		event := api.AuditEvent{Type: api.AuditEventsRedacted, SessionID: sessionID, Reason: body.Reason}
		for _, id := range ids {
			event.EventIDs = append(event.EventIDs, strconv.FormatInt(id, 10))
		}
		return auth.ChangeBy(auth.From(r.Context()), nowMs, event)
	}
	count, err := a.Redactor.RedactEvents(r.Context(), redaction)
	if err != nil {
		return err
	}
	reply.Redacted = int64(count)
	return wire.Respond(w, r, http.StatusOK, reply)
}

func checkRedact(body *api.RedactBody, faults *refusal.Faults) (ids []int64, after int64) {
	faults.Text("/reason", body.Reason, api.MaxTextLength)
	switch {
	case body.Reason == "":
		faults.Add("/reason", "is required")
	case (body.EventIDs == nil) == (body.BeforeMs == nil):
		faults.Add("", "takes either event_ids or before_ms")
	case body.EventIDs != nil && (len(body.EventIDs) == 0 || len(body.EventIDs) > api.MaxRedactions):
		faults.Add("/event_ids", "must have 1 to %d numbers", api.MaxRedactions)
	case body.EventIDs != nil && body.AfterEventID != "":
		faults.Add("/after_event_id", "needs before_ms")
	}
	for i, text := range body.EventIDs {
		id, readable := wire.Decimal(text)
		if !readable || id == 0 {
			faults.Add(fmt.Sprintf("/event_ids/%d", i), "must be the number of an event")
			break
		}
		ids = append(ids, id)
	}
	if body.AfterEventID != "" {
		var readable bool
		if after, readable = wire.Decimal(body.AfterEventID); !readable {
			faults.Add("/after_event_id", "must be the number of an event")
		}
	}
	return ids, after
}

// eventsBefore returns the next events after an id and before the first event at or after a time.
// When there are more, it also returns the last id.
func (a *audits) eventsBefore(r *http.Request, sessionID string, after, beforeMs int64) (ids []int64, next *string, err error) {
	for {
		events, more, err := a.Store.Reader(r.Context()).EventsWithin(r.Context(), reads.EventQuery{
			SessionID: sessionID, After: after, Limit: api.MaxRedactions - len(ids), MaxBytes: api.MaxReplyBytes,
		})
		if err != nil {
			return nil, nil, err
		}
		for i := range events {
			if events[i].TimestampMs >= beforeMs {
				return ids, nil, nil
			}
			after = events[i].EventID
			ids = append(ids, after)
		}
		switch {
		case !more || len(events) == 0:
			return ids, nil, nil
		case len(ids) == api.MaxRedactions:
			return ids, new(strconv.FormatInt(after, 10)), nil
		}
	}
}
