// Package work serves workers: they claim runs, keep a lease, raise requests, receive the decisions with grants, and
// read mailboxes. It must not know how a person decides.
package work

import (
	"log/slog"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Options are the dependencies.
type Options struct {
	*kit.Calls

	Claims *claims.Dispatcher
	// Sealer opens sensitive values; nil for none.
	Sealer runs.Sealer
	// Signing signs grants with the "iss" Issuer; nil signs nothing.
	Signing *signing.Keys
	Issuer  string
	// Unscoped reads sessions and runs outside of the caller's scope, to ask the session of a parent.
	Unscoped reads.Reader
	Logger   *slog.Logger
}

// Handlers serve the routes, and complete the claims of other features.
type Handlers struct {
	Options

	grants grants
}

// New returns the handlers.
func New(o Options) *Handlers { return &Handlers{o, grants{o.Signing, o.Issuer}} }

// Routes returns the routes.
func (h *Handlers) Routes() []wire.Route {
	return []wire.Route{
		// Reading the mailbox leases the returned messages.
		wire.GetOnly("/v1/sessions/{session_id}/mailbox", auth.Work, wire.Reply(http.StatusOK, h.readMailbox)),
		wire.Get("/v1/sessions/{session_id}/mailbox/dead-letter", auth.Administer, wire.Reply(http.StatusOK, h.readDeadLetters)),
		wire.Post("/v1/sessions/{session_id}/mailbox/{message_id}/ack", auth.Work, h.acknowledgeMessage),
		wire.Post("/v1/sessions/{session_id}/mailbox/dead-letter/{message_id}/replay", auth.Administer, h.replayMessage),
		wire.Post("/v1/runs/claim", auth.Work, h.claimRuns),
		wire.Post("/v1/runs/{run_id}/claim", auth.Work, h.claimRun),
		wire.Post("/v1/runs/{run_id}/heartbeat", auth.Work, h.heartbeat),
		wire.Post("/v1/runs/{run_id}/suspend", auth.Work, h.suspend),
		wire.Get("/v1/runs/{run_id}/resume", auth.Work, h.awaitResume),
		wire.Post("/v1/runs/{run_id}/requests/{request_id}/withdraw", auth.Work, onLease(h, bodyRequired, withdraw)),
		wire.Post("/v1/runs/{run_id}/clarifications", auth.Work, h.askParent),
		wire.Post("/v1/runs/{run_id}/events", auth.Work, h.appendEvents),
		wire.Post("/v1/runs/{run_id}/complete", auth.Work, onLease(h, bodyRequired, complete)),
		wire.Post("/v1/runs/{run_id}/fail", auth.Work, onLease(h, bodyRequired, fail)),
		wire.Post("/v1/runs/{run_id}/release", auth.Work, onLease(h, bodyOptional, release)),
		wire.Post("/v1/grants/redeem", auth.Work, h.redeemGrant),
		wire.Get("/v1/workers", auth.Read, h.listWorkers),
	}
}
