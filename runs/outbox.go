package runs

import (
	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// reviewPayload is the payload of an api.EffectReviewApproval: the body that is posted to the
// review hook.
type reviewPayload struct {
	SessionID string              `json:"session_id"`
	RunID     string              `json:"run_id"`
	AgentID   string              `json:"agent_id"`
	Request   api.ApprovalRequest `json:"request"`
}

// openClarificationPayload is the payload of an api.EffectOpenClarification.
type openClarificationPayload struct {
	RunID     string                  `json:"run_id"`
	Request   api.UserQuestionRequest `json:"request"`
	Requester api.Requester           `json:"requester"`
}

// deliverAnswerPayload is the payload of an api.EffectDeliverAnswer.
type deliverAnswerPayload struct {
	RunID      string   `json:"run_id"`
	RequestID  string   `json:"request_id"`
	Message    api.JSON `json:"message"`
	Resolution api.JSON `json:"resolution"`
}

// drainPayload is the payload of an api.EffectDrainSession.
type drainPayload struct {
	// ID is the effect's id without its kind.
	ID string `json:"id"`
	// Ended distinguishes an ended session from an interrupted one.
	Ended bool `json:"ended"`
	// LastEventID was the session's newest event. Runs that were created later are not interrupted.
	LastEventID int64  `json:"last_event_id"`
	Reason      string `json:"reason"`
	Actor       string `json:"actor"`
	// ViaPrincipal is the ViaPrincipal of the Actor that ended or interrupted the session.
	ViaPrincipal string `json:"via_principal,omitempty"`
}

// abandonedPayload is the payload of an api.EffectCancelAbandoned.
type abandonedPayload struct {
	// RequestHandle is the handle of the suspension's first request. The effect's id contains it.
	RequestHandle string `json:"request_handle"`
	Fence         int64  `json:"fence"`
	SilentMs      int64  `json:"silent_ms"`
	// OnlyOpen leaves a run alone once its requests are settled.
	OnlyOpen bool `json:"only_open,omitzero"`
}

// longestLookMs is how long a check waits at most, so that the effect of a run that is over does not stay for days.
const longestLookMs = api.MaxLeaseMs

// Silence returns how long a worker must be silent after its lease before its requests are withdrawn, and whether only
// open ones are, from the payload of an api.EffectCancelAbandoned; zero values if that cannot be read.
func Silence(payload api.JSON) (silentMs int64, onlyOpen bool) {
	var abandoned abandonedPayload
	if json.Unmarshal(payload, &abandoned) != nil {
		return 0, false
	}
	return abandoned.SilentMs, abandoned.OnlyOpen
}

// effect returns a copy of one of the session's effects. To write it, append it to UpdatedEffects.
// Errors: effect_not_found.
func (w *workingCopy) effect(effectID string) (*model.Effect, error) {
	row := w.state.Effects[effectID]
	if row == nil || row.SessionID != w.state.SessionID {
		return nil, refusal.UnknownEffect(w.state.SessionID, effectID)
	}
	return new(*row), nil
}

// attemptEffect counts an attempt of an effect. It returns nil when the effect is not due or not
// pending. Errors: effect_not_found.
func (w *workingCopy) attemptEffect(effectID string) (*model.Effect, error) {
	effect, err := w.effect(effectID)
	if err != nil || effect.State != api.EffectPending || effect.DueAtMs > w.nowMs {
		return nil, err
	}
	effect.Attempts++
	w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	return effect, nil
}

// attemptedEffect returns an effect, and has it written, for the command of the attempt that
// ClaimEffect counted. While another attempt is newer, the reply has Existing and nothing is to be
// decided. Errors: effect_not_found.
func (w *workingCopy) attemptedEffect(effectID string, attempt int64) (*model.Effect, Reply, error) {
	effect, err := w.effect(effectID)
	if err != nil {
		return nil, Reply{}, err
	}
	reply := Reply{Effect: effect, NowMs: w.nowMs}
	reply.Existing = effect.State != api.EffectPending || effect.Attempts != attempt
	if !reply.Existing {
		w.changes.UpdatedEffects = append(w.changes.UpdatedEffects, effect)
	}
	return effect, reply, nil
}

// endEffect ends an effect as done, or as failed with lastError.
func (w *workingCopy) endEffect(effect *model.Effect, state api.EffectState, lastError string) {
	effect.State, effect.DueAtMs, effect.FinishedAtMs, effect.LastError = state, 0, w.nowMs, StorableText(lastError)
}

// oweCallback enqueues the callback of a request that was just settled.
func (w *workingCopy) oweCallback(request *model.Request) {
	if !request.HasCallback() {
		return
	}
	sealed := request.SealedValues().Callback
	w.enqueueEffect(&model.Effect{
		SessionID: request.SessionID, EffectID: model.CallbackEffectID(sealed.Origin, request.Handle), RunID: request.RunID,
		Kind: api.EffectDeliverWebhook, TargetSessionID: request.SessionID, WebhookID: api.CallbackWebhookID,
		Payload: document.Encode(model.CallbackPayload{Handle: request.Handle}),
	})
}
