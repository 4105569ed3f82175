package runs

// ExpireRequests expires a run's overdue requests (docs/spec/v1.md#expiry). The expiry sweep issues
// this command; every other command on a run expires overdue requests first. It also frees a
// session's slot from a finished run.
//
// Reply: Run. Errors: run_not_found.
type ExpireRequests struct {
	SessionID string
	RunID     string
}

// Spec implements Command.
func (c *ExpireRequests) Spec() Spec {
	return Spec{Name: "ExpireRequests", Actions: observes, Target: TargetNamed, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *ExpireRequests) Needs() Needs {
	return Needs{SessionID: c.SessionID, RunID: c.RunID}
}

func (c *ExpireRequests) prepare(*Call, IDSource) error { return nil }

func (c *ExpireRequests) decide(w *workingCopy) (Reply, error) {
	w.freeSlot()
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Run: w.recordOf(run)}, nil
}
