package httpapi

import (
	"context"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// handOver puts what is sensitive in clear into the claims of a worker. Everywhere else it stays
// masked. A claim that has nothing sensitive costs nothing; for any other the run is read again, and
// one that has another fence by then, or is over, stays as it is.
func (s *Server) handOver(ctx context.Context, claims ...api.Claim) error {
	for i := range claims {
		if claims[i].Resume == nil || !hasSecrets(claims[i].Resume) {
			continue
		}
		record, err := s.store.Run(ctx, claims[i].Run.RunID)
		if err != nil {
			return err
		}
		if strconv.FormatInt(record.Run.Fence, 10) != claims[i].Lease.Fence {
			continue
		}
		if claims[i].Resume, err = s.openResume(record); err != nil {
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
