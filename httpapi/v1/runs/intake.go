package runs

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

// Intake creates the runs that a program asks for in a database transaction of its own
// ([upkeep.Intake]). It checks a body as the route does, and creates the run after the commit, as the
// caller that needs no credentials.
type Intake struct{ *kit.Calls }

// Check checks the body of a run to be created by [Intake.Create], without reading rows. It also refuses
// what a row may not hold. Errors: payload_too_large, bad_request, invalid_request,
// requester_exclusion_needs_auth.
func (i Intake) Check(ctx context.Context, body api.JSON) error {
	command, err := i.command(ctx, body)
	if err != nil {
		return err
	}
	spec := command.Spec()
	call := &runs.Call{Command: command, Caller: auth.Local()}
	if err := call.Permitted(&spec); err != nil {
		return err
	}
	err = cpulimit.Do(ctx, max(len(body), cpulimit.Bytes), func() error { return runs.Prepare(call, runs.NewID) })
	if refusal.CodeOf(err) == api.CodeSecretsNotConfigured {
		return refusal.Invalid(api.Fault{Pointer: "/suspend", Detail: "must not have sensitive values: the row would hold them unencrypted"})
	}
	return err
}

// Create creates a run from a checked body. The key makes it safe to repeat. The error
// wraps [upkeep.ErrNotNow] if the same call may succeed later. Other errors: the errors of the route.
func (i Intake) Create(ctx context.Context, key string, body api.JSON) error {
	command, err := i.command(ctx, body)
	if err != nil {
		return err
	}
	command.Key, command.ReviewRequestIDs = key, i.ToReview(command.Suspend)
	_, err = i.Store.Do(auth.With(ctx, auth.Local()), command)
	switch code := refusal.CodeOf(err); {
	case code == "":
		return err
	case code == api.CodeQueueFull, code == api.CodeRunNotClaimable, code == api.CodeSessionBusy, wire.TryLater(wire.StatusOf(code)):
		return fmt.Errorf("%w: %w", upkeep.ErrNotNow, err)
	}
	return err
}

// command decodes a body. Its errors name every fault.
func (i Intake) command(ctx context.Context, body api.JSON) (*runs.CreateRun, error) {
	var given api.CreateRunBody
	var faults refusal.Faults
	if err := i.Bodies.DecodeText(ctx, body, &given, &faults); err != nil {
		return nil, err
	}
	command := createRunCommand(&given.SessionRunBody, &faults)
	command.SessionID, command.SessionGiven = kit.OptionalID(&faults, "/session_id", given.SessionID), given.SessionID != nil
	command.Session, command.Suspend = given.Session, given.Suspend
	if command.RunID == "" {
		faults.Add("/run_id", "is required")
	}
	if given.Claim != nil {
		faults.Add("/claim", "must not be given: the lease would begin before the caller knows")
	}
	if given.IdempotencyKey != nil {
		faults.Add("/idempotency_key", "must not be given: the run id makes the call repeatable")
	}
	return command, kit.AllFaults(ctx, &faults, command)
}
