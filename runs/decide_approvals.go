package runs

import (
	"cmp"
	"fmt"
)

// approvalsBody is what identifies a keyed approval call.
type approvalsBody struct {
	Resolutions []ApprovalDecision `json:"resolutions"`
}

// Needs implements Command.
func (c *ResolveApprovals) Needs() Needs {
	ids := make([]string, 0, len(c.Resolutions))
	for i := range c.Resolutions {
		ids = append(ids, c.Resolutions[i].RequestID)
	}
	ids = validIDs(ids...)
	needs := Needs{SessionID: c.SessionID, RunID: c.RunID, RequestIDs: ids, ChangesRules: remembersDeny(c.Resolutions)}
	if c.RunID == "" {
		needs.SessionRequestIDs = ids
	}
	needs.Record = recordKey(OperationApproval, "", c.Key)
	return needs
}

func (c *ResolveApprovals) prepare(newID IDSource) error {
	c.Actor.prepare()
	var faults faultList
	if c.Resolutions == nil {
		faults.add("/resolutions", "is required")
	}
	prepareApprovals(c.Resolutions, "/resolutions", c.MaxRuleAgeMs, newID, &faults)
	if err := cmp.Or(faults.err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	var err error
	c.canonical, err = canonicalBody(approvalsBody{c.Resolutions})
	return err
}

// prepareApprovals checks decisions about approvals as far as that needs no rows, and
// makes the ids of the rules that are written with them. The pointer is that of the
// batch in the caller's body. It comes before checkApprovals and decideApprovals.
func prepareApprovals(resolutions []ApprovalDecision, pointer string, maxRuleAgeMs int64, newID IDSource, faults *faultList) {
	if len(resolutions) > MaxResolutionsPerBatch {
		faults.add(pointer, "must have at most %d entries", MaxResolutionsPerBatch)
		return
	}
	for i := range resolutions {
		resolution, at := &resolutions[i], fmt.Sprintf("%s/%d", pointer, i)
		absentNull(&resolution.UpdatedInput)
		if resolution.RequestID == "" {
			faults.add(at+"/request_id", "is required")
		}
		if resolution.Behavior != BehaviorAllow && resolution.Behavior != BehaviorDeny {
			faults.add(at+"/behavior", "must be %q or %q", BehaviorAllow, BehaviorDeny)
		}
		faults.text(at+"/justification", resolution.Justification, MaxTextLength)
		faults.text(at+"/reason", resolution.Reason, MaxTextLength)
		resolution.prepareRemember(at, maxRuleAgeMs, newID, faults)
	}
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
	if err := w.checkApprovals(run, c.Resolutions, "/resolutions"); err != nil {
		return Reply{}, err
	}
	w.decideApprovals(run, c.Resolutions, c.Actor)
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
	case Terminal(run.Status):
		return newError(CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status).with(c.recorded(w, run))
	case !w.waitsFor(run.RunID, KindApproval):
		return newError(CodeApprovalStateConflict, "run %s is not waiting for approval", run.RunID).with(c.recorded(w, run))
	case len(c.Resolutions) == 0:
		return newError(CodeApprovalBatchEmpty, "approval resolution batch must not be empty")
	}
	return nil
}

// decideApprovals records decisions that have been checked, with the rules that some
// of them write, and reports them in one event.
func (w *work) decideApprovals(run *Run, given []ApprovalDecision, actor Actor) {
	resolutions := make([]Resolution, len(given))
	for i := range given {
		one := &given[i]
		outcome := OutcomeAllowed
		if one.Behavior == BehaviorDeny {
			outcome = OutcomeDenied
		}
		request := w.request(run.RunID, one.RequestID)
		resolutions[i] = w.settle(run, request, Resolution{
			Outcome: outcome, Behavior: one.Behavior, UpdatedInput: one.UpdatedInput,
			Justification: one.Justification, Reason: one.Reason,
			ResolvedBy: actor.Name, Via: actor.Via, Rule: w.remember(request, one, actor), RuntimePayload: one.RuntimePayload,
		})
	}
	w.emit(run, EventApprovalResolved, approvalResolvedEvent{EventApprovalResolved, resolutions})
}

// checkApprovals checks a batch of decisions about a run's open approvals: each is
// about another one, and what replaces an input fits its schema. The pointer is that
// of the batch in the caller's body.
func (w *work) checkApprovals(run *Run, resolutions []ApprovalDecision, pointer string) error {
	seen := map[string]bool{}
	for _, given := range resolutions {
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
	for i, given := range resolutions {
		if given.Behavior != BehaviorAllow || given.UpdatedInput == nil {
			continue
		}
		if schema := w.request(run.RunID, given.RequestID).Approval().InputSchema; schema != nil {
			faults = append(faults, matchSchema(schema, given.UpdatedInput, fmt.Sprintf("%s/%d/updated_input", pointer, i))...)
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
