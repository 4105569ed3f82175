package runs

// Needs implements Command.
func (c *CancelRun) Needs() Needs { return Needs{RunID: c.RunID} }

func (c *CancelRun) prepare(IDSource) error {
	c.Actor.prepare()
	var faults faultList
	faults.text("/reason", c.Reason, MaxTextLength)
	return faults.err()
}

func (c *CancelRun) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if run.Status.Terminal() {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	w.cancel(run, c.Reason, Actor{Name: c.Actor.Name, Via: ViaCancel}, c.Reason)
	return Reply{Run: w.recordOf(run)}, nil
}

// Needs implements Command.
func (c *ExpireRequests) Needs() Needs {
	return Needs{SessionID: c.SessionID, RunID: c.RunID}
}

func (c *ExpireRequests) prepare(IDSource) error { return nil }

func (c *ExpireRequests) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Run: w.recordOf(run)}, nil
}
