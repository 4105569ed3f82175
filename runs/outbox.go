package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// reviewPayload is what EffectReviewApproval shows.
type reviewPayload struct {
	SessionID string              `json:"session_id"`
	RunID     string              `json:"run_id"`
	AgentID   string              `json:"agent_id"`
	Request   api.ApprovalRequest `json:"request"`
}

// openClarificationPayload is what EffectOpenClarification needs.
type openClarificationPayload struct {
	RunID     string                  `json:"run_id"`
	Request   api.UserQuestionRequest `json:"request"`
	Requester api.Requester           `json:"requester"`
}

// deliverAnswerPayload is what EffectDeliverAnswer needs.
type deliverAnswerPayload struct {
	RunID      string   `json:"run_id"`
	RequestID  string   `json:"request_id"`
	Message    api.JSON `json:"message"`
	Resolution api.JSON `json:"resolution"`
}

// owe writes an effect that the decision owes. It is due at once.
func (w *workingCopy) enqueueEffect(effect *model.Effect) {
	effect.State = api.EffectPending
	effect.CreatedAtMs, effect.DueAtMs = w.nowMs, w.nowMs
	w.changes.NewEffects = append(w.changes.NewEffects, effect)
}

// effect returns a working copy of one of the session's effects, or nil. Saving it
// is the caller's.
func (w *workingCopy) effect(effectID string) *model.Effect {
	row := w.state.Effects[effectID]
	if row == nil || row.SessionID != w.state.SessionID {
		return nil
	}
	effect := *row
	return &effect
}
