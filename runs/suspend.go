package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Suspend raises requests and makes the run wait for them, except for those that rules settle.
// When rules settle all, the run stays running under the same lease (docs/spec/v1.md#suspend).
//
// Reply: Run; Existing when the same suspension was raised before. Errors: run_not_found,
// lease_lost, run_state_conflict, id_conflict, invalid_request.
type Suspend struct {
	RunID string
	Fence int64
	api.Suspension

	suspending raisedSuspension
}

// Needs implements Command.
func (c *Suspend) Needs() Needs {
	return Needs{
		RunID: c.RunID, RequestIDs: validIDs(requestIDs(&c.Suspension)...), SuspensionID: c.SuspensionID,
		Rules: len(c.Approvals) > 0, RuleDigests: c.suspending.inputDigests,
	}
}

func (c *Suspend) prepare(newID IDSource) error {
	var faults refusal.Faults
	checkSuspension(&c.Suspension, "", &faults)
	if err := faults.Err(); err != nil {
		return err
	}
	var err error
	c.suspending, err = prepareSuspension(&c.Suspension, newID)
	return err
}

func (c *Suspend) raised() *raisedSuspension {
	if len(c.Approvals) == 0 {
		return nil
	}
	return &c.suspending
}

func (c *Suspend) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if c.Fence != run.Fence || c.Fence == 0 {
		return Reply{}, w.checkHolder(run, c.Fence)
	}
	if known := w.suspension(run, c.SuspensionID); known != nil && !model.Terminal(run.Status) {
		if known.SuspensionDigest != c.suspending.digest {
			return Reply{}, refusal.New(api.CodeIDConflict, "suspension %s exists with another payload", c.SuspensionID)
		}
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	if err := w.checkHolder(run, c.Fence); err != nil {
		return Reply{}, err
	}
	for _, id := range requestIDs(&c.Suspension) {
		if w.request(run.RunID, id) != nil {
			return Reply{}, refusal.New(api.CodeIDConflict, "request %s was raised before on run %s", id, run.RunID)
		}
	}
	if open := len(w.openRequests(run.RunID)); open+len(requestIDs(&c.Suspension)) > api.MaxOpenRequests {
		return Reply{}, refusal.Invalid(api.Fault{Pointer: "/approvals", Detail: "the run would have too many open requests"})
	}
	if err := w.checkMatched(c.raised()); err != nil {
		return Reply{}, err
	}
	w.suspend(run, &c.suspending)
	return Reply{Run: w.recordOf(run)}, nil
}
