package runs

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// explainRequest explains what an approval or a question waits for.
func (h *handlers) explainRequest(w http.ResponseWriter, r *http.Request) error {
	handle := wire.PathID(r, "handle")
	if !refusal.ValidID(handle) {
		return refusal.UnknownRequest(wire.Shown(handle))
	}
	actor, err := wire.Actor(r)
	if err != nil {
		return err
	}
	explained, err := h.explanations(r.Context()).OfRequest(r.Context(), handle, actor)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, explained)
}

// explainRun explains what a run waits for.
func (h *handlers) explainRun(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	actor, err := wire.Actor(r)
	if err != nil {
		return err
	}
	explained, err := h.explanations(r.Context()).OfRun(r.Context(), runID, actor)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, explained)
}

// explanations returns the collector for the context's caller.
func (h *handlers) explanations(ctx context.Context) *explain.Collector {
	collector := h.Explain
	collector.Reader, collector.ShowEffect = h.Store.Reader(ctx), effectViewFor(auth.From(ctx))
	return &collector
}
