package work

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/v1/paging"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// claimRuns claims runs for a worker. While there are none it holds the call, as long as the worker
// wants and the server does not drain.
func (h *Handlers) claimRuns(w http.ResponseWriter, r *http.Request) error {
	var body api.ClaimRunsBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	request := claims.Request{
		WorkerID: body.WorkerID, AgentIDs: body.AgentIDs, MaxRuns: int(kit.OptionalNumber(body.MaxRuns)),
		LeaseMs: kit.OptionalNumber(body.LeaseMs), Wait: h.claimWait(body.WaitMs),
		Scope: reads.ScopeOf(auth.From(r.Context())), Named: isAgent(r.Context()),
	}
	if len(faults.List) > 0 {
		faults.AddBeside(request.Faults()...)
		return faults.Err()
	}
	if request.Wait > 0 {
		if err := wire.Hold(r.Context()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.Draining, cancel)()
	claimed, err := h.Claims.Claim(ctx, request)
	if err != nil && !(errors.Is(err, context.Canceled) && r.Context().Err() == nil) {
		return err
	}
	if claimed, err = h.handOverEach(r.Context(), claimed); err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, api.ClaimsReply{Claims: claimed})
}

// isAgent reports whether the caller is an agent, which may claim only for agents that it names.
func isAgent(ctx context.Context) bool {
	caller := auth.From(ctx)
	return caller != nil && caller.Role == api.RoleAgent
}

// claimWait returns a wait_ms as a duration, at most the longest hold of this server. An invalid
// value stays invalid, without an overflow.
func (h *Handlers) claimWait(waitMs int64) time.Duration {
	if waitMs < 0 || waitMs > api.MaxWaitMs {
		return -1
	}
	return min(time.Duration(waitMs)*time.Millisecond, h.MaxWait)
}

func (h *Handlers) claimRun(w http.ResponseWriter, r *http.Request) error {
	var body api.ClaimRunBody
	var faults refusal.Faults
	if err := h.Bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	runID, leaseMs := wire.PathID(r, "run_id"), kit.OptionalNumber(body.LeaseMs)
	if err := kit.AllFaults(r.Context(), &faults, &runs.ClaimRun{RunID: runID, WorkerID: body.WorkerID, LeaseMs: leaseMs}); err != nil {
		return err
	}
	if err := kit.CheckRunID(r.Context(), runID, &runs.ClaimRun{RunID: runID, WorkerID: body.WorkerID, LeaseMs: leaseMs}); err != nil {
		return err
	}
	claim, err := h.Claims.ClaimRun(r.Context(), runID, body.WorkerID, leaseMs, reads.ScopeOf(auth.From(r.Context())))
	if err != nil {
		return err
	}
	handed, err := h.handOverEach(r.Context(), []api.Claim{claim})
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, handed[0])
}

// listWorkers shows which workers hold which runs.
func (h *Handlers) listWorkers(w http.ResponseWriter, r *http.Request) error {
	if err := (&paging.List{}).CheckFilters(wire.Query(r), ""); err != nil {
		return err
	}
	leased, nowMs, err := h.Store.Reader(r.Context()).LeasedRuns(r.Context(), reads.LeaseQuery{Limit: api.MaxLeasesShown + 1})
	if err != nil {
		return err
	}
	more := len(leased) > api.MaxLeasesShown
	leased = leased[:min(len(leased), api.MaxLeasesShown)]
	ids := make([]string, len(leased))
	for i := range leased {
		ids[i] = leased[i].SessionID
	}
	names, err := h.Store.Reader(r.Context()).SessionNames(r.Context(), ids)
	if err != nil {
		return err
	}
	view, places := api.WorkersView{NowMs: nowMs, Workers: []api.WorkerView{}, More: more}, map[string]int{}
	for i := range leased {
		run := &leased[i]
		name := names[run.SessionID]
		place, known := places[run.WorkerID]
		if !known {
			place, places[run.WorkerID] = len(view.Workers), len(view.Workers)
			view.Workers = append(view.Workers, api.WorkerView{WorkerID: run.WorkerID})
		}
		worker := &view.Workers[place]
		worker.Leases = append(worker.Leases, api.HeldLease{
			RunID: run.RunID, SessionID: run.SessionID, AgentID: run.AgentID, Session: name.View(), Status: run.Status, Attempt: run.Attempt,
			HolderPrincipal: run.HolderPrincipal, StartedAtMs: run.StartedAtMs, UpdatedAtMs: run.UpdatedAtMs, ExpiresAtMs: run.LeaseExpiresAtMs,
		})
	}
	return wire.Respond(w, r, http.StatusOK, view)
}
