package doctor

import (
	"bytes"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// eventBody has the checked members of an event about requests.
type eventBody struct {
	Type        api.EventType        `json:"type"`
	RequestIDs  []string             `json:"request_ids"`
	RequestID   string               `json:"request_id"`
	Resolution  *reportedResolution  `json:"resolution"`
	Resolutions []reportedResolution `json:"resolutions"`
}

type reportedResolution struct {
	RequestID string      `json:"request_id"`
	Outcome   api.Outcome `json:"outcome"`
}

// requestEvents maps the types of events about requests to the requests' kind. The child's log
// reports the answer from its parent's session as a question's.
var requestEvents = map[api.EventType]model.RequestKind{
	api.EventWaitingForApproval:     model.KindApproval,
	api.EventApprovalResolved:       model.KindApproval,
	api.EventWaitingForUserQuestion: model.KindQuestion,
	api.EventUserQuestionResolved:   model.KindQuestion,
	api.EventUserQuestionAnswered:   model.KindQuestion,

	api.EventParentClarificationRequested: model.KindClarification,
	api.EventParentClarificationResolved:  model.KindQuestion,
}

// logEntry is an event with its predecessor in the log.
type logEntry struct {
	*model.Event
	of *run // nil if the session does not have it
	// previous is the number of the event before it, 0 for the first.
	previous int64
	// before is the hash of that event, and beforeKnown whether it was read.
	before      string
	beforeKnown bool
	body        eventBody
	readable    bool
}

// readBody reads the type of any event, and more only if it is about requests: other bodies
// belong to the worker.
func (l *logEntry) readBody() {
	var err error
	if requestEvents[l.Type] == "" {
		var typeOnly struct {
			Type api.EventType `json:"type"`
		}
		err = json.Unmarshal(l.Body, &typeOnly)
		l.body.Type = typeOnly.Type
	} else {
		err = json.Unmarshal(l.Body, &l.body)
	}
	l.readable = err == nil && l.body.Type == l.Type
}

// eventInvariants are checked for each event, in the order of the log.
var eventInvariants = table[*logEntry]{
	{
		fatal(EventRepeated, "The log has a number twice.", func(_ *examiner, l *logEntry) string {
			return when(l.EventID <= l.previous, "the log has event %d twice", l.EventID)
		}),
		invariant(EventGap, "Numbers are missing in the session's log.", func(_ *examiner, l *logEntry) string {
			return when(l.EventID > l.previous+1, "events %d to %d are missing before this one", l.previous+1, l.EventID-1)
		}),
	},
	{fatal(EventWithoutRun, "An event is about a run that its session does not have.", func(_ *examiner, l *logEntry) string {
		return unless(l.of != nil, "the session does not have the run of this %s event", l.Type)
	})},
	{
		invariant(TerminalEventRepeated, "Two events end the run.", func(_ *examiner, l *logEntry) string {
			move := l.of.history.move
			return when(move.afterEnd && move.end != "", "the run was already %s when it was %s", move.from, move.end)
		}),
		invariant(EventAfterEnd, "Something happened to the run after it was over.", func(_ *examiner, l *logEntry) string {
			return when(l.of.history.move.afterEnd, "the run was already %s before this %s event", l.of.history.move.from, l.Type)
		}),
		invariant(HistoryIllegal, "The events imply a move that the state machine does not have.", func(_ *examiner, l *logEntry) string {
			move := l.of.history.move
			if move.from == "" {
				return when(move.illegal, "the run was not accepted before this %s event", l.Type)
			}
			return when(move.illegal, "the run was %s before this %s event", move.from, l.Type)
		}),
	},
	{fatal(EventUnreadable, "An event's body is not the JSON object of its type.", func(_ *examiner, l *logEntry) string {
		return unless(l.readable, "the body is not the JSON object of a %s event", l.Type)
	})},
	{invariant(EventChainBroken, "An event does not fit its digest, or the hash of the event before it.", func(_ *examiner, l *logEntry) string {
		return l.breaksChain()
	})},
}

// breaksChain says how an event does not match its digest or its predecessor; "" if it does.
// Events without a digest were written by versions without a chain, and precede it.
func (l *logEntry) breaksChain() string {
	if l.BodyDigest == "" {
		return when(l.beforeKnown && l.before != "", "it has no hash, but event %d has one", l.previous)
	}
	if digest, err := l.DigestOfBody(); (err != nil || digest != l.BodyDigest) && !l.Redacted() {
		return "the body is not that of body_digest"
	}
	return when(l.beforeKnown && l.previous == l.EventID-1 && l.Prev != l.before, "prev is not the hash of event %d", l.previous)
}

// mention is a request named in an event.
type mention struct {
	event   api.EventType
	request *request // nil if the run has none of that kind
	// outcome is the reported outcome, "" without one.
	outcome api.Outcome
}

// mentionInvariants are checked for each request named in an event.
var mentionInvariants = table[*mention]{{
	fatal(EventWithoutRequest, "An event is about a request that its run does not have.", func(_ *examiner, m *mention) string {
		return unless(m.request != nil, "the run does not have the %s that the event is about", requestEvents[m.event])
	}),
	invariant(ResolutionEventWrong, "The event reports another outcome.", func(_ *examiner, m *mention) string {
		q := m.request
		return when(m.outcome != "" && q.outcome != "" && m.outcome != q.outcome && m.outcome != q.recorded,
			"the request was %s, but the event says %s", q.outcome, m.outcome)
	}),
}}

// redactedMember is in every redacted body.
var redactedMember = []byte(`"redacted":true`)

// readEvents checks a session's log. A mention's finding has the event's number only if it is
// about the event.
func (e *examiner) readEvents(rows *model.SessionRows) error {
	e.lastEventID, e.lastEventHash, e.firstEventHash, e.outputs = max(e.firstKept-1, 0), "", "", 0
	return each(rows.Events, &e.summary.Rows.Events, func(event *model.Event) {
		entry := &logEntry{Event: event, of: e.runs[event.RunID], previous: e.lastEventID, before: e.lastEventHash, beforeKnown: e.lastEventID > max(e.firstKept-1, 0)}
		e.lastEventID, e.lastEventHash = max(e.lastEventID, event.EventID), event.Hash()
		if event.Type == api.EventOutput {
			e.outputs++
		}
		if event.EventID == 1 {
			e.firstEventHash = e.lastEventHash
		}
		if entry.of != nil && entry.of.FirstEventID < e.firstKept {
			return // the start of its history is deleted
		}
		redacted := bytes.Contains(event.Body, redactedMember) && event.Redacted()
		if entry.of != nil && redacted {
			entry.of.redacted = true
		}
		if entry.of != nil && event.EventID > entry.previous {
			entry.of.history.advance(entry.of.Kind, event)
			entry.readBody()
		}
		if eventInvariants.examine(e, entry, Finding{RunID: event.RunID, EventID: event.EventID}) && !redacted {
			e.readMentions(entry)
		}
	})
}

// readMentions checks the requests named in an event and counts what it reports about them.
func (e *examiner) readMentions(entry *logEntry) {
	named := func(requestID string, outcome api.Outcome) *request {
		m := &mention{event: entry.Type, outcome: outcome, request: e.requests[runs.RequestKey{RunID: entry.RunID, RequestID: requestID}]}
		if m.request != nil && m.request.kind != requestEvents[entry.Type] &&
			(m.request.kind != model.KindClarification || entry.Type != api.EventUserQuestionResolved) {
			m.request = nil
		}
		mentionInvariants.examine(e, m, Finding{RunID: entry.RunID, EventID: entry.EventID, RequestID: requestID})
		return m.request
	}
	body := entry.body
	if entry.Type == api.EventParentClarificationRequested {
		body.RequestIDs = []string{body.RequestID}
	}
	if entry.Type == api.EventUserQuestionAnswered {
		named(body.RequestID, "")
	}
	for _, requestID := range body.RequestIDs {
		if q := named(requestID, ""); q != nil {
			q.announced++
		}
	}
	if body.Resolution != nil {
		body.Resolutions = append(body.Resolutions, *body.Resolution)
	}
	for _, resolution := range body.Resolutions {
		if q := named(resolution.RequestID, resolution.Outcome); q != nil {
			q.resolved++
		}
	}
}
