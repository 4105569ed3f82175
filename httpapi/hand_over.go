package httpapi

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// handOver puts what is sensitive in clear into the claims of a worker, and grants whole. Everywhere
// else both stay masked. For a claim that has something sensitive the run is read again, and
// one that has another fence by then, or is over, stays as it is.
func (s *Server) handOver(ctx context.Context, claims ...api.Claim) error {
	for i := range claims {
		claim := &claims[i]
		if claim.Resume == nil {
			continue
		}
		linkResume(ctx, claim.Resume)
		if hasSecrets(claim.Resume) {
			record, err := s.store.Run(ctx, claim.Run.RunID)
			if err != nil {
				return err
			}
			if model.FenceText(record.Run.Fence) != claim.Lease.Fence {
				continue
			}
			if claim.Resume, err = s.openResume(record); err != nil {
				return err
			}
		}
		if err := s.signGrants(claim.Resume, claim.Run.RunID, claim.Run.AgentID, claim.Lease.Fence); err != nil {
			return err
		}
	}
	return nil
}

// handOverEach hands over each claim by itself. A claim that cannot be handed over is given back, and
// the others reach their caller. It returns an error when it hands over none.
func (s *Server) handOverEach(ctx context.Context, claimed []api.Claim) ([]api.Claim, error) {
	handed, failed := make([]api.Claim, 0, len(claimed)), error(nil)
	for i := range claimed {
		if err := s.handOver(ctx, claimed[i:i+1]...); err != nil {
			failed = cmp.Or(failed, err)
			s.logger.LogAttrs(context.WithoutCancel(ctx), slog.LevelError, "a claimed run was given back: it cannot be handed over",
				slog.String("run_id", claimed[i].Run.RunID), slog.String("error", err.Error()))
			s.claims.GiveBack(ctx, claimed[i:i+1])
			continue
		}
		handed = append(handed, claimed[i])
	}
	if len(handed) > 0 {
		failed = nil
	}
	return handed, failed
}

// openResume returns the Resume of a run for the holder of its lease.
func (s *Server) openResume(record *model.RunRecord) (*api.Resume, error) {
	opened, err := runs.OpenRecord(s.sealer, record)
	if err != nil {
		return nil, err
	}
	return opened.Resume(), nil
}

func hasSecrets(resume *api.Resume) bool {
	for i := range resume.Approvals {
		if len(resume.Approvals[i].Request.SensitivePaths) > 0 {
			return true
		}
	}
	for i := range resume.Questions {
		if model.Sensitive(&resume.Questions[i].Request) {
			return true
		}
	}
	return false
}
