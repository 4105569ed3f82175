package doctor

import (
	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// eventBody is what the checks read of an event.
type eventBody struct {
	Type        api.EventType `json:"type"`
	RequestIDs  []string      `json:"request_ids"`
	RequestID   string        `json:"request_id"`
	Resolution  *reported     `json:"resolution"`
	Resolutions []reported    `json:"resolutions"`
}

// typeOnly is what they read of an event that tells nothing of requests; its other
// members are its worker's own.
type typeOnly struct {
	Type api.EventType `json:"type"`
}

// requestEvents are the types of events that tell of requests, with the kind of
// these. An answer that came from the parent's session is reported in the child's as
// that of a question.
var requestEvents = map[api.EventType]model.RequestKind{
	api.EventWaitingForApproval:     model.KindApproval,
	api.EventApprovalResolved:       model.KindApproval,
	api.EventWaitingForUserQuestion: model.KindQuestion,
	api.EventUserQuestionResolved:   model.KindQuestion,
	api.EventUserQuestionAnswered:   model.KindQuestion,

	api.EventParentClarificationRequested: model.KindClarification,
	api.EventParentClarificationResolved:  model.KindQuestion,
}

func readBody(event *model.Event) (eventBody, error) {
	if requestEvents[event.Type] == "" {
		var plain typeOnly
		err := json.Unmarshal(event.Body, &plain)
		return eventBody{Type: plain.Type}, err
	}
	var body eventBody
	err := json.Unmarshal(event.Body, &body)
	return body, err
}

// reported is a resolution in an event.
type reported struct {
	RequestID string      `json:"request_id"`
	Outcome   api.Outcome `json:"outcome"`
}

// readEvents goes through a session's log.
func (e *examiner) readEvents(rows *model.SessionRows) error {
	var last int64
	for event, err := range rows.Events {
		if err != nil {
			return err
		}
		e.summary.Rows.Events++
		at := Finding{RunID: event.RunID, EventID: event.EventID}
		if event.EventID <= last {
			e.find(EventRepeated, at, "the log has event %d twice", event.EventID)
			continue
		}
		if event.EventID > last+1 {
			e.find(EventGap, at, "events %d to %d are missing before this one", last+1, event.EventID-1)
		}
		last = event.EventID
		of := e.runs[event.RunID]
		if of == nil {
			e.find(EventWithoutRun, at, "the session does not have the run of this %s event", event.Type)
			continue
		}
		e.readEvent(of, event, at)
	}
	if rows.Session.LastEventID != last {
		e.find(SessionLastEventWrong, Finding{}, "last_event_id is %d, but the newest event is %d", rows.Session.LastEventID, last)
	}
	return nil
}

func (e *examiner) readEvent(of *run, event *model.Event, at Finding) {
	if finding, detail := of.history.take(of.Kind, event); finding != "" {
		e.find(finding, at, "%s", detail)
	}
	body, err := readBody(event)
	if err != nil || body.Type != event.Type {
		e.find(EventUnreadable, at, "the body is not the JSON object of a %s event", event.Type)
		return
	}
	if event.Type == api.EventParentClarificationRequested {
		body.RequestIDs = []string{body.RequestID}
	}
	if event.Type == api.EventUserQuestionAnswered {
		e.named(of, event.Type, body.RequestID, at)
	}
	for _, requestID := range body.RequestIDs {
		if named := e.named(of, event.Type, requestID, at); named != nil {
			named.announced++
		}
	}
	if body.Resolution != nil {
		body.Resolutions = append(body.Resolutions, *body.Resolution)
	}
	for _, resolution := range body.Resolutions {
		named := e.named(of, event.Type, resolution.RequestID, at)
		if named == nil {
			continue
		}
		named.resolved++
		if named.outcome != "" && resolution.Outcome != named.outcome && resolution.Outcome != named.recorded {
			at.RequestID = resolution.RequestID
			e.find(ResolutionEventWrong, at, "the request was %s, but the event says %s", named.outcome, resolution.Outcome)
		}
	}
}

// named returns the request that an event is about, or nil when its run has none.
func (e *examiner) named(of *run, event api.EventType, requestID string, at Finding) *request {
	kind := requestEvents[event]
	named := e.requests[runs.RequestKey{RunID: of.RunID, RequestID: requestID}]
	if named != nil && named.kind == model.KindClarification && event == api.EventUserQuestionResolved {
		return named
	}
	if named == nil || named.kind != kind {
		at.RequestID = requestID
		e.find(EventWithoutRequest, at, "the run does not have the %s that the event is about", kind)
		return nil
	}
	return named
}
