package runs

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// checkApprovalState checks that the run has open approvals and that the batch is not empty.
func (w *workingCopy) checkApprovalState(run *model.Run, given []ApprovalDecision) error {
	switch {
	case model.Terminal(run.Status):
		return refusal.New(api.CodeRunStateConflict, "run %s is already %s", run.RunID, run.Status)
	case !w.waitsFor(run.RunID, model.KindApproval):
		return refusal.New(api.CodeApprovalStateConflict, "run %s is not waiting for approval", run.RunID)
	case len(given) == 0:
		return refusal.New(api.CodeApprovalBatchEmpty, "approval resolution batch must not be empty")
	}
	return nil
}

// checkApprovals checks a batch of decisions about a run's open approvals
// (docs/spec/v1.md#order-for-approvals, steps 4 to 9). The pointer locates the batch in the
// request body.
func (w *workingCopy) checkApprovals(run *model.Run, resolutions []ApprovalDecision, pointer string, checked *checkedValues) error {
	if err := w.checkApprovalState(run, resolutions); err != nil {
		return err
	}
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
	for _, given := range resolutions {
		if err := checkUnchanged(w.request(run.RunID, given.RequestID), given); err != nil {
			return err
		}
	}
	if err := w.checkSecretApprovals(run, resolutions, checked); err != nil {
		return err
	}
	var faults []api.Fault
	for i, given := range resolutions {
		if given.Behavior != api.BehaviorAllow || given.UpdatedInput == nil {
			continue
		}
		request := w.request(run.RunID, given.RequestID)
		schema := request.Approval().InputSchema
		if schema == nil {
			continue
		}
		found, err := checked.verdicts.matcher(request.Handle)(schema, given.UpdatedInput, fmt.Sprintf("%s/%d/updated_input", pointer, i))
		if err != nil {
			return err
		}
		faults = append(faults, found...)
	}
	if len(faults) > 0 {
		return refusal.Invalid(faults...)
	}
	return w.checkRemembered(run, resolutions)
}

// checkUnchanged returns approval_changed when the decision's input digest or handle differs from
// the open request's.
func checkUnchanged(request *model.Request, given ApprovalDecision) error {
	if given.InputDigest == "" && given.Handle == "" {
		return nil
	}
	digest := request.Approval().InputDigest
	if (given.InputDigest == "" || given.InputDigest == digest) && (given.Handle == "" || given.Handle == request.Handle) {
		return nil
	}
	refused := refusal.New(api.CodeApprovalChanged, "the open request %s is not the one that was decided about", request.RequestID)
	refused.Pending = &api.PendingApprovalRef{RequestID: request.RequestID, Handle: request.Handle, InputDigest: digest}
	return refused
}

// recordApprovals records checked decisions, writes the rules that they remember, and reports
// all decisions in one event.
func (w *workingCopy) recordApprovals(run *model.Run, given []ApprovalDecision, checked *checkedValues, actor Actor) {
	resolutions := make([]document.Value, len(given))
	for i := range given {
		masked := w.maskApproval(w.request(run.RunID, given[i].RequestID), given[i], checked)
		decision := &masked
		outcome := api.OutcomeAllowed
		if decision.Behavior == api.BehaviorDeny {
			outcome = api.OutcomeDenied
		}
		request := w.request(run.RunID, decision.RequestID)
		_, resolutions[i] = w.settleRequest(run, request, api.Resolution{
			Outcome: outcome, Behavior: decision.Behavior, UpdatedInput: decision.UpdatedInput,
			Justification: decision.Justification, Reason: decision.Reason,
			ResolvedBy: actor.Name, ViaPrincipal: actor.ViaPrincipal, Via: actor.Via, Rule: w.writeRememberedRule(request, decision, actor), RuntimePayload: decision.RuntimePayload,
		})
	}
	w.emitResolved(run, resolutions)
}
