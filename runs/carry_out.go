package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// CommandOf returns the command that carries out an effect in its target session. Issue it
// again while its reply says More. It returns nil for kinds that are carried out elsewhere; see
// [model.CarriedOutWhere]. It returns an error when the payload is invalid: someone changed the
// row outside of the service, so a retry would fail, too.
func CommandOf(e *model.Effect) (Command, error) {
	switch e.Kind {
	case api.EffectOpenClarification:
		payload, err := openPayloadOf(e)
		if err != nil {
			return nil, err
		}
		return payload.command(e.TargetSessionID), nil
	case api.EffectDeliverAnswer:
		var payload deliverAnswerPayload
		var resolution api.Resolution
		if err := model.ReadPayload(e, e.Payload, &payload); err != nil {
			return nil, err
		}
		if err := model.ReadPayload(e, payload.Resolution, &resolution); err != nil {
			return nil, err
		}
		if err := model.CheckPayloadIDs(e, payload.RunID, payload.RequestID); err != nil {
			return nil, err
		}
		return &DeliverAnswer{
			SessionID: e.TargetSessionID, RunID: payload.RunID, RequestID: payload.RequestID, ClarificationRunID: e.RunID,
			FromSessionID: e.SessionID, Message: payload.Message, Resolution: payload.Resolution,
		}, nil
	case api.EffectDrainSession:
		var payload drainPayload
		if err := model.ReadPayload(e, e.Payload, &payload); err != nil {
			return nil, err
		}
		if err := model.CheckPayloadIDs(e, payload.ID); err != nil {
			return nil, err
		}
		return &DrainSession{SessionID: e.TargetSessionID, payload: payload}, nil
	case api.EffectCancelAbandoned:
		var payload abandonedPayload
		if err := model.ReadPayload(e, e.Payload, &payload); err != nil {
			return nil, err
		}
		if err := model.CheckPayloadIDs(e, payload.RequestHandle); err != nil {
			return nil, err
		}
		return &CancelAbandoned{
			SessionID: e.SessionID, EffectID: e.EffectID, Attempt: e.Attempts, RunID: e.RunID,
			Fence: payload.Fence, SilentMs: payload.SilentMs, OnlyOpen: payload.OnlyOpen,
		}, nil
	case api.EffectDeliverWebhook:
		if e.WebhookID == api.CallbackWebhookID {
			_, err := model.CallbackOf(e)
			return nil, err
		}
		if model.IsFanOut(e.EffectID) {
			_, err := model.OwedBy(e)
			return nil, err
		}
		_, err := model.WebhookEvent(e)
		return nil, err
	case api.EffectAdvanceRequest:
		var payload advancePayload
		if err := model.ReadPayload(e, e.Payload, &payload); err != nil {
			return nil, err
		}
		if err := model.CheckPayloadIDs(e, payload.RequestHandle, payload.RequestID); err != nil {
			return nil, err
		}
		return &AdvanceRequest{
			SessionID: e.SessionID, EffectID: e.EffectID, Attempt: e.Attempts, RunID: e.RunID,
			RequestID: payload.RequestID, Handle: payload.RequestHandle,
		}, nil
	case api.EffectNotify:
		_, err := model.NoticeOf(e)
		return nil, err
	case api.EffectReviewApproval:
	}
	return nil, nil
}

// CommandWhenRefused returns the command to run after the target session refused CommandOf's
// command with a code, or nil when there is none. A child gets a declined answer when its
// parent's session has ended or does not exist. Errors: as CommandOf.
func CommandWhenRefused(e *model.Effect, code api.Code, nowMs int64) (Command, error) {
	if e.Kind != api.EffectOpenClarification || code != api.CodeSessionEnded && code != api.CodeSessionNotFound {
		return nil, nil
	}
	payload, err := openPayloadOf(e)
	if err != nil {
		return nil, err
	}
	if err := model.CheckPayloadIDs(e, payload.Requester.RequesterRunID); err != nil {
		return nil, err
	}
	resolution := declinedResolution(api.OutcomeDeclined, "the parent session has ended", "session_ended", Actor{Name: api.ResolvedBySystem, Via: api.ViaEnd})
	resolution.RequestID, resolution.ResolvedAtMs = payload.Request.ID, nowMs
	return &DeliverAnswer{
		SessionID: e.SessionID, RunID: payload.Requester.RequesterRunID, RequestID: payload.Request.ID,
		ClarificationRunID: payload.RunID, FromSessionID: e.TargetSessionID,
		Message:    document.Encode(clarificationMessage{messageTypeAnswer, model.ClarificationAnswerOf(payload.Request, resolution)}),
		Resolution: document.Encode(resolution),
	}, nil
}

func openPayloadOf(e *model.Effect) (*openClarificationPayload, error) {
	var payload openClarificationPayload
	if err := model.ReadPayload(e, e.Payload, &payload); err != nil {
		return nil, err
	}
	return &payload, model.CheckPayloadIDs(e, payload.RunID, payload.Request.ID)
}

func (p *openClarificationPayload) command(parentSessionID string) *OpenClarification {
	return &OpenClarification{SessionID: parentSessionID, RunID: p.RunID, Request: p.Request, Requester: p.Requester}
}
