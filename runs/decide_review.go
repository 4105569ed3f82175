package runs

// reviewPayload is what EffectReviewApproval shows.
type reviewPayload struct {
	SessionID string          `json:"session_id"`
	RunID     string          `json:"run_id"`
	AgentID   string          `json:"agent_id"`
	Request   ApprovalRequest `json:"request"`
}

// Needs implements Command.
func (c *ReviewApproval) Needs() Needs {
	return Needs{RunID: c.RunID, RequestIDs: validIDs(c.RequestID), EffectID: effectID(EffectReviewApproval, c.Handle)}
}

func (c *ReviewApproval) prepare(IDSource) error {
	var faults faultList
	faults.id("/handle", c.Handle)
	return faults.err()
}

func (c *ReviewApproval) decide(w *work) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	request := w.request(run.RunID, c.RequestID)
	if request == nil || request.Kind != KindApproval || request.Handle != c.Handle {
		return Reply{}, newError(CodeRequestNotFound, "unknown approval %s of run %s", c.RequestID, run.RunID)
	}
	id := effectID(EffectReviewApproval, request.Handle)
	if !request.Open() || w.effect(id) != nil {
		return Reply{Existing: true}, nil
	}
	w.owe(&Effect{
		SessionID: run.SessionID, EffectID: id, RunID: run.RunID,
		Kind: EffectReviewApproval, TargetSessionID: run.SessionID,
		Payload: encode(reviewPayload{run.SessionID, run.RunID, run.AgentID, request.Approval()}),
	})
	return Reply{}, nil
}
