package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

var replayed = []string{"true"}

// run returns a run's current state.
func (s *Server) run(ctx context.Context, runID string) (*model.RunRecord, error) {
	if !refusal.ValidID(runID) {
		return nil, refusal.UnknownRun(wire.Shown(runID))
	}
	return s.store.Reader(ctx).Run(ctx, runID)
}

// session returns a session's current state.
func (s *Server) session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	if !refusal.ValidID(sessionID) {
		return nil, refusal.UnknownSession(wire.Shown(sessionID))
	}
	return s.store.Reader(ctx).Session(ctx, sessionID)
}

// runOf returns the run in a command's reply. A replayed call's reply has no run; then it reads the
// current state of runID. Output records are omitted, because their size has nothing to do with the
// call.
func (s *Server) runOf(ctx context.Context, reply *runs.Reply, runID string) (*model.RunRecord, error) {
	if reply.Run != nil {
		return reply.Run, nil
	}
	record, err := s.store.Reader(ctx).Run(ctx, cmp.Or(reply.ReplayRunID, runID))
	if err != nil {
		return nil, err
	}
	record.Outputs = nil
	return record, nil
}

// respondRun answers with the run of a reply; see runOf.
func (s *Server) respondRun(w http.ResponseWriter, r *http.Request, status int, reply *runs.Reply, runID string) error {
	record, err := s.runOf(r.Context(), reply, runID)
	if err != nil {
		return err
	}
	markReplayed(w, reply.Replayed)
	if status == http.StatusAccepted {
		wire.Locate(w, "/v1/runs/", record.Run.RunID)
	}
	return wire.Respond(w, r, status, record.View())
}

// respondSession answers 200 with a session after a write, without its outputs.
func (s *Server) respondSession(w http.ResponseWriter, r *http.Request, sessionID string) error {
	record, err := s.session(r.Context(), sessionID)
	if err != nil {
		return err
	}
	withoutOutputs(record)
	return wire.Respond(w, r, http.StatusOK, record.View())
}

// withoutOutputs removes the outputs from a write's reply.
func withoutOutputs(record *model.SessionRecord) {
	record.OutputsTruncated = record.OutputsTruncated || len(record.Outputs) > 0
	record.Outputs = nil
}

func markReplayed(w http.ResponseWriter, isReplay bool) {
	if isReplay {
		w.Header()[wire.ReplayedHeader] = replayed
	}
}

// idFromKey derives a row's id from an idempotency key. The row then records the call: the same key
// of the same scope finds it.
func idFromKey(prefix, scope, key string) string {
	sum := sha256.Sum256([]byte(scope + "\x00" + key))
	return prefix + "_key_" + hex.EncodeToString(sum[:16])
}

// keyReused reports whether an id derived from a key belongs to a row with another payload.
func keyReused(byKey bool, err error) bool { return byKey && refusal.CodeOf(err) == api.CodeIDConflict }

// errKeyReused refuses a key whose derived id is in use.
func errKeyReused() error {
	return refusal.New(api.CodeIdempotencyConflict, "run operation idempotency key was reused with a different request payload")
}

// createdStatus returns 201 for a creation, including an earlier one with the same key, and 200
// when the caller's own id already exists.
func createdStatus(existing, byKey bool) int {
	if existing && !byKey {
		return http.StatusOK
	}
	return http.StatusCreated
}
