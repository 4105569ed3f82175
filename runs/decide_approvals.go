package runs

import (
	"cmp"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
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
	needs.Record = recordKey(model.OperationApproval, "", c.Key)
	return needs
}

func (c *ResolveApprovals) prepare(newID IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	if c.Resolutions == nil {
		faults.Add("/resolutions", "is required")
	}
	prepareApprovals(c.Resolutions, "/resolutions", c.MaxRuleAgeMs, newID, &faults)
	if err := cmp.Or(faults.Err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	var err error
	c.canonical, err = canonicalBody(approvalsBody{c.Resolutions})
	return err
}

// prepareApprovals checks decisions about approvals as far as that needs no rows, and
// makes the ids of the rules that are written with them. The pointer is that of the
// batch in the caller's body. It comes before checkApprovals and decideApprovals.
func prepareApprovals(resolutions []ApprovalDecision, pointer string, maxRuleAgeMs int64, newID IDSource, faults *refusal.Faults) {
	if len(resolutions) > api.MaxResolutionsPerBatch {
		faults.Add(pointer, "must have at most %d entries", api.MaxResolutionsPerBatch)
		return
	}
	for i := range resolutions {
		resolution, at := &resolutions[i], fmt.Sprintf("%s/%d", pointer, i)
		document.AbsentNull(&resolution.UpdatedInput)
		if resolution.RequestID == "" {
			faults.Add(at+"/request_id", "is required")
		}
		if resolution.Behavior != api.BehaviorAllow && resolution.Behavior != api.BehaviorDeny {
			faults.Add(at+"/behavior", "must be %q or %q", api.BehaviorAllow, api.BehaviorDeny)
		}
		faults.Text(at+"/justification", resolution.Justification, api.MaxTextLength)
		faults.Text(at+"/reason", resolution.Reason, api.MaxTextLength)
		resolution.prepareRemember(at, maxRuleAgeMs, newID, faults)
	}
}

// decide checks in the order of kheish.md 1.5: the first failure is the answer and
// nothing of the batch is applied.
func (c *ResolveApprovals) decide(w *work) (Reply, error) {
	if err := w.checkTarget(c.SessionID, c.RunID); err != nil {
		return Reply{}, err
	}
	key := recordKey(model.OperationApproval, w.state.SessionID, c.Key)
	if reply, done, err := w.lookUp(key, c.RunID, c.canonical); done {
		return reply, err
	}
	run := w.activeRun()
	if c.RunID != "" {
		run = w.run(c.RunID)
	}
	if run == nil {
		return Reply{}, refusal.New(api.CodeRunStateConflict, "session %s has no active run", c.SessionID).With(c.recordedInSession(w))
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
		w.record(*key, fingerprint(model.OperationApproval, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run)}, nil
}

// checkState checks that approvals of the run can be decided at all (decisions.md
// 5 and 30).
func (c *ResolveApprovals) checkState(w *work, run *model.Run) error {
	switch {
	case model.Terminal(run.Status):
		return refusal.New(api.CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status).With(c.recorded(w, run))
	case !w.waitsFor(run.RunID, model.KindApproval):
		return refusal.New(api.CodeApprovalStateConflict, "run %s is not waiting for approval", run.RunID).With(c.recorded(w, run))
	case len(c.Resolutions) == 0:
		return refusal.New(api.CodeApprovalBatchEmpty, "approval resolution batch must not be empty")
	}
	return nil
}

// decideApprovals records decisions that have been checked, with the rules that some
// of them write, and reports them in one event.
func (w *work) decideApprovals(run *model.Run, given []ApprovalDecision, actor Actor) {
	resolutions := make([]api.Resolution, len(given))
	for i := range given {
		one := &given[i]
		outcome := api.OutcomeAllowed
		if one.Behavior == api.BehaviorDeny {
			outcome = api.OutcomeDenied
		}
		request := w.request(run.RunID, one.RequestID)
		resolutions[i] = w.settle(run, request, api.Resolution{
			Outcome: outcome, Behavior: one.Behavior, UpdatedInput: one.UpdatedInput,
			Justification: one.Justification, Reason: one.Reason,
			ResolvedBy: actor.Name, Via: actor.Via, Rule: w.remember(request, one, actor), RuntimePayload: one.RuntimePayload,
		})
	}
	w.emit(run, api.EventApprovalResolved, approvalResolvedEvent{api.EventApprovalResolved, resolutions})
}

// checkApprovals checks a batch of decisions about a run's open approvals: each is
// about another one, and what replaces an input fits its schema. The pointer is that
// of the batch in the caller's body.
func (w *work) checkApprovals(run *model.Run, resolutions []ApprovalDecision, pointer string) error {
	seen := map[string]bool{}
	for _, given := range resolutions {
		if seen[given.RequestID] {
			return refusal.New(api.CodeApprovalDuplicate, "duplicate approval resolution for request %s", given.RequestID)
		}
		seen[given.RequestID] = true
		request := w.request(run.RunID, given.RequestID)
		if request == nil || request.Kind != model.KindApproval || !request.Open() {
			refused := refusal.New(api.CodeApprovalNotPending, "approval resolution references unknown pending request %s", given.RequestID)
			if request != nil {
				refused.Recorded = request.RecordedDecision()
			}
			return refused
		}
	}
	var faults []api.Fault
	for i, given := range resolutions {
		if given.Behavior != api.BehaviorAllow || given.UpdatedInput == nil {
			continue
		}
		if schema := w.request(run.RunID, given.RequestID).Approval().InputSchema; schema != nil {
			faults = append(faults, document.MatchSchema(schema, given.UpdatedInput, fmt.Sprintf("%s/%d/updated_input", pointer, i))...)
		}
	}
	if len(faults) > 0 {
		return refusal.Invalid(faults...)
	}
	return nil
}

// recorded returns the decision about the first item of the batch that is settled
// (decisions.md 32), or nil. A session's route may come late for an earlier run.
func (c *ResolveApprovals) recorded(w *work, run *model.Run) *api.RecordedDecision {
	for _, given := range c.Resolutions {
		if request := w.request(run.RunID, given.RequestID); request != nil && !request.Open() {
			return request.RecordedDecision()
		}
	}
	if c.RunID == "" {
		return c.recordedInSession(w)
	}
	return nil
}

// recordedInSession is the same for a session whose run is over already.
func (c *ResolveApprovals) recordedInSession(w *work) *api.RecordedDecision {
	for _, given := range c.Resolutions {
		if request := w.newestInSession(given.RequestID, model.KindApproval); request != nil && !request.Open() {
			return request.RecordedDecision()
		}
	}
	return nil
}
