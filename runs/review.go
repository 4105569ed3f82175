package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ReviewApproval writes the effect that posts an open approval to the review hook, at most once
// for each approval (docs/spec/codex.md#review-hook).
//
// Reply: Existing when the effect was written before, or the approval is settled. Errors:
// invalid_request; run_not_found; request_not_found, also when the request is not an approval
// or has another handle.
type ReviewApproval struct {
	RunID     string
	RequestID string
	Handle    string // of the request
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
