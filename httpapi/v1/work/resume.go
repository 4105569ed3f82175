package work

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// awaitResume returns decisions to an attached worker (docs/spec/v1.md#attached-waiting). With a
// preferred wait the call is held until a request was settled after the worker's cursor, nothing is
// open any more, or the run was cancelled or interrupted.
func (h *Handlers) awaitResume(w http.ResponseWriter, r *http.Request) error {
	query := wire.Query(r)
	fence, ok := wire.Decimal(query.Get("fence"))
	if !ok {
		var faults refusal.Faults
		faults.Add("/fence", "must be given in the query: the fence of the worker's claim")
		return faults.Err()
	}
	after := int64(0)
	if query.Has("after") {
		if after, ok = wire.Decimal(query.Get("after")); !ok {
			return refusal.New(api.CodeInvalidEventCursor, "after must be 0 or the after of an earlier reply")
		}
	}
	record, err := h.Run(r.Context(), wire.PathID(r, "run_id"))
	if err != nil {
		return err
	}
	wait := h.PreferredWait(w, r)
	changes := h.Watches.Session(record.Run.SessionID)
	defer changes.Close()

	var settled api.Settled
	// A read that fails because the wait is over must keep the previous result.
	read := func(ctx context.Context) (bool, error) {
		current, done, err := h.settledAfter(ctx, record.Run.RunID, fence, after)
		if err == nil {
			settled = current
		}
		return done, err
	}
	done, err := read(r.Context())
	if err == nil && !done && wait > 0 {
		err = h.Hold(r.Context(), changes, wait, read)
	}
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, settled)
}

// settledAfter returns the requests settled after a number, and whether to send the reply. Open
// requests are read first: a request that is settled between the two reads is then in the list and
// not counted as open, so a reply never says that nothing is open while a decision is missing.
// Clarifications that the run does not wait for go to the mailbox. They are neither shown nor
// counted, though they have a number like every decision. A reply has at most one page of decisions, and then counts
// one more as open.
func (h *Handlers) settledAfter(ctx context.Context, runID string, fence, after int64) (api.Settled, bool, error) {
	record, err := h.Store.Reader(ctx).Run(ctx, runID)
	if err != nil {
		return api.Settled{}, false, err
	}
	settled := api.Settled{After: strconv.FormatInt(after, 10), Settled: []api.JSON{}}
	known := map[string]bool{}
	for more := true; more && len(settled.Settled) == 0; {
		run, requests, err := h.Store.Reader(ctx).SettledAfter(ctx, runID, after)
		if err != nil {
			return api.Settled{}, false, err
		}
		if err := cmp.Or(runs.CheckHolder(run, fence, auth.From(ctx)), mayResume(run, fence)); err != nil {
			return api.Settled{}, false, err
		}
		// The number of the next decision would not be above such an after, so the worker would never read it.
		if after > run.SettledCount {
			return api.Settled{}, false, refusal.New(api.CodeInvalidEventCursor,
				"after is %d, but the last decision on run %s has the number %d: the database was restored", after, runID, run.SettledCount)
		}
		if requests, err = runs.OpenRequests(h.Sealer, run, requests); err != nil {
			return api.Settled{}, false, err
		}
		linkSettled(ctx, requests)
		for i := range requests {
			after = requests[i].SettledNumber
			known[requests[i].RequestID] = true
			if !awaited(&requests[i]) {
				continue
			}
			shown, err := h.settledDocument(run, &requests[i])
			if err != nil {
				return api.Settled{}, false, err
			}
			settled.Settled = append(settled.Settled, shown)
		}
		settled.After, settled.CancelRequested = strconv.FormatInt(after, 10), model.Terminal(run.Status)
		more = len(requests) > 0 && after < run.SettledCount
		if more && len(settled.Settled) > 0 {
			settled.Open++ // a worker that stops when nothing is open asks again
		}
	}
	for i := range record.Requests {
		if request := &record.Requests[i]; request.Open() && awaited(request) && !known[request.RequestID] {
			settled.Open++
		}
	}
	return settled, len(settled.Settled) > 0 || settled.Open == 0 || settled.CancelRequested, nil
}

// settledDocument returns a settled request for the lease's holder.
func (h *Handlers) settledDocument(run *model.Run, request *model.Request) (api.JSON, error) {
	if request.Kind != model.KindApproval {
		settled := request.SettledQuestion()
		if err := h.grants.signAnswer(&settled, leaseOf(run)); err != nil {
			return nil, err
		}
		return document.Encode(settled), nil
	}
	settled := request.SettledApproval(run.LeaseExpiresAtMs)
	if err := h.grants.signApproval(&settled, leaseOf(run)); err != nil {
		return nil, err
	}
	return document.Encode(settled), nil
}

// awaited reports whether the run waits for the request.
func awaited(request *model.Request) bool {
	return request.Kind != model.KindClarification || request.Clarification().Parked
}

// mayResume checks that the caller holds the run's newest claim (docs/spec/v1.md#lease-and-fence).
// As for a heartbeat, a cancelled or interrupted run is not an error: the reply has
// cancel_requested.
func mayResume(run *model.Run, fence int64) error {
	ended := run.Status == api.StatusCancelled || run.Status == api.StatusInterrupted
	switch {
	case fence == 0 || fence != run.Fence:
		return refusal.New(api.CodeLeaseLost, "fence %d is not the newest of run %s", fence, run.RunID)
	case ended && run.LeaseEnd == model.LeaseRevoked:
		return nil
	case model.Terminal(run.Status) && (run.LeaseEnd == model.LeaseCompleted || run.LeaseEnd == model.LeaseFailed):
		return refusal.New(api.CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status)
	case run.LeaseEnd != "":
		return refusal.New(api.CodeLeaseLost, "the lease of run %s was %s", run.RunID, run.LeaseEnd)
	}
	return nil
}
