package doctor

import (
	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// effectPayload is what the checks read of an effect's payload, of any kind: an opening
// names the run that it makes, a delivery the run that asked, a review the run that
// waits.
type effectPayload struct {
	RunID     string `json:"run_id"`
	RequestID string `json:"request_id"`
	Request   struct {
		ID     string `json:"id"`
		Handle string `json:"handle"`
	} `json:"request"`
	Requester api.Requester `json:"requester"`
}

// owing names what an effect of a kind is owed for: the run of the clarification, or
// the handle of the approval.
func owing(kind api.EffectKind, id string) string { return string(kind) + ":" + id }

func (e *examiner) readEffects(rows model.RowSequence[model.Effect]) error {
	if rows == nil {
		return nil
	}
	for effect, err := range rows {
		if err != nil {
			return err
		}
		e.summary.Rows.Effects++
		e.checkEffect(effect, Finding{RunID: effect.RunID, EffectID: effect.EffectID})
	}
	return nil
}

func (e *examiner) checkEffect(effect *model.Effect, at Finding) {
	if wrong := effectContradiction(effect); wrong != "" {
		e.find(EffectStateWrong, at, "the effect is %s, but %s", effect.State, wrong)
	}
	e.owed[effect.EffectID] = true
	var payload effectPayload
	if model.CarriedOutWhere(effect.Kind) == model.CarriedOutNowhere || json.Unmarshal(effect.Payload, &payload) != nil {
		e.find(EffectUnreadable, at, "the payload is not the JSON of an effect of kind %q", effect.Kind)
		return
	}
	id := owing(effect.Kind, effect.RunID)
	switch effect.Kind {
	case api.EffectOpenClarification:
		id = owing(effect.Kind, payload.RunID)
	case api.EffectReviewApproval:
		id = owing(effect.Kind, payload.Request.Handle)
	case api.EffectDeliverAnswer:
	}
	e.owed[id] = true
	if effect.EffectID != id {
		e.find(EffectIDWrong, at, "the id should be %s", id)
		return
	}
	if why := e.undecided(effect, &payload); why != "" {
		e.find(EffectWithoutDecision, at, "the effect is owed for nothing: %s", why)
	}
}

// effectContradiction returns what says something else than the effect's state, or
// "".
func effectContradiction(effect *model.Effect) string {
	pending := effect.State == api.EffectPending
	switch {
	case !model.KnownEffectState(effect.State):
		return "there is no such state"
	case pending && effect.DueAtMs == 0:
		return "due_at_ms is not set"
	case !pending && effect.DueAtMs != 0:
		return "due_at_ms is set"
	case pending && effect.FinishedAtMs != 0:
		return "finished_at_ms is set"
	case !pending && effect.FinishedAtMs == 0:
		return "finished_at_ms is not set"
	case effect.State == api.EffectDone && effect.LastError != "":
		return "it tells of an error"
	case effect.State == api.EffectFailed && effect.LastError == "":
		return "it does not say why"
	}
	return ""
}

// undecided tells why the decision that owes an effect is not there, or "".
func (e *examiner) undecided(effect *model.Effect, payload *effectPayload) string {
	of := e.runs[effect.RunID]
	switch {
	case of == nil:
		return "the session does not have its run"
	case effect.Kind == api.EffectOpenClarification:
		asked := e.requests[runs.RequestKey{RunID: effect.RunID, RequestID: payload.Request.ID}]
		if asked == nil || asked.kind != model.KindClarification || !asked.unreadable && asked.clarificationRunID != payload.RunID {
			return "its run has not asked this"
		}
	case effect.Kind == api.EffectReviewApproval:
		shown := e.requests[runs.RequestKey{RunID: effect.RunID, RequestID: payload.Request.ID}]
		if shown == nil || shown.kind != model.KindApproval || shown.handle != payload.Request.Handle {
			return "its run has no such approval"
		}
	case of.Kind != api.KindParentClarification || !model.Terminal(of.Status):
		return "its run is no clarification that was settled"
	}
	return ""
}
