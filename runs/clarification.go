package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A clarification is a question that a child run asks its parent's session
// (design.md §4 "Parent clarification"). It stands in two sessions, and no decision
// spans two: the child's session holds a request of KindClarification, the parent's
// a run of KindParentClarification, and effects carry the question there and the
// answer back.

// conclude records what became of a clarification and ends its run, in one
// decision: resolution, output, event, completion, and the effect that owes the
// child its answer (kheish.md 1.13.3).
func (w *workingCopy) completeClarification(run *model.Run, request *model.Request, resolution api.Resolution) {
	recorded := w.settleRequest(run, request, resolution)
	requester := run.RequesterOf()
	declined := recorded.Declined != nil && *recorded.Declined
	note := "Forwarded parent clarification answer for " + request.RequestID + " to agent " + requester.RequesterAgentID + "."
	if declined {
		note = "Declined parent clarification request " + request.RequestID + " for agent " + requester.RequesterAgentID + "."
	}
	run.OutputCount++
	w.emit(run, api.EventOutput, outputEvent{api.EventOutput, api.OutputRecord{RunID: run.RunID, Content: note, CreatedAtMs: w.nowMs}})
	w.emit(run, api.EventParentClarificationResolved, clarificationResolvedEvent{
		Type: api.EventParentClarificationResolved, RequesterAgentID: requester.RequesterAgentID,
		RequesterSessionID: requester.RequesterSessionID, RequestID: request.RequestID,
		Declined: declined, Resolution: recorded,
	})
	w.finishRun(run, api.StatusCompleted, model.LeaseRevoked, api.EventCompleted, plainEvent{api.EventCompleted})
	w.enqueueEffect(&model.Effect{
		SessionID: run.SessionID, EffectID: model.EffectID(api.EffectDeliverAnswer, run.RunID), RunID: run.RunID,
		Kind: api.EffectDeliverAnswer, TargetSessionID: requester.RequesterSessionID,
		Payload: document.Encode(deliverAnswerPayload{
			RunID: requester.RequesterRunID, RequestID: request.RequestID,
			Message:    document.Encode(clarificationMessage{messageTypeAnswer, model.ClarificationAnswerOf(request.Question(), recorded)}),
			Resolution: document.Encode(recorded),
		}),
	})
}

// declineAll declines every clarification that waits in the session, and reports
// whether there was one.
func (w *workingCopy) declineClarifications(justification, reason string, actor Actor) bool {
	found := false
	for _, run := range w.unfinished() {
		if run.Kind != api.KindParentClarification {
			continue
		}
		w.expireDue(run)
		for _, request := range w.openRequests(run.RunID) {
			found = true
			w.completeClarification(run, request, declinedResolution(api.OutcomeDeclined, justification, reason, actor))
		}
	}
	return found
}

// declinedBy is the resolution of a clarification that nobody answered: to the child
// each of them is a declined answer, and the outcome says what happened.
func declinedResolution(outcome api.Outcome, justification, reason string, actor Actor) api.Resolution {
	declined := true
	return api.Resolution{
		Outcome: outcome, Declined: &declined, Justification: justification, Reason: reason,
		ResolvedBy: actor.Name, Via: actor.Via,
	}
}
