// Package runs serves sessions and runs: creating and reading them, why they do not continue, and the effects of their
// decisions. It must not know how a request is decided, nor what a worker is handed.
package runs

import (
	"context"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/explain"
)

// Options are the dependencies.
type Options struct {
	*kit.Calls

	// InputWait is how long the reply to an input is held without a preference.
	InputWait time.Duration
	// HandOver completes the claim of a run that is claimed as it is created.
	HandOver func(ctx context.Context, claim *api.Claim) error
	// Explain collects explanations. Its Reader and ShowEffect are set for each caller.
	Explain explain.Collector
}

type handlers struct{ Options }

// Routes returns the routes.
func Routes(options Options) []wire.Route {
	h := &handlers{options}
	return []wire.Route{
		wire.Post("/v1/sessions", auth.Work, h.createSession),
		wire.Get("/v1/sessions", auth.Read, h.listSessions),
		wire.Get("/v1/sessions/{session_id}", auth.Read, h.getSession),
		wire.Patch("/v1/sessions/{session_id}", auth.Work, h.amendSession),
		wire.Post("/v1/sessions/{session_id}/interrupt", auth.Cancel, h.interruptSession),
		wire.Post("/v1/sessions/{session_id}/end", auth.Decide, h.endSession),
		wire.Post("/v1/sessions/{session_id}/runs", auth.Work, h.createSessionRun),
		wire.Post("/v1/sessions/{session_id}/input", auth.Work, h.inputSession),
		wire.Post("/v1/sessions/{session_id}/effects/{effect_id}/retry", auth.Administer, h.retryEffect),
		wire.Post("/v1/runs", auth.Work, h.createRun),
		wire.Get("/v1/runs", auth.Read, h.listRuns),
		wire.Get("/v1/runs/{run_id}", auth.Read, h.getRun),
		wire.Get("/v1/runs/{run_id}/explain", auth.Read, wire.Reply(http.StatusOK, h.explainRun)),
		wire.Post("/v1/runs/{run_id}/cancel", auth.Cancel, h.cancelRun),
		wire.Post("/v1/runs/{run_id}/retry", auth.Decide, h.retryRun),
		wire.Get("/v1/requests/{handle}/explain", auth.Read, wire.Reply(http.StatusOK, h.explainRequest)),
		wire.Get("/v1/effects", auth.Read, h.listEffects),
	}
}
