package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// suspension returns a request of the run that was raised with that suspension id, or nil.
func (w *workingCopy) suspension(run *model.Run, suspensionID string) *model.Request {
	for _, request := range w.requestsOf(run.RunID) {
		if request.SuspensionID == suspensionID {
			return request
		}
	}
	return nil
}

// suspend raises the requests and makes the run wait for them, unless rules settle all of them
// at once (docs/spec/v1.md#suspend). The lease ends, unless the worker stays attached (hold) or
// nothing is left to wait for.
func (w *workingCopy) suspend(run *model.Run, s *raisedSuspension) {
	if s.Checkpoint != nil {
		w.storeCheckpoint(run, s.Checkpoint)
	}
	// A plain suspension starts a new Resume. An attached one adds to what was settled since
	// the last checkpoint, so that nothing is lost when its worker dies.
	if s.Checkpoint != nil || !s.Hold && !run.Attached {
		w.ackResolutions(run, s.SettledAfter)
	}
	if s.secrets != nil {
		run.DataKey = s.secrets.dataKey
	}
	run.SuspensionID = s.SuspensionID
	run.StalledAttempts = 0
	run.Attempt = 0
	run.ClaimableAtMs = 0
	w.raiseRequests(run, s)
	leaseExpiresAtMs := run.LeaseExpiresAtMs
	if s.Hold {
		run.Attached = true
		w.saveRun(run)
	} else {
		w.endLease(run, model.LeaseSuspended, s.digest)
	}
	w.updateWaiting(run)
	// A rule does not settle a request that is past its deadline.
	w.expireDue(run)
	settled := w.settleByRules(run, s)
	w.oweCancelWhenAbandoned(run, s)
	if !settled {
		return
	}
	w.updateWaiting(run)
	if run.Status == api.StatusRunning && !s.Hold && leaseExpiresAtMs != 0 {
		w.keepLease(run, leaseExpiresAtMs)
	}
}

// raiseRequests writes the requests of a suspension and their events. The caller has checked
// that the ids are new in the run.
func (w *workingCopy) raiseRequests(run *model.Run, s *raisedSuspension) {
	number := run.RaisedCount
	raise := func(kind model.RequestKind, id, handle string, dueAtMs *int64, body any, sealed api.JSON) {
		number++
		request := &model.Request{
			SessionID: run.SessionID, RunID: run.RunID, RequestID: id, Handle: handle,
			SuspensionID: s.SuspensionID, SuspensionDigest: s.digest,
			Number: number, Kind: kind, Body: document.Encode(body), CreatedAtMs: w.nowMs, Sealed: sealed,
		}
		if dueAtMs != nil {
			request.DueAtMs = *dueAtMs
		}
		w.addRequest(request)
	}
	questions := make([]api.UserQuestionRequest, len(s.Questions))
	for i, question := range s.Questions {
		question.CreatedAtMs = w.nowMs
		question.ExpiresAtMs, question.ExpiresAfterMs = w.deadline(question.ExpiresAtMs, question.ExpiresAfterMs), nil
		questions[i] = question
		raise(model.KindQuestion, question.ID, question.Handle, question.ExpiresAtMs, question, nil)
	}
	approvals := make([]api.ApprovalRequest, len(s.Approvals))
	for i, approval := range s.Approvals {
		approval.CreatedAtMs = w.nowMs
		approval.ExpiresAtMs, approval.ExpiresAfterMs = w.deadline(approval.ExpiresAtMs, approval.ExpiresAfterMs), nil
		var sealed api.JSON
		if s.secrets != nil && s.secrets.masked[i] != nil {
			approval.Input, sealed = s.secrets.masked[i], s.secrets.sealed[i]
		}
		approvals[i] = approval
		raise(model.KindApproval, approval.ID, approval.Handle, approval.ExpiresAtMs, approval, sealed)
	}
	run.RaisedCount = number
	if len(questions) > 0 {
		w.emit(run, api.EventWaitingForUserQuestion, waitingEvent[api.UserQuestionRequest]{
			Type: api.EventWaitingForUserQuestion, RequestIDs: questionIDs(s.Suspension), Requests: questions,
		})
	}
	if len(approvals) > 0 {
		w.emit(run, api.EventWaitingForApproval, waitingEvent[api.ApprovalRequest]{
			Type: api.EventWaitingForApproval, RequestIDs: approvalIDs(s.Suspension), Requests: approvals,
		})
	}
}

// oweCancelWhenAbandoned writes the effect of a suspension with cancel_when_abandoned that was
// just raised, unless nothing of it is left to wait for.
func (w *workingCopy) oweCancelWhenAbandoned(run *model.Run, s *raisedSuspension) {
	if !s.CancelWhenAbandoned {
		return
	}
	for _, request := range w.openRequests(run.RunID) {
		if request.SuspensionID != s.SuspensionID {
			continue
		}
		silentMs := max(run.LeaseExpiresAtMs-w.nowMs, api.MinLeaseMs)
		w.enqueueEffect(&model.Effect{
			SessionID: run.SessionID, EffectID: model.EffectID(api.EffectCancelAbandoned, request.Handle), RunID: run.RunID,
			Kind: api.EffectCancelAbandoned, TargetSessionID: run.SessionID, DueAtMs: w.nowMs + 2*silentMs,
			Payload: document.Encode(abandonedPayload{RequestHandle: request.Handle, Fence: run.Fence, SilentMs: silentMs}),
		})
		return
	}
}

// deadline returns expires_at_ms of a request that gives expires_at_ms or expires_after_ms, nil
// for neither.
func (w *workingCopy) deadline(atMs, afterMs *int64) *int64 {
	if afterMs == nil {
		return atMs
	}
	due := w.nowMs + *afterMs
	return &due
}

// oweReviews writes the effects that post approvals to the review hook, for those that were
// just raised and that nothing has settled at once (docs/spec/codex.md#review-hook). An id that
// names none is ignored.
func (w *workingCopy) oweReviews(run *model.Run, requestIDs []string) {
	for _, id := range requestIDs {
		request := w.request(run.RunID, id)
		if request == nil || request.Kind != model.KindApproval || !request.Open() {
			continue
		}
		w.enqueueEffect(&model.Effect{
			SessionID: run.SessionID, EffectID: model.EffectID(api.EffectReviewApproval, request.Handle), RunID: run.RunID,
			Kind: api.EffectReviewApproval, TargetSessionID: run.SessionID,
			Payload: document.Encode(reviewPayload{run.SessionID, run.RunID, run.AgentID, request.Approval()}),
		})
	}
}
