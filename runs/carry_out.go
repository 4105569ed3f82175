package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// CommandOf returns the command that does the work of an effect in its target session. It is
// nil when the kind is not carried out inside; see [model.CarriedOutWhere].
func CommandOf(e *model.Effect) Command {
	switch e.Kind {
	case api.EffectOpenClarification:
		var payload openClarificationPayload
		document.DecodeStored(e.Payload, &payload)
		return &OpenClarification{
			SessionID: e.TargetSessionID, RunID: payload.RunID,
			Request: payload.Request, Requester: payload.Requester,
		}
	case api.EffectDeliverAnswer:
		var payload deliverAnswerPayload
		document.DecodeStored(e.Payload, &payload)
		return &DeliverAnswer{
			SessionID: e.TargetSessionID, RunID: payload.RunID, RequestID: payload.RequestID,
			FromSessionID: e.SessionID, Message: payload.Message, Resolution: payload.Resolution,
		}
	case api.EffectReviewApproval:
	}
	return nil
}

// CommandWhenRefused returns the command to run in place of CommandOf after the target session
// refused that with a code, or nil when there is none. A child gets a declined answer when its
// parent's session has ended or is gone.
func CommandWhenRefused(e *model.Effect, code api.Code, nowMs int64) Command {
	if e.Kind != api.EffectOpenClarification || code != api.CodeSessionEnded && code != api.CodeSessionNotFound {
		return nil
	}
	var payload openClarificationPayload
	document.DecodeStored(e.Payload, &payload)
	resolution := declinedResolution(api.OutcomeDeclined, "the parent session has ended", "session_ended", Actor{Name: api.ResolvedBySystem, Via: api.ViaEnd})
	resolution.RequestID, resolution.ResolvedAtMs = payload.Request.ID, nowMs
	return &DeliverAnswer{
		SessionID: e.SessionID, RunID: payload.Requester.RequesterRunID, RequestID: payload.Request.ID,
		FromSessionID: e.TargetSessionID,
		Message:       document.Encode(clarificationMessage{messageTypeAnswer, model.ClarificationAnswerOf(payload.Request, resolution)}),
		Resolution:    document.Encode(resolution),
	}
}
