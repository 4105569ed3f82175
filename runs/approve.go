package runs

import (
	"cmp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ResolveApprovals decides one or more open approvals of one run, all or none. The
// run is RunID, or the active run of SessionID.
//
// Reply: Run, or Replayed. Errors, in the order of kheish.md 1.5.
type ResolveApprovals struct {
	SessionID   string
	RunID       string
	Resolutions []ApprovalDecision
	// MaxRuleAgeMs caps how long a rule may hold that is written with a decision; 0 for
	// no cap. It is the service's setting and not the caller's.
	MaxRuleAgeMs int64
	Key          string
	Actor        Actor

	canonical []byte
}

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

// decide checks in the order of kheish.md 1.5: the first failure is the answer and
// nothing of the batch is applied.
func (c *ResolveApprovals) decide(w *workingCopy) (Reply, error) {
	if err := w.checkTarget(c.SessionID, c.RunID); err != nil {
		return Reply{}, err
	}
	key := recordKey(model.OperationApproval, w.state.SessionID, c.Key)
	if reply, done, err := w.findRecord(key, c.RunID, c.canonical); done {
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
	w.recordApprovals(run, c.Resolutions, c.Actor)
	w.updateWaiting(run)
	if key != nil {
		w.writeRecord(*key, fingerprint(model.OperationApproval, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run)}, nil
}

// checkState checks that approvals of the run can be decided at all (decisions.md
// 5 and 30).
func (c *ResolveApprovals) checkState(w *workingCopy, run *model.Run) error {
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

// recorded returns the decision about the first item of the batch that is settled
// (decisions.md 32), or nil. A session's route may come late for an earlier run.
func (c *ResolveApprovals) recorded(w *workingCopy, run *model.Run) *api.RecordedDecision {
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
func (c *ResolveApprovals) recordedInSession(w *workingCopy) *api.RecordedDecision {
	for _, given := range c.Resolutions {
		if request := w.newestInSession(given.RequestID, model.KindApproval); request != nil && !request.Open() {
			return request.RecordedDecision()
		}
	}
	return nil
}
