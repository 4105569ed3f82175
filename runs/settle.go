package runs

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// settleRequest records the resolution of an open request and returns it as recorded. A
// resolution is never overwritten. The caller emits the event.
func (w *workingCopy) settleRequest(run *model.Run, request *model.Request, resolution api.Resolution) (api.Resolution, document.Value) {
	request = w.editRequest(request)
	resolution.RequestID = request.RequestID
	if request.Kind != model.KindClarification || resolution.ResolvedAtMs == 0 {
		resolution.ResolvedAtMs = w.nowMs
	}
	if request.Kind == model.KindApproval {
		if resolution.Outcome != api.OutcomeAllowed {
			resolution.Behavior = api.BehaviorDeny
		}
	} else if resolution.Declined == nil {
		resolution.Declined = new(bool)
	}
	run.SettledCount++
	request.Outcome = resolution.Outcome
	request.SettledNumber = run.SettledCount
	request.SettledAtMs = w.nowMs
	request.ResolvedBy = resolution.ResolvedBy
	request.DueAtMs = 0
	w.withdrawNotices(request)
	request.PartialAnswers, request.Acknowledgement, request.EscalationState = nil, nil, nil
	value := w.brought.formOf(&resolution)
	request.Resolution = value.Text
	if request.Sealed != nil {
		w.oweCallback(request)
	}
	w.saveRun(run)
	return resolution, value
}

// settleRequests records one resolution for several requests. It emits one event for all
// approvals, and one for each question or clarification.
func (w *workingCopy) settleRequests(run *model.Run, requests []*model.Request, resolution api.Resolution) {
	var approvals []document.Value
	for _, request := range requests {
		if request.Kind == model.KindApproval {
			_, value := w.settleRequest(run, request, resolution)
			approvals = append(approvals, value)
		}
	}
	if len(approvals) > 0 {
		w.emitResolved(run, approvals)
	}
	for _, request := range requests {
		if request.Kind != model.KindApproval {
			_, value := w.settleRequest(run, request, resolution)
			w.emitAnswered(run, value)
		}
	}
}

// updateWaiting derives a run's status from its open requests. Without open requests the run
// continues: under the current lease of an attached worker, otherwise it is claimable.
func (w *workingCopy) updateWaiting(run *model.Run) {
	switch {
	case w.waitsFor(run.RunID, model.KindQuestion), w.parked(run.RunID):
		if run.Status != api.StatusWaitingForUserQuestion {
			w.moveRun(run, api.StatusWaitingForUserQuestion)
		}
	case w.waitsFor(run.RunID, model.KindApproval):
		if run.Status != api.StatusWaitingForApproval {
			w.moveRun(run, api.StatusWaitingForApproval)
		}
	case model.Waiting(run.Status):
		w.moveRun(run, api.StatusRunning)
		w.emit(run, api.EventStarted, plainEvent{api.EventStarted})
		run.ClaimableAtMs = w.nowMs
		if run.Attached && run.Leased(w.nowMs) {
			run.ClaimableAtMs = run.LeaseExpiresAtMs
			run.Attempt = 1
		}
	}
	w.saveRun(run)
}

// expireDue expires a run's overdue requests (docs/spec/v1.md#expiry). An approval is denied and
// the run continues; a question ends the run, unless its escalation says otherwise. Every command on a
// run calls it first, so that a late answer is refused even before the sweep.
func (w *workingCopy) expireDue(run *model.Run) {
	var due []*model.Request
	for _, request := range w.requestsOf(run.RunID) {
		if request.Open() && request.DueAtMs != 0 && request.DueAtMs <= w.nowMs {
			due = append(due, request)
		}
	}
	if len(due) == 0 {
		return
	}
	slices.SortStableFunc(due, func(a, b *model.Request) int { return cmp.Compare(a.DueAtMs, b.DueAtMs) })

	var expired []document.Value
	var questions []*model.Request
	for _, request := range due {
		if request.Kind == model.KindApproval {
			_, value := w.settleRequest(run, request, expiredResolution(request))
			expired = append(expired, value)
		} else {
			questions = append(questions, request)
		}
	}
	if len(expired) > 0 {
		w.emitResolved(run, expired)
	}
	clock := Actor{Name: api.ResolvedBySystem, Via: api.ViaClock}
	if run.Kind == api.KindParentClarification && len(questions) > 0 {
		w.completeClarification(run, questions[0], declinedResolution(api.OutcomeExpired, expiredResolution(questions[0]).Reason, "expired", clock))
		return
	}
	for _, question := range questions {
		dueAtMs := question.DueAtMs
		if w.expireQuestion(run, question) {
			w.cancelRun(run, expiredText(question.RequestID, dueAtMs), clock, "")
			return
		}
	}
	w.updateWaiting(run)
}

// expiredResolution is the resolution of a request at its deadline, unless its kind or its escalation says more.
func expiredResolution(request *model.Request) api.Resolution {
	return api.Resolution{
		Outcome: api.OutcomeExpired, Reason: fmt.Sprintf("expired at %d", request.DueAtMs),
		ResolvedBy: api.ResolvedBySystem, Via: api.ViaClock,
	}
}

// cancelRun ends a run as cancelled, and records its open requests as cancelled. text is the
// run's error, and reason is recorded in the event and the resolutions.
func (w *workingCopy) cancelRun(run *model.Run, text string, actor Actor, reason string) {
	w.settleRequests(run, w.openRequests(run.RunID), api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: reason, ResolvedBy: actor.Name, ViaPrincipal: actor.ViaPrincipal, Via: actor.Via,
	})
	run.Error = text
	w.finishRun(run, api.StatusCancelled, model.LeaseRevoked, api.EventCancelled, reasonEvent{api.EventCancelled, reason})
}

// targetRun returns the run that a call names, after expiring its overdue requests. Errors:
// run_not_found.
func (w *workingCopy) targetRun(runID string) (*model.Run, error) {
	run := w.run(runID)
	if run == nil {
		return nil, refusal.UnknownRun(runID)
	}
	w.expireDue(run)
	return run, nil
}

// checkTarget checks that the run or session that a call names exists. This comes before the
// look-up of its key (docs/spec/v1.md#order-of-checks).
func (w *workingCopy) checkTarget(sessionID, runID string) error {
	switch {
	case runID != "" && w.run(runID) == nil:
		return refusal.UnknownRun(runID)
	case w.session == nil:
		return refusal.UnknownSession(sessionID)
	}
	return nil
}

// expireOpenRequests records the open requests of an ending run as expired. Only an attached
// worker, or one with an unparked clarification, can end a run with open requests.
func (w *workingCopy) expireOpenRequests(run *model.Run) {
	w.settleRequests(run, w.openRequests(run.RunID), api.Resolution{
		Outcome: api.OutcomeExpired, Reason: "the run ended", ResolvedBy: api.ResolvedBySystem, Via: api.ViaRunEnded,
	})
	if model.Waiting(run.Status) {
		w.moveRun(run, api.StatusRunning)
	}
}
