package kit

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

// Run returns a run's current state.
func (c *Calls) Run(ctx context.Context, runID string) (*model.RunRecord, error) {
	if !refusal.ValidID(runID) {
		return nil, refusal.UnknownRun(wire.Shown(runID))
	}
	return c.Store.Reader(ctx).Run(ctx, runID)
}

// Session returns a session's current state.
func (c *Calls) Session(ctx context.Context, sessionID string) (*model.SessionRecord, error) {
	if !refusal.ValidID(sessionID) {
		return nil, refusal.UnknownSession(wire.Shown(sessionID))
	}
	return c.Store.Reader(ctx).Session(ctx, sessionID)
}

// RunOf returns the run in a command's reply. A replayed call's reply has no run; then it reads the
// current state of runID. Output records are omitted, because their size has nothing to do with the
// call.
func (c *Calls) RunOf(ctx context.Context, reply *runs.Reply, runID string) (*model.RunRecord, error) {
	if reply.Run != nil {
		return reply.Run, nil
	}
	record, err := c.Store.Reader(ctx).Run(ctx, cmp.Or(reply.ReplayRunID, runID))
	if err != nil {
		return nil, err
	}
	record.Outputs = nil
	return record, nil
}

// RespondRun answers with the run of a reply; see [Calls.RunOf].
func (c *Calls) RespondRun(w http.ResponseWriter, r *http.Request, status int, reply *runs.Reply, runID string) error {
	record, err := c.RunOf(r.Context(), reply, runID)
	if err != nil {
		return err
	}
	wire.MarkReplayed(w, reply.Replayed)
	if status == http.StatusAccepted {
		wire.Locate(w, "/v1/runs/", record.Run.RunID)
	}
	return wire.Respond(w, r, status, record.View())
}

// RespondSession answers 200 with a session after a write, without its outputs.
func (c *Calls) RespondSession(w http.ResponseWriter, r *http.Request, sessionID string) error {
	record, err := c.Session(r.Context(), sessionID)
	if err != nil {
		return err
	}
	WithoutOutputs(record)
	return wire.Respond(w, r, http.StatusOK, record.View())
}

// WithoutOutputs removes the outputs from a write's reply.
func WithoutOutputs(record *model.SessionRecord) {
	record.OutputsTruncated = record.OutputsTruncated || len(record.Outputs) > 0
	record.Outputs = nil
}

// IDFromKey derives a row's id from an idempotency key. The row then records the call: the same key
// of the same scope finds it.
func IDFromKey(prefix, scope, key string) string {
	sum := sha256.Sum256([]byte(scope + "\x00" + key))
	return prefix + "_key_" + hex.EncodeToString(sum[:16])
}

// KeyReused reports whether an id derived from a key belongs to a row with another payload.
func KeyReused(byKey bool, err error) bool { return byKey && refusal.CodeOf(err) == api.CodeIDConflict }

// ErrKeyReused refuses a key whose derived id is in use.
func ErrKeyReused() error {
	return refusal.New(api.CodeIdempotencyConflict, "run operation idempotency key was reused with a different request payload")
}

// CreatedStatus returns 201 for a creation, including an earlier one with the same key, and 200
// when the caller's own id already exists.
func CreatedStatus(existing, byKey bool) int {
	if existing && !byKey {
		return http.StatusOK
	}
	return http.StatusCreated
}
