// Package decide serves the people who decide: open approvals and questions, their answers, and past decisions. It must
// not know how a worker receives a decision.
package decide

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

type handlers struct {
	*kit.Calls

	unscoped     Unscoped
	explain      Explain
	maxRuleAgeMs int64
	readsTimeout time.Duration
}

// Explain returns one line about each of these open requests, nil where there is nothing to say.
type Explain func(ctx context.Context, rows []model.PendingRequest) ([]*api.PendingExplanation, error)

// Unscoped reads sessions outside of the caller's scope, to find who asked for a request.
type Unscoped interface {
	runs.ValueReader
	runs.ListReader
}

// Routes returns the routes. maxRuleAgeMs is the longest lifetime of a rule created with a decision, 0 for no maximum; readsTimeout limits the
// reads about a request or a list, which is then shown without the rest.
func Routes(calls *kit.Calls, unscoped Unscoped, explain Explain, maxRuleAgeMs int64, readsTimeout time.Duration) []wire.Route {
	h := &handlers{calls, unscoped, explain, maxRuleAgeMs, readsTimeout}
	return []wire.Route{
		wire.Get("/v1/sessions/{session_id}/approvals", auth.Read, h.listApprovals),
		wire.Post("/v1/sessions/{session_id}/approvals", auth.Decide, h.inSession(h.resolveApprovals)),
		wire.Post("/v1/sessions/{session_id}/approval-runs", auth.Decide, h.onActiveRun(h.resolveApprovals)),
		wire.Get("/v1/sessions/{session_id}/questions", auth.Read, h.listQuestions),
		wire.Post("/v1/sessions/{session_id}/questions", auth.Decide, h.inSession(h.answerQuestion)),
		wire.Post("/v1/runs/{run_id}/approvals", auth.Decide, h.onRun(h.resolveApprovals)),
		wire.Post("/v1/runs/{run_id}/questions", auth.Decide, h.onRun(h.answerQuestion)),
		wire.Post("/v1/runs/{run_id}/questions/{request_id}/cancel", auth.Cancel, h.cancelQuestion),
		wire.Get("/v1/approvals", auth.Read, h.listApprovals),
		wire.Get("/v1/questions", auth.Read, h.listQuestions),
		wire.Get("/v1/requests/{handle}", auth.Read, h.getRequest),
		wire.Put("/v1/requests/{handle}/acknowledgement", auth.Decide, h.acknowledgeRequest),
		wire.Get("/v1/decisions", auth.Read, h.listDecisions),
	}
}
