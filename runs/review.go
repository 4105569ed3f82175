package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

// oweReviews writes the effects that post approvals to the review hook, for those that were
// just raised and that nothing has settled at once (docs/spec/codex.md#review-hook). An id that
// names none is ignored.
func (w *workingCopy) oweReviews(run *model.Run, requestIDs []string) {
	for _, id := range requestIDs {
		request := w.request(run.RunID, id)
		if request == nil || request.Kind != model.KindApproval || !request.Open() {
			continue
		}
		w.enqueueEffect(&model.Effect{
			SessionID: run.SessionID, EffectID: model.EffectID(api.EffectReviewApproval, request.Handle), RunID: run.RunID,
			Kind: api.EffectReviewApproval, TargetSessionID: run.SessionID,
			Payload: document.Encode(reviewPayload{run.SessionID, run.RunID, run.AgentID, request.Approval()}),
		})
	}
}
