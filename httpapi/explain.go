package httpapi

import (
	"context"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/explain"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// explainRequest explains what an approval or a question waits for.
func (s *Server) explainRequest(w http.ResponseWriter, r *http.Request) error {
	handle := wire.PathID(r, "handle")
	if !refusal.ValidID(handle) {
		return refusal.UnknownRequest(wire.Shown(handle))
	}
	actor, err := wire.Actor(r)
	if err != nil {
		return err
	}
	explained, err := s.explanations(r.Context()).OfRequest(r.Context(), handle, actor)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, explained)
}

// explainRun explains what a run waits for.
func (s *Server) explainRun(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !refusal.ValidID(runID) {
		return refusal.UnknownRun(wire.Shown(runID))
	}
	actor, err := wire.Actor(r)
	if err != nil {
		return err
	}
	explained, err := s.explanations(r.Context()).OfRun(r.Context(), runID, actor)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, explained)
}

func (s *Server) explanations(ctx context.Context) *explain.Collector {
	var channels []string
	if s.notify != nil {
		channels = s.notify.Channels()
	}
	return &explain.Collector{
		Channels: channels,
		Reader:   s.store.Reader(ctx), Whole: s.store.store, NowMs: s.store.NowMs, Waiting: s.claims.WaitingFor, Directory: directory{s.access.Keyring},
		ShowEffect: effectViewFor(auth.From(ctx)),
	}
}

// directory is the service's keyring, which is nil when no credential is required.
type directory struct{ keyring *auth.Keyring }

// Open implements [explain.Directory].
func (d directory) Open(ctx context.Context) (bool, error) {
	if d.keyring == nil {
		return true, nil
	}
	return d.keyring.Open(ctx)
}

// Deciders implements [explain.Directory].
func (d directory) Deciders(ctx context.Context) ([]*auth.Identity, bool, error) {
	return d.keyring.Deciders(ctx)
}

// Strangers implements [explain.Directory].
func (d directory) Strangers() bool { return d.keyring != nil && d.keyring.Strangers() }
