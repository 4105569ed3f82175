package kit

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Reason reads an optional api.ReasonBody and the actor of the command.
func (c *Calls) Reason(w http.ResponseWriter, r *http.Request, command func(reason string, actor runs.Actor) runs.Command) (runs.Command, error) {
	var body api.ReasonBody
	var faults refusal.Faults
	if err := c.Bodies.DecodeOptional(w, r, &body, &faults); err != nil {
		return nil, err
	}
	if err := AllFaults(r.Context(), &faults, command(body.Reason, runs.Actor{})); err != nil {
		return nil, err
	}
	actor, err := wire.Actor(r)
	return command(body.Reason, actor), err
}

// AllFaults returns invalid_request with the faults found in a body and the faults of its command,
// or nil without any. The command is prepared only for its faults.
func AllFaults(ctx context.Context, faults *refusal.Faults, command runs.Command) error {
	if len(faults.List) == 0 {
		return nil
	}
	if refused, ok := errors.AsType[*refusal.Error](BodyFaults(ctx, command)); ok {
		faults.AddBeside(refused.Faults...)
	}
	return faults.Err()
}

// Credentials reads the actor and the idempotency key, unless [AllFaults] finds one. A bad key is reported after all
// faults of the body (docs/spec/v1.md#order-of-checks), so the command is first checked without its key.
func Credentials(r *http.Request, faults *refusal.Faults, inBody *string, command runs.Command) (string, runs.Actor, error) {
	if err := AllFaults(r.Context(), faults, command); err != nil {
		return "", runs.Actor{}, err
	}
	key, err := wire.IdempotencyKey(r.Header, inBody)
	if err != nil {
		return "", runs.Actor{}, cmp.Or(BodyFaults(r.Context(), command), err)
	}
	actor, err := wire.Actor(r)
	return key, actor, err
}

// DoInSession sends a command about an existing session to the store. An invalid session id is
// refused after the body's faults.
func (c *Calls) DoInSession(r *http.Request, sessionID string, command runs.Command) (runs.Reply, error) {
	if !refusal.ValidID(sessionID) {
		return runs.Reply{}, cmp.Or[error](BodyFaults(r.Context(), command), refusal.UnknownSession(wire.Shown(sessionID)))
	}
	return c.Store.Do(r.Context(), command)
}

// DoOnRun sends a command about an existing run to the store, like DoInSession.
func (c *Calls) DoOnRun(r *http.Request, runID string, command runs.Command) (runs.Reply, error) {
	if err := CheckRunID(r.Context(), runID, command); err != nil {
		return runs.Reply{}, err
	}
	return c.Store.Do(r.Context(), command)
}

// CheckRunID refuses an invalid run id, after the body's faults.
func CheckRunID(ctx context.Context, runID string, command runs.Command) error {
	if refusal.ValidID(runID) {
		return nil
	}
	return cmp.Or[error](BodyFaults(ctx, command), refusal.UnknownRun(wire.Shown(runID)))
}

// BodyFaults returns the invalid_request of a command, or nil. It prepares the command, and a
// command is prepared only once, so do not send it to the store.
func BodyFaults(ctx context.Context, command runs.Command) error {
	// Large bodies and especially schemas take long to check.
	err := cpulimit.Do(ctx, cpulimit.Bytes, func() error { return runs.Prepare(command, runs.NewID) })
	if code := refusal.CodeOf(err); code == "" || code == api.CodeInvalidRequest {
		return err
	}
	return nil
}

// OptionalID returns an optional id of a body, "" when absent. A given empty id is a fault, because
// for the domain an empty id means a generated one.
func OptionalID(faults *refusal.Faults, pointer string, given *string) string {
	if given == nil {
		return ""
	}
	if *given == "" {
		faults.Add(pointer, "must not be empty")
	}
	return *given
}

// RequiredFence returns the fence of a body as a number, 0 when it is missing.
func RequiredFence(faults *refusal.Faults, given *string) int64 {
	if given == nil {
		return 0 // already a fault of the body
	}
	fence, ok := wire.Decimal(*given)
	if !ok {
		faults.Add("/fence", "must be the fence of a claim, exactly as it was returned")
	}
	return fence
}

// OptionalNumber converts an optional number of a body to a command's number, where 0 means the
// default. An explicit 0 is out of range and becomes -1, which the domain refuses together with its
// limits.
func OptionalNumber(given *int64) int64 {
	switch {
	case given == nil:
		return 0
	case *given == 0:
		return -1
	}
	return *given
}

// ToReview returns the approvals of a suspension that are posted to the review hook.
func (c *Calls) ToReview(suspension *api.Suspension) []string {
	if c.Reviewed == nil || suspension == nil {
		return nil
	}
	var ids []string
	for i := range suspension.Approvals {
		if c.Reviewed(&suspension.Approvals[i]) {
			ids = append(ids, suspension.Approvals[i].ID)
		}
	}
	return ids
}
