package runs

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// explainRequest explains what an approval or a question waits for.
func (h *handlers) explainRequest(r *http.Request) (*api.RequestExplanation, error) {
	handle := wire.PathID(r, "handle")
	if !refusal.ValidID(handle) {
		return nil, refusal.UnknownRequest(wire.Shown(handle))
	}
	actor, err := wire.Actor(r)
	if err != nil {
		return nil, err
	}
	return h.explanations(r.Context()).OfRequest(r.Context(), handle, actor)
}

// explainRun explains what a run waits for.
func (h *handlers) explainRun(r *http.Request) (*api.RunExplanation, error) {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return nil, refusal.UnknownRun(wire.Shown(runID))
	}
	actor, err := wire.Actor(r)
	if err != nil {
		return nil, err
	}
	return h.explanations(r.Context()).OfRun(r.Context(), runID, actor)
}

// explanations returns the collector for the context's caller.
func (h *handlers) explanations(ctx context.Context) *explain.Collector {
	collector := h.Explain
	collector.Reader, collector.ShowEffect = h.Store.Reader(ctx), effectViewFor(auth.From(ctx))
	return &collector
}
