package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// reviewPayload is what EffectReviewApproval shows.
type reviewPayload struct {
	SessionID string              `json:"session_id"`
	RunID     string              `json:"run_id"`
	AgentID   string              `json:"agent_id"`
	Request   api.ApprovalRequest `json:"request"`
}

// Needs implements Command.
func (c *ReviewApproval) Needs() Needs {
	return Needs{RunID: c.RunID, RequestIDs: validIDs(c.RequestID), EffectID: model.EffectID(api.EffectReviewApproval, c.Handle)}
}

func (c *ReviewApproval) prepare(IDSource) error {
	var faults refusal.Faults
	faults.ID("/handle", c.Handle)
	return faults.Err()
}

func (c *ReviewApproval) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	request := w.request(run.RunID, c.RequestID)
	if request == nil || request.Kind != model.KindApproval || request.Handle != c.Handle {
		return Reply{}, refusal.New(api.CodeRequestNotFound, "unknown approval %s of run %s", c.RequestID, run.RunID)
	}
	id := model.EffectID(api.EffectReviewApproval, request.Handle)
	if !request.Open() || w.effect(id) != nil {
		return Reply{Existing: true}, nil
	}
	w.owe(&model.Effect{
		SessionID: run.SessionID, EffectID: id, RunID: run.RunID,
		Kind: api.EffectReviewApproval, TargetSessionID: run.SessionID,
		Payload: document.Encode(reviewPayload{run.SessionID, run.RunID, run.AgentID, request.Approval()}),
	})
	return Reply{}, nil
}
