package doctor

import (
	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// checkRequester: a parent clarification says whose question it is, and nothing else
// has a requester.
func (e *examiner) checkRequester(r *run) {
	at := Finding{RunID: r.RunID}
	if r.Kind != api.KindParentClarification {
		if r.Requester != nil {
			e.find(RequesterMisplaced, at, "the run is of kind %s and has a requester", r.Kind)
		}
		return
	}
	var requester api.Requester
	err := json.Unmarshal(r.Requester, &requester)
	if err != nil || requester.RequesterRunID == "" || requester.RequesterSessionID == "" {
		e.find(RequesterUnreadable, at, "the requester is not the JSON of one with a session and a run")
	}
}

// checkClarification checks what holds for a parent clarification alone. It reports
// whether the run can be checked further.
func (e *examiner) checkClarification(r *run, at Finding) bool {
	if r.Status != api.StatusWaitingForUserQuestion && r.Status != api.StatusCompleted {
		e.find(ClarificationStatusWrong, at, "the clarification is %s", r.Status)
		return false
	}
	if len(r.numbers) != 1 || r.questions != 1 {
		e.find(ClarificationRequestsWrong, at, "the clarification has %d requests, of which %d are questions", len(r.numbers), r.questions)
		return false
	}
	if r.Fence != 0 || r.WorkerID != "" || r.LeaseExpiresAtMs != 0 || r.Attached || r.Attempt != 0 {
		e.find(ClarificationClaimed, at, "the clarification was claimed: worker %q, fence %d, attempt %d, lease until %d",
			r.WorkerID, r.Fence, r.Attempt, r.LeaseExpiresAtMs)
	}
	if r.Status == api.StatusCompleted && !e.owed[owing(api.EffectDeliverAnswer, r.RunID)] {
		e.find(AnswerWithoutEffect, at, "the clarification is completed, but no effect brings the child its answer")
	}
	return true
}

// readClarification reads the body of a clarification in the child's session.
func (e *examiner) readClarification(of *run, row *model.Request, known *request, at Finding) {
	var body model.Clarification
	if json.Unmarshal(row.Body, &body) != nil || body.Request.ID != row.RequestID {
		// What the body cannot say, the run's suspension does.
		known.unreadable, known.parked = true, row.SuspensionID == of.SuspensionID
		e.find(RequestUnreadable, at, "the body is not the JSON of %s", article(row.Kind))
		return
	}
	known.parked, known.clarificationRunID = body.Parked, body.WaitingOn.RunID
	if on := body.WaitingOn; on.RequestID != row.RequestID || on.RunID == "" || on.SessionID != e.parentSessionID {
		e.find(WaitingOnWrong, at, "the request waits for request %q of run %q in session %q, but the session's parent is %q",
			on.RequestID, on.RunID, on.SessionID, e.parentSessionID)
	}
	if row.Open() && row.DueAtMs != 0 {
		e.find(DueMisplaced, at, "due_at_ms is %d, but the deadline is the parent's", row.DueAtMs)
	}
}

// checkDelivery: what a child asked is asked of its parent, and what came back is
// recorded and lies in the mailbox.
func (e *examiner) checkDelivery(q *request) {
	if q.kind != model.KindClarification {
		return
	}
	at := q.place()
	if q.clarificationRunID != "" && !e.owed[owing(api.EffectOpenClarification, q.clarificationRunID)] {
		e.find(ClarificationWithoutEffect, at, "no effect makes the clarification %s", q.clarificationRunID)
	}
	delivered := e.delivered[q.RequestKey]
	switch {
	case q.outcome == "" && delivered:
		e.find(AnswerNotRecorded, at, "the answer lies in the mailbox, but the request is open")
	case q.outcome != "" && q.delivered && !delivered:
		e.find(AnswerWithoutMessage, at, "the request was %s by the parent's session, but there is no message with the answer", q.outcome)
	}
}
