package work

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// HandOver puts sensitive values in clear, complete grants, and signed answers into a worker's claim. Everywhere
// else they stay masked. A claim with sensitive values is read again; it stays masked when its run
// has another fence by then, or is over.
func (h *Handlers) HandOver(ctx context.Context, claim *api.Claim) error {
	if claim.Resume == nil {
		return nil
	}
	linkResume(ctx, claim.Resume)
	if hasSecrets(claim.Resume) {
		record, err := h.Store.Reader(ctx).Run(ctx, claim.Run.RunID)
		if err != nil {
			return err
		}
		if model.FenceText(record.Run.Fence) != claim.Lease.Fence {
			return nil
		}
		if claim.Resume, err = h.openResume(record); err != nil {
			return err
		}
	}
	holder := lease{runID: claim.Run.RunID, agentID: claim.Run.AgentID, fence: claim.Lease.Fence}
	if shown := claim.Run.Lease; shown != nil && shown.ExpiresAtMs == claim.Lease.ExpiresAtMs {
		holder.expiresAtMs = shown.ExpiresAtMs
	}
	return h.grants.sign(claim.Resume, holder)
}

// handOverEach hands over each claim separately. It releases a claim that fails and returns the
// others. It returns an error when all of them fail.
func (h *Handlers) handOverEach(ctx context.Context, claimed []api.Claim) ([]api.Claim, error) {
	handed, failed := make([]api.Claim, 0, len(claimed)), error(nil)
	for i := range claimed {
		if err := h.HandOver(ctx, &claimed[i]); err != nil {
			failed = cmp.Or(failed, err)
			level := slog.LevelError
			if ctx.Err() != nil { // the caller has left, which is not a failure of the service
				level = slog.LevelDebug
			}
			h.Logger.LogAttrs(context.WithoutCancel(ctx), level, "a claimed run was released: it cannot be handed over",
				slog.String("run_id", claimed[i].Run.RunID), slog.String("error", err.Error()))
			h.Claims.GiveBack(ctx, claimed[i:i+1])
			continue
		}
		handed = append(handed, claimed[i])
	}
	if len(handed) > 0 {
		failed = nil
	}
	return handed, failed
}

// openResume returns a run's Resume for the lease's holder.
func (h *Handlers) openResume(record *model.RunRecord) (*api.Resume, error) {
	opened, err := runs.OpenRecord(h.Sealer, record)
	if err != nil {
		return nil, err
	}
	return opened.Resume(), nil
}

func hasSecrets(resume *api.Resume) bool {
	return slices.ContainsFunc(resume.Approvals, func(one api.SettledApproval) bool { return len(one.Request.SensitivePaths) > 0 }) ||
		slices.ContainsFunc(resume.Questions, func(one api.SettledQuestion) bool { return model.Sensitive(&one.Request) })
}
