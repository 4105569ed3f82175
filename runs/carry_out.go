package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// CommandOf returns the command that carries the effect out in its target session. It
// is nil unless the kind is carried out inside.
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

// CommandWhenRefused returns the command that takes the place of CommandOf when the target
// session refused it for good, or nil when there is none: a child whose parent's
// session is over gets a declined answer.
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
