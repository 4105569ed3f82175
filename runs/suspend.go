package runs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Suspend raises requests and makes the run wait for those that rules do not settle. When rules
// settle all, the run keeps running under the same lease (docs/spec/v1.md#suspend).
//
// Reply: Run; Existing when the same suspension was already raised, even if another worker has
// claimed the run since or the run is finished. Run then also has the suspension's requests that a
// checkpoint includes. Without a suspension id, the same fence and body identify the same
// suspension. Errors: run_not_found, lease_lost, run_state_conflict, id_conflict, idempotency_conflict,
// invalid_request.
type Suspend struct {
	RunID string
	Fence int64
	api.Suspension
	// ReviewRequestIDs are the suspension's approvals to post to the review hook. They are a service
	// setting and not part of the call.
	ReviewRequestIDs []string
	// ByKey says that the suspension id is derived from an idempotency key. Another payload is then
	// idempotency_conflict.
	ByKey bool

	suspending raisedSuspension
}

// Spec implements Command.
func (c *Suspend) Spec() Spec {
	return Spec{
		Name: "Suspend", Actions: works, Target: TargetNamed, Lease: Lease{c.RunID, c.Fence},
		Adds: Adds{Prompts: int64(len(c.Approvals) + len(c.Questions))}, size: oneRow, suspends: &c.Suspension,
		ExcludesRequester: excludesRequester(&c.Suspension),
		raised:            c.raised(), values: c, above: &c.suspending.above,
	}
}

// Needs implements Command.
func (c *Suspend) Needs() Needs {
	return Needs{
		RunID: c.RunID, RequestIDs: validIDs(requestIDs(&c.Suspension)...), SuspensionID: c.SuspensionID,
		Rules: len(c.Approvals) > 0, RuleDigests: c.suspending.inputDigests,
	}
}

func (c *Suspend) prepare(call *Call, newID IDSource) error {
	var faults refusal.Faults
	checkSuspension(&c.Suspension, "", &faults)
	checkCallbacks(&c.Suspension, "", call.CheckCallback, &faults)
	if err := faults.Err(); err != nil {
		return err
	}
	canonical, err := canonicalBody(&c.Suspension)
	if err != nil {
		return err
	}
	c.suspending, err = prepareSuspension(&c.Suspension, canonical, call, newID)
	if err == nil && c.SuspensionID == "" {
		c.SuspensionID = c.idFromCall()
	}
	return err
}

func (c *Suspend) raised() *raisedSuspension {
	if len(c.Approvals) == 0 {
		return nil
	}
	return &c.suspending
}

// idFromCall returns a suspension id for a call without one. It is derived from the run, the fence
// and the body, so that a repeated call finds its requests.
func (c *Suspend) idFromCall() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", c.RunID, c.Fence, c.suspending.digest))
	return PrefixSuspension + "_call_" + hex.EncodeToString(sum[:16])
}

func (c *Suspend) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	known := w.suspension(run, c.SuspensionID)
	if known != nil && c.Fence > 0 && c.Fence <= run.Fence && known.SuspensionDigest == c.suspending.digest {
		return Reply{Run: w.recordWith(run, c.SuspensionID), Existing: true}, nil
	}
	if known != nil && c.Fence == run.Fence && !model.Terminal(run.Status) {
		if c.ByKey {
			return Reply{}, keyReused()
		}
		return Reply{}, refusal.New(api.CodeIDConflict, "suspension %s exists with another payload", c.SuspensionID)
	}
	if err := w.checkHolder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	for _, id := range requestIDs(&c.Suspension) {
		if w.request(run.RunID, id) != nil {
			return Reply{}, refusal.New(api.CodeIDConflict, "request %s was raised before on run %s", id, run.RunID)
		}
	}
	open := w.openRequests(run.RunID)
	if len(open)+len(requestIDs(&c.Suspension)) > api.MaxOpenRequests {
		at := "/approvals"
		if len(c.Approvals) == 0 {
			at = "/questions"
		}
		return Reply{}, refusal.Invalid(api.Fault{Pointer: at, Detail: "the run would have too many open requests"})
	}
	if err := checkOpenBytes(run, open, api.Suspension{Approvals: c.Approvals, Questions: c.Questions}); err != nil {
		return Reply{}, err
	}
	after := run.ResumeAfter
	if startsResume(run, &c.Suspension) {
		after = resumeAfter(run, c.SettledAfter)
	}
	// The first held call after a claim attaches the worker, whose heartbeats may then say what a checkpoint includes.
	if err := w.checkResume(run, after, len(c.Approvals)+len(c.Questions)); err != nil && (run.Attached || !c.Hold) {
		return Reply{}, err
	}
	if err := c.suspending.checkSealed(run); err != nil {
		return Reply{}, err
	}
	if err := cmp.Or(w.checkEscalations(&c.Suspension, ""), w.checkMatched(c.raised()), w.checkRaisedAncestors(c.raised(), run.ParentRunID)); err != nil {
		return Reply{}, err
	}
	w.suspend(run, &c.suspending)
	w.oweReviews(run, &c.Suspension, c.ReviewRequestIDs)
	return Reply{Run: w.recordOf(run)}, nil
}
