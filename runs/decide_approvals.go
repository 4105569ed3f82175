package runs

import (
	"cmp"
	"fmt"
)

// approvalsBody is what identifies a keyed approval call.
type approvalsBody struct {
	Resolutions []ApprovalResolution `json:"resolutions"`
}

// Needs implements Command.
func (c *ResolveApprovals) Needs() Needs {
	ids := make([]string, 0, len(c.Resolutions))
	for i := range c.Resolutions {
		ids = append(ids, c.Resolutions[i].RequestID)
	}
	ids = validIDs(ids...)
	needs := Needs{SessionID: c.SessionID, RunID: c.RunID, RequestIDs: ids}
	if c.RunID == "" {
		needs.SessionRequestIDs = ids
	}
	needs.Record = recordKey(OperationApproval, "", c.Key)
	return needs
}

func (c *ResolveApprovals) prepare(IDSource) error {
	c.Actor.prepare()
	var faults faultList
	if c.Resolutions == nil {
		faults.add("/resolutions", "is required")
	}
	if len(c.Resolutions) > MaxResolutionsPerBatch {
		faults.add("/resolutions", "must have at most %d entries", MaxResolutionsPerBatch)
		return faults.err()
	}
	for i := range c.Resolutions {
		resolution, at := &c.Resolutions[i], fmt.Sprintf("/resolutions/%d", i)
		absentNull(&resolution.UpdatedInput)
		if resolution.RequestID == "" {
			faults.add(at+"/request_id", "is required")
		}
		if resolution.Behavior != BehaviorAllow && resolution.Behavior != BehaviorDeny {
			faults.add(at+"/behavior", "must be %q or %q", BehaviorAllow, BehaviorDeny)
		}
		faults.text(at+"/justification", resolution.Justification, MaxTextLength)
		faults.text(at+"/reason", resolution.Reason, MaxTextLength)
	}
	if err := cmp.Or(faults.err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	var err error
	c.canonical, err = canonicalBody(approvalsBody{c.Resolutions})
	return err
}

// decide checks in the order of kheish.md 1.5: the first failure is the answer and
// nothing of the batch is applied.
func (c *ResolveApprovals) decide(w *work) (Reply, error) {
	if err := w.checkTarget(c.SessionID, c.RunID); err != nil {
		return Reply{}, err
	}
	key := recordKey(OperationApproval, w.state.SessionID, c.Key)
	if reply, done, err := w.lookUp(key, c.RunID, c.canonical); done {
		return reply, err
	}
	run := w.activeRun()
	if c.RunID != "" {
		run = w.run(c.RunID)
	}
	if run == nil {
		return Reply{}, newError(CodeRunStateConflict, "session %s has no active run", c.SessionID).with(c.recordedInSession(w))
	}
	w.expireDue(run)
	if err := c.checkState(w, run); err != nil {
		return Reply{}, err
	}
	if err := c.checkItems(w, run); err != nil {
		return Reply{}, err
	}
	resolutions := make([]Resolution, len(c.Resolutions))
	for i, given := range c.Resolutions {
		outcome := OutcomeAllowed
		if given.Behavior == BehaviorDeny {
			outcome = OutcomeDenied
		}
		resolutions[i] = w.settle(run, w.request(run.RunID, given.RequestID), Resolution{
			Outcome: outcome, Behavior: given.Behavior, UpdatedInput: given.UpdatedInput,
			Justification: given.Justification, Reason: given.Reason,
			ResolvedBy: c.Actor.Name, Via: c.Actor.Via,
		})
	}
	w.emit(run, EventApprovalResolved, approvalResolvedEvent{EventApprovalResolved, resolutions})
	w.waitOrGoOn(run)
	if key != nil {
		w.record(*key, fingerprint(OperationApproval, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run)}, nil
}

// checkState checks that approvals of the run can be decided at all (decisions.md
// 5 and 30).
func (c *ResolveApprovals) checkState(w *work, run *Run) error {
	switch {
	case run.Status.Terminal():
		return newError(CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status).with(c.recorded(w, run))
	case !w.waitsFor(run.RunID, KindApproval):
		return newError(CodeApprovalStateConflict, "run %s is not waiting for approval", run.RunID).with(c.recorded(w, run))
	case len(c.Resolutions) == 0:
		return newError(CodeApprovalBatchEmpty, "approval resolution batch must not be empty")
	}
	return nil
}

func (c *ResolveApprovals) checkItems(w *work, run *Run) error {
	seen := map[string]bool{}
	for _, given := range c.Resolutions {
		if seen[given.RequestID] {
			return newError(CodeApprovalDuplicate, "duplicate approval resolution for request %s", given.RequestID)
		}
		seen[given.RequestID] = true
		request := w.request(run.RunID, given.RequestID)
		if request == nil || request.Kind != KindApproval || !request.Open() {
			refused := newError(CodeApprovalNotPending, "approval resolution references unknown pending request %s", given.RequestID)
			if request != nil {
				refused.Recorded = request.recordedDecision()
			}
			return refused
		}
	}
	var faults []Fault
	for i, given := range c.Resolutions {
		if given.Behavior != BehaviorAllow || given.UpdatedInput == nil {
			continue
		}
		if schema := w.request(run.RunID, given.RequestID).Approval().InputSchema; schema != nil {
			faults = append(faults, matchSchema(schema, given.UpdatedInput, fmt.Sprintf("/resolutions/%d/updated_input", i))...)
		}
	}
	if len(faults) > 0 {
		return invalid(faults...)
	}
	return nil
}

// recorded returns the decision about the first item of the batch that is settled
// (decisions.md 32), or nil. A session's route may come late for an earlier run.
func (c *ResolveApprovals) recorded(w *work, run *Run) *RecordedDecision {
	for _, given := range c.Resolutions {
		if request := w.request(run.RunID, given.RequestID); request != nil && !request.Open() {
			return request.recordedDecision()
		}
	}
	if c.RunID == "" {
		return c.recordedInSession(w)
	}
	return nil
}

// recordedInSession is the same for a session whose run is over already.
func (c *ResolveApprovals) recordedInSession(w *work) *RecordedDecision {
	for _, given := range c.Resolutions {
		if request := w.newestInSession(given.RequestID, KindApproval); request != nil && !request.Open() {
			return request.recordedDecision()
		}
	}
	return nil
}
