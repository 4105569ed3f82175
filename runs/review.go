package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ReviewApproval owes a review of an open approval, once for each approval
// (contracts/codex.md 3.3.5). One that is not open any more is not reviewed.
//
// Reply: Existing when nothing was owed because it was owed before, or because the
// approval is settled. Errors: run_not_found; request_not_found, also when the request
// is no approval or has another handle.
type ReviewApproval struct {
	RunID     string
	RequestID string
	Handle    string // the request's
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

func (c *ReviewApproval) decide(w *workingCopy) (Reply, error) {
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
	w.enqueueEffect(&model.Effect{
		SessionID: run.SessionID, EffectID: id, RunID: run.RunID,
		Kind: api.EffectReviewApproval, TargetSessionID: run.SessionID,
		Payload: document.Encode(reviewPayload{run.SessionID, run.RunID, run.AgentID, request.Approval()}),
	})
	return Reply{}, nil
}
