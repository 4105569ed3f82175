package httpapi

import (
	"context"

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
