package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The bounds of POST /v1/runs/claim (v1-work.md "Work").
const (
	maxRunsPerClaim  = 100
	maxAgentsOfClaim = 100
)

type claimRunsBody struct {
	WorkerID string   `json:"worker_id"`
	AgentIDs []string `json:"agent_ids"`
	MaxRuns  *int64   `json:"max_runs"`
	LeaseMs  *int64   `json:"lease_ms"`
	WaitMs   int64    `json:"wait_ms"`
}

func (b *claimRunsBody) request(maxWait time.Duration) (claims.Request, error) {
	var wrong faults
	if !refusal.ValidID(b.WorkerID) {
		wrong.add("/worker_id", "must be an id of 1 to 200 characters")
	}
	if len(b.AgentIDs) > maxAgentsOfClaim {
		wrong.add("/agent_ids", fmt.Sprintf("must have at most %d entries", maxAgentsOfClaim))
	}
	for i, agentID := range b.AgentIDs {
		if !refusal.ValidID(agentID) {
			wrong.add(fmt.Sprintf("/agent_ids/%d", i), "must be an id of 1 to 200 characters")
		}
	}
	request := claims.Request{WorkerID: b.WorkerID, AgentIDs: b.AgentIDs, MaxRuns: 1, LeaseMs: wrong.lease(b.LeaseMs)}
	if b.MaxRuns != nil {
		if *b.MaxRuns < 1 || *b.MaxRuns > maxRunsPerClaim {
			wrong.add("/max_runs", fmt.Sprintf("must be between 1 and %d", maxRunsPerClaim))
		}
		request.MaxRuns = int(*b.MaxRuns)
	}
	if b.WaitMs < 0 || b.WaitMs > DefaultMaxWait.Milliseconds() {
		wrong.add("/wait_ms", fmt.Sprintf("must be between 0 and %d", DefaultMaxWait.Milliseconds()))
	}
	request.Wait = min(time.Duration(b.WaitMs)*time.Millisecond, maxWait)
	return request, wrong.err()
}

// lease reads an optional lease length; 0 stands for the default.
func (f *faults) lease(given *int64) int64 {
	if given == nil {
		return 0
	}
	if *given < api.MinLeaseMs || *given > api.MaxLeaseMs {
		f.add("/lease_ms", fmt.Sprintf("must be between %d and %d", api.MinLeaseMs, api.MaxLeaseMs))
	}
	return *given
}

type claimsReply struct {
	Claims []api.Claim `json:"claims"`
}

// claimRuns hands out runs that may go on. It is held while there are none, as
// long as the worker wants and the server does not drain.
func (s *Server) claimRuns(w http.ResponseWriter, r *http.Request) error {
	var body claimRunsBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	request, err := body.request(s.limits.MaxWait)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	claimed, err := s.claims.Claim(ctx, request)
	if err != nil && !(errors.Is(err, context.Canceled) && r.Context().Err() == nil) {
		return err
	}
	if claimed == nil {
		claimed = []api.Claim{}
	}
	return wire.Respond(w, r, http.StatusOK, claimsReply{Claims: claimed})
}

type claimRunBody struct {
	WorkerID string `json:"worker_id"`
	LeaseMs  *int64 `json:"lease_ms"`
}

func (s *Server) claimRun(w http.ResponseWriter, r *http.Request) error {
	var body claimRunBody
	if err := s.decode(w, r, &body); err != nil {
		return err
	}
	var wrong faults
	if !refusal.ValidID(body.WorkerID) {
		wrong.add("/worker_id", "must be an id of 1 to 200 characters")
	}
	leaseMs := wrong.lease(body.LeaseMs)
	if err := wrong.err(); err != nil {
		return err
	}
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	claim, err := s.claims.ClaimRun(r.Context(), runID, body.WorkerID, leaseMs)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, claim)
}
