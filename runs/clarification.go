package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A clarification is a question that a child's run asks its parent's session
// (docs/spec/v1.md#clarifications). No decision spans two sessions, so it has a row in each: a
// request of model.KindClarification in the child's, a run of api.KindParentClarification in
// the parent's. Effects carry the question there and the answer back.

// completeClarification records the resolution of a clarification and completes its run, in one
// decision. It writes the resolution, output, events, and the effect that delivers the answer to
// the child (docs/spec/v1.md#answer-a-clarification).
func (w *workingCopy) completeClarification(run *model.Run, request *model.Request, resolution api.Resolution) {
	recorded, value := w.settleRequest(run, request, resolution)
	requester := run.RequesterOf()
	declined := recorded.Declined != nil && *recorded.Declined
	note := "Forwarded parent clarification answer for " + request.RequestID + " to agent " + requester.RequesterAgentID + "."
	if declined {
		note = "Declined parent clarification request " + request.RequestID + " for agent " + requester.RequesterAgentID + "."
	}
	w.countOutput(run)
	w.emit(run, api.EventOutput, outputEvent{api.EventOutput, api.OutputRecord{SessionID: run.SessionID, RunID: run.RunID, Content: note, CreatedAtMs: w.nowMs}})
	w.emitMembers(run, api.EventParentClarificationResolved, document.OwnObject(clarificationResolvedEvent{
		RequesterAgentID: requester.RequesterAgentID, RequesterSessionID: requester.RequesterSessionID,
		RequestID: request.RequestID, Declined: declined,
	}).With("resolution", value))
	w.finishRun(run, api.StatusCompleted, model.LeaseRevoked, api.EventCompleted, plainEvent{api.EventCompleted})
	w.enqueueEffect(&model.Effect{
		SessionID: run.SessionID, EffectID: model.EffectID(api.EffectDeliverAnswer, run.RunID), RunID: run.RunID,
		Kind: api.EffectDeliverAnswer, TargetSessionID: requester.RequesterSessionID,
		Payload: document.Encode(deliverAnswerPayload{
			RunID: requester.RequesterRunID, RequestID: request.RequestID,
			Message:    document.Encode(clarificationMessage{messageTypeAnswer, model.ClarificationAnswerOf(request.Question(), recorded)}),
			Resolution: value.Text,
		}),
	})
}

// declineClarifications declines the clarifications among the runs, because the session was
// ended or interrupted. It reports whether there was one.
func (w *workingCopy) declineClarifications(list []*model.Run, p *drainPayload) (found bool) {
	reason, actor := "interrupted", p.by(api.ViaInterrupt)
	if p.Ended {
		reason, actor = "session_ended", p.by(api.ViaEnd)
	}
	for _, run := range list {
		if run.Kind != api.KindParentClarification {
			continue
		}
		w.expireDue(run)
		for _, request := range w.openRequests(run.RunID) {
			found = true
			w.completeClarification(run, request, declinedResolution(api.OutcomeDeclined, p.why(), reason, actor))
		}
	}
	return found
}

// declinedResolution returns the resolution of a declined, cancelled or expired clarification.
// The child gets a declined answer in each case; only the outcome differs.
func declinedResolution(outcome api.Outcome, justification, reason string, actor Actor) api.Resolution {
	return api.Resolution{
		Outcome: outcome, Declined: new(true), Justification: justification, Reason: reason,
		ResolvedBy: actor.Name, ViaPrincipal: actor.ViaPrincipal, Via: actor.Via,
	}
}
