package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// RetryRun makes a failed run claimable again, with its input, its checkpoint and its last
// resolutions (docs/spec/v1.md#retry-a-run). The run takes the session's slot, ahead of the queued
// runs.
//
// Reply: Run; Existing when the same key already retried it. Errors: run_not_found;
// run_state_conflict when the run is not failed, is a call or a clarification, or had values that
// were erased: sensitive ones when it failed, or a decision by a redaction; session_ended;
// session_busy while another run of the session is active; invalid_idempotency_key;
// idempotency_conflict.
type RetryRun struct {
	RunID string
	Actor Actor
	// Key is the optional idempotency key.
	Key string

	heldKey
}

// Spec implements Command.
func (c *RetryRun) Spec() Spec {
	return Spec{Name: "RetryRun", Actions: decides, Target: TargetNamed, Actor: c.Actor.Name, Settles: true, size: oneRow}
}

// Needs implements Command.
func (c *RetryRun) Needs() Needs { return Needs{RunID: c.RunID, Record: c.recordKey("")} }

func (c *RetryRun) prepare(*Call, IDSource) error {
	c.Actor.prepare()
	if err := prepareKey(&c.Key); err != nil || c.Key == "" {
		return err
	}
	var err error
	c.heldKey, err = heldKeyOf("retry", c.Key, map[string]string{"retry": c.RunID})
	return err
}

func (c *RetryRun) decide(w *workingCopy) (Reply, error) {
	run, err := w.targetRun(c.RunID)
	if err != nil {
		return Reply{}, err
	}
	if _, done, err := c.find(w, run); err != nil {
		return Reply{}, err
	} else if done {
		return Reply{Run: w.recordOf(run), Existing: true}, nil
	}
	switch {
	case !model.TakesSlot(run.Kind):
		return Reply{}, refusal.New(api.CodeRunStateConflict, "run %s is of kind %s; only a run with an input can be retried", run.RunID, run.Kind)
	case run.Status != api.StatusFailed:
		return Reply{}, refusal.New(api.CodeRunStateConflict, "run %s is %s; only a failed run can be retried", run.RunID, run.Status)
	case run.SecretsErased:
		return Reply{}, refusal.New(api.CodeRunStateConflict, "values of run %s were erased, when it failed or by a redaction; create a new run", run.RunID)
	case w.session.EndedAtMs != 0:
		return Reply{}, refusal.New(api.CodeSessionEnded, "session %s has ended", run.SessionID)
	case w.session.ActiveRunID != "":
		return Reply{}, refusal.New(api.CodeSessionBusy, "session %s works on run %s; retry run %s when that is over",
			run.SessionID, w.session.ActiveRunID, run.RunID)
	}
	w.retryRun(run)
	c.write(w, run, 0)
	return Reply{Run: w.recordOf(run)}, nil
}

// retryRun gives the session's slot to a failed run again. The head of the queue waits for it.
func (w *workingCopy) retryRun(run *model.Run) {
	if head := w.queueHead(); head != nil && head.ClaimableAtMs != 0 {
		head.ClaimableAtMs = 0
		w.saveRun(head)
	}
	w.moveRun(run, api.StatusRunning)
	run.FinishedAtMs = 0
	run.Retries++
	run.ClaimableAtMs = w.nowMs
	run.LastError, run.Error = run.Error, ""
	run.Attempt, run.StalledAttempts, run.FailedAttempts = 0, 0, 0
	w.session.ActiveRunID = run.RunID
	w.emit(run, api.EventRunRetried, plainEvent{api.EventRunRetried})
	w.saveSession()
}
