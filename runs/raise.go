package runs

import (
	"cmp"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// suspension returns one of the run's requests with that suspension id, or nil.
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
// no request stays open.
func (w *workingCopy) suspend(run *model.Run, s *raisedSuspension) {
	if s.Checkpoint != nil {
		w.storeCheckpoint(run, s.Checkpoint)
	}
	if startsResume(run, s.Suspension) {
		run.ResumeAfter = resumeAfter(run, s.SettledAfter)
	}
	if s.secrets != nil && s.secrets.values {
		run.DataKey = s.secrets.dataKey
	}
	run.SuspensionID = s.SuspensionID
	run.StalledAttempts = 0
	run.Attempt = 0
	run.ClaimableAtMs = 0
	rulings := w.raiseRequests(run, s)
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
	settled := w.settleByRules(run, s, rulings)
	w.oweCancelWhenAbandoned(run, s)
	if settled {
		w.updateWaiting(run)
	}
	switch {
	case s.Hold:
	case settled && run.Status == api.StatusRunning && leaseExpiresAtMs != 0:
		w.keepLease(run, leaseExpiresAtMs)
	default:
		run.FailedAttempts, run.LastError = 0, ""
	}
}

// startsResume reports whether a suspension includes earlier resolutions: a plain one starts a new Resume. An
// attached one adds to the resolutions since the last checkpoint, so that none is lost when its worker dies.
func startsResume(run *model.Run, s *api.Suspension) bool {
	return s.Checkpoint != nil || !s.Hold && !run.Attached
}

// raiseRequests writes the requests of a suspension and their events. The caller has checked
// that the ids are new in the run. It returns the rules that decide the approvals.
func (w *workingCopy) raiseRequests(run *model.Run, s *raisedSuspension) []ruling {
	if w.caller != nil {
		w.noteRequesters(w.caller.OnBehalfOf)
	}
	rulings := w.rulings(run, s)
	number := run.RaisedCount
	raise := func(kind model.RequestKind, id, handle string, dueAtMs *int64, escalation *api.Escalation, body document.Value, sealed api.JSON) {
		number++
		request := &model.Request{
			SessionID: run.SessionID, RunID: run.RunID, RequestID: id, Handle: handle,
			SuspensionID: s.SuspensionID, SuspensionDigest: s.digest,
			Number: number, Kind: kind, Body: body.Text, CreatedAtMs: w.nowMs, Sealed: sealed,
			EscalationState: w.firstStep(escalation),
		}
		if dueAtMs != nil && !kept(escalation) {
			request.DueAtMs = *dueAtMs
		}
		w.addRequest(request)
	}
	questions := make([]document.Value, len(s.Questions))
	for i := range s.Questions {
		question := &s.Questions[i]
		dueAtMs := w.deadline(question.ExpiresAtMs, question.ExpiresAfterMs)
		escalation, form := w.stamped(run, question.Escalation, s.forms.questions[i], nil)
		questions[i] = w.timed(form, dueAtMs)
		var sealed api.JSON
		if s.secrets != nil {
			sealed = s.secrets.sealedQuestions[i]
		}
		raise(model.KindQuestion, question.ID, question.Handle, dueAtMs, escalation, questions[i], sealed)
	}
	approvals := make([]document.Value, len(s.Approvals))
	for i := range s.Approvals {
		approval := &s.Approvals[i]
		var sealed api.JSON
		if s.secrets != nil {
			sealed = s.secrets.sealed[i]
		}
		dueAtMs := w.deadline(approval.ExpiresAtMs, approval.ExpiresAfterMs)
		form := s.forms.approvals[i]
		var byRule *rules.Rule
		if rulings != nil {
			byRule = rulings[i].matches.Escalating(rulings[i].inForce)
			form = hinted(form, rulings[i].matches.Hints(rulings[i].inForce), approval.Hints)
		}
		escalation, form := w.stamped(run, approval.Escalation, form, byRule)
		approvals[i] = w.timed(form, dueAtMs)
		raise(model.KindApproval, approval.ID, approval.Handle, dueAtMs, escalation, approvals[i], sealed)
	}
	run.RaisedCount = number
	if len(questions) > 0 {
		w.emitRaised(run, api.EventWaitingForUserQuestion, questionIDs(s.Suspension), questions)
	}
	if len(approvals) > 0 {
		w.emitRaised(run, api.EventWaitingForApproval, approvalIDs(s.Suspension), approvals)
	}
	return rulings
}

// timed returns a request's stored form with its created_at_ms and expires_at_ms.
func (w *workingCopy) timed(form document.Object, dueAtMs *int64) document.Value {
	form = form.With("created_at_ms", document.Integer(w.nowMs))
	if dueAtMs != nil {
		form = form.With("expires_at_ms", document.Integer(*dueAtMs))
	}
	return form.Value()
}

// emitRaised emits the event for a suspension's new requests of one kind.
func (w *workingCopy) emitRaised(run *model.Run, eventType api.EventType, ids []string, requests []document.Value) {
	members := document.Object{}.With("request_ids", document.OwnValue(ids)).With("requests", document.Array(requests))
	// Readers of the stream show new requests without another read.
	if w.session.ParentSessionID != "" {
		members = members.With("parent_session_id", document.OwnValue(w.session.ParentSessionID))
	}
	if w.session.About != nil {
		members = members.With("session", document.OwnValue(w.session.About))
	}
	w.emitMembers(run, eventType, members)
}

// oweCancelWhenAbandoned enqueues the check for an abandoned suspension with
// cancel_when_abandoned or abandoned_after_ms, unless none of its requests is open.
func (w *workingCopy) oweCancelWhenAbandoned(run *model.Run, s *raisedSuspension) {
	if !s.CancelWhenAbandoned && s.AbandonedAfterMs == 0 {
		return
	}
	for _, request := range w.openRequests(run.RunID) {
		if request.SuspensionID != s.SuspensionID {
			continue
		}
		leaseMs := max(run.LeaseExpiresAtMs-w.nowMs, api.MinLeaseMs)
		silentMs := leaseMs
		if !slices.Contains(w.changes.NewRuns, run) {
			// Only what is left of the lease is known, which may be a second.
			silentMs = max(silentMs, api.DefaultLeaseMs)
		}
		silentMs = cmp.Or(s.AbandonedAfterMs, silentMs)
		w.enqueueEffect(&model.Effect{
			SessionID: run.SessionID, EffectID: model.EffectID(api.EffectCancelAbandoned, request.Handle), RunID: run.RunID,
			Kind: api.EffectCancelAbandoned, TargetSessionID: run.SessionID, DueAtMs: w.nowMs + min(leaseMs+silentMs, longestLookMs),
			Payload: document.Encode(abandonedPayload{request.Handle, run.Fence, silentMs, s.AbandonedAfterMs != 0}),
		})
		return
	}
}

// deadline returns a request's expires_at_ms, computed from expires_after_ms if given. Without
// either, the service's default counts; nil for no default.
func (w *workingCopy) deadline(atMs, afterMs *int64) *int64 {
	switch {
	case afterMs != nil:
	case atMs != nil || w.state.DefaultExpiryMs == 0:
		return atMs
	default:
		afterMs = &w.state.DefaultExpiryMs
	}
	return new(w.nowMs + *afterMs)
}

// oweReviews enqueues the posts to the review hook for the new approvals that are still open
// (docs/spec/codex.md#review-hook). Unknown ids are ignored.
func (w *workingCopy) oweReviews(run *model.Run, raised *api.Suspension, ids []string) {
	for _, id := range ids {
		if !slices.ContainsFunc(raised.Approvals, func(a api.ApprovalRequest) bool { return a.ID == id }) {
			continue
		}
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

// prepareSuspension computes the handles and digests of a checked suspension. canonical is its
// canonical form without generated members. The caller supplies a missing suspension id.
func prepareSuspension(s *api.Suspension, canonical []byte, call *Call, newID IDSource) (raisedSuspension, error) {
	prepared := raisedSuspension{Suspension: s, inputDigests: make([]string, len(s.Approvals))}
	var err error
	if prepared.secrets, err = secretsOf(s, call.Sealer); err != nil {
		return prepared, err
	}
	prepared.digest = suspensionDigest(s, canonical, call.Sealer)
	if prepared.secrets != nil {
		prepared.secrets.callbacks, prepared.secrets.owner = takeCallbacks(s), call.CallbackOwner
	}
	for i := range s.Questions {
		s.Questions[i].Handle, s.Questions[i].Traceparent = newID(PrefixHandle), call.Traceparent
	}
	for i := range s.Approvals {
		s.Approvals[i].Handle, s.Approvals[i].Traceparent = newID(PrefixHandle), call.Traceparent
		s.Approvals[i].InputTruncated, s.Approvals[i].InputBytes = false, 0
		s.Approvals[i].InputMembers = document.Members(s.Approvals[i].Input)
		if len(s.Approvals[i].SensitivePaths) > 0 {
			continue // its digest is computed when it is sealed
		}
		if prepared.inputDigests[i], err = digestOf(s.Approvals[i].Input); err != nil {
			return prepared, err
		}
		s.Approvals[i].InputDigest = prepared.inputDigests[i]
	}
	if prepared.secrets != nil {
		return prepared, nil // the forms are made after sealing
	}
	return prepared, prepared.makeForms()
}
