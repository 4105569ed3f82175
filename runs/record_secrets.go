package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// checkSecretApprovals checks the values in decisions about approvals with sensitive paths.
func (w *workingCopy) checkSecretApprovals(run *model.Run, given []ApprovalDecision, checked *checkedValues) error {
	var faults []api.Fault
	for i := range given {
		if !given[i].bringsSecrets() {
			continue
		}
		request := w.request(run.RunID, given[i].RequestID)
		if len(request.Approval().SensitivePaths) == 0 {
			continue
		}
		sealed, err := checked.decision(run, request)
		if err != nil {
			return err
		}
		faults = append(faults, sealed.faults...)
	}
	if faults != nil {
		return refusal.Invalid(faults...)
	}
	return nil
}

// maskApproval masks a decision's sensitive values for the record, and stores them encrypted.
func (w *workingCopy) maskApproval(request *model.Request, given ApprovalDecision, checked *checkedValues) ApprovalDecision {
	if checked == nil || !given.bringsSecrets() {
		return given
	}
	sealed := checked.decisions[request.Handle]
	if sealed == nil {
		return given
	}
	w.editRequest(request).Sealed = sealed.sealed
	given.UpdatedInput = sealed.updatedInput
	if given.RuntimePayload != nil {
		given.RuntimePayload = model.Masked
	}
	return given
}

// secretAnswer returns the encrypted decision for an answer to a sensitive question, nil for any other.
func (r *resolution) secretAnswer(run *model.Run, request *model.Request, question *api.UserQuestionRequest, given *QuestionAnswer) (*sealedDecision, error) {
	if !model.Sensitive(question) || !given.bringsSecrets() {
		return nil, nil
	}
	return r.checked.decision(run, request)
}
