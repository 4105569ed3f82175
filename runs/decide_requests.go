package runs

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// DecideRequests decides several open requests of one run together, approvals and
// questions mixed, all or none; or cancels the run by one of them. It checks what
// ResolveApprovals, AnswerQuestion and CancelQuestion check.
//
// Reply: Run, or Replayed. Errors: run_not_found; run_state_conflict;
// approval_request_not_pending and question_request_mismatch, or
// approval_state_conflict and question_state_conflict or question_expired when nothing
// of the kind is open, each with the recorded decision; and those of a bad answer.
// An empty batch is approval_batch_empty.
type DecideRequests struct {
	RunID     string
	Approvals []ApprovalDecision
	Answers   []QuestionAnswer
	// CancelRequestID names an open request, approval or question, by which the whole
	// run is cancelled. Whatever else is open is recorded cancelled, and what stands
	// beside it in this command has no effect (decisions.md 10). A parent clarification
	// completes with a declined answer instead.
	CancelRequestID string
	CancelReason    string
	// CancelRuntimePayload is kept with the resolution of CancelRequestID.
	CancelRuntimePayload api.JSON
	MaxRuleAgeMs         int64 // see ResolveApprovals
	Key                  string
	Actor                Actor

	canonical []byte
}

// decisionBody is what identifies a keyed decision about several requests.
type decisionBody struct {
	Approvals            []ApprovalDecision `json:"approvals,omitempty"`
	Answers              []QuestionAnswer   `json:"answers,omitempty"`
	CancelRequestID      string             `json:"cancel_request_id,omitempty"`
	CancelReason         string             `json:"cancel_reason,omitempty"`
	CancelRuntimePayload api.JSON           `json:"cancel_runtime_payload,omitzero"`
}

// Needs implements Command.
func (c *DecideRequests) Needs() Needs {
	return Needs{
		RunID: c.RunID, RequestIDs: validIDs(c.named()...),
		ChangesRules: c.CancelRequestID == "" && remembersDeny(c.Approvals),
		Record:       recordKey(model.OperationDecision, "", c.Key),
	}
}

func (c *DecideRequests) prepare(newID IDSource) error {
	c.Actor.prepare()
	var faults refusal.Faults
	faults.Text("/cancel_reason", c.CancelReason, api.MaxTextLength)
	if c.CancelRequestID == "" {
		c.prepareBatch(newID, &faults)
	}
	if err := cmp.Or(faults.Err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	body := decisionBody{
		Approvals: c.Approvals, Answers: c.Answers, CancelRequestID: c.CancelRequestID,
		CancelReason: c.CancelReason, CancelRuntimePayload: c.CancelRuntimePayload,
	}
	var err error
	c.canonical, err = canonicalBody(body)
	return err
}

func (c *DecideRequests) prepareBatch(newID IDSource, faults *refusal.Faults) {
	prepareApprovals(c.Approvals, "/approvals", c.MaxRuleAgeMs, newID, faults)
	if len(c.Answers) > api.MaxResolutionsPerBatch {
		faults.Add("/answers", "must have at most %d entries", api.MaxResolutionsPerBatch)
		return
	}
	seen := map[string]bool{}
	for i := range c.Answers {
		answer, at := &c.Answers[i], fmt.Sprintf("/answers/%d", i)
		answer.prepare()
		answer.check(at, faults)
		if answer.RequestID != "" && seen[answer.RequestID] {
			faults.Add(at+"/request_id", "%s is answered twice", answer.RequestID)
		}
		seen[answer.RequestID] = true
	}
}

// decide checks all approvals before the first answer, in the order of kheish.md 1.5
// and 1.6, and records nothing unless all of it can be.
func (c *DecideRequests) decide(w *workingCopy) (Reply, error) {
	run := w.run(c.RunID)
	if run == nil {
		return Reply{}, refusal.UnknownRun(c.RunID)
	}
	key := recordKey(model.OperationDecision, w.state.SessionID, c.Key)
	if reply, done, err := w.findRecord(key, c.RunID, c.canonical); done {
		return reply, err
	}
	w.expireDue(run)
	existing, err := c.settle(w, run)
	if err != nil {
		return Reply{}, c.late(w, run, err)
	}
	if key != nil && !existing {
		w.writeRecord(*key, fingerprint(model.OperationDecision, run.RunID, c.canonical), run.RunID)
	}
	return Reply{Run: w.recordOf(run), Existing: existing}, nil
}

// settle records the whole decision. existing means that it is about a clarification
// to which the very same answer was recorded before.
func (c *DecideRequests) settle(w *workingCopy, run *model.Run) (existing bool, err error) {
	switch {
	case c.CancelRequestID != "":
		return false, c.cancel(w, run)
	case len(c.Approvals) == 0 && len(c.Answers) == 0:
		return false, refusal.New(api.CodeApprovalBatchEmpty, "approval resolution batch must not be empty")
	}
	if len(c.Approvals) > 0 {
		if err := w.checkBatch(run, c.Approvals); err != nil {
			return false, err
		}
	}
	asked, resolutions, done, err := c.checkAnswers(w, run)
	if err != nil || done {
		return done, err
	}
	if len(c.Approvals) > 0 {
		w.recordApprovals(run, c.Approvals, c.Actor)
	}
	for i, request := range asked {
		w.recordAnswer(run, request, resolutions[i], c.Actor)
	}
	if run.Kind != api.KindParentClarification {
		w.updateWaiting(run)
	}
	return false, nil
}

// checkAnswers returns the questions that are answered and what is to be recorded for
// each. The first answer that is wrong is told; when it does not fit a schema, so are
// those after it that do not.
func (c *DecideRequests) checkAnswers(w *workingCopy, run *model.Run) (asked []*model.Request, resolutions []api.Resolution, done bool, err error) {
	for i := range c.Answers {
		request, done, err := w.answeredQuestion(run, c.Answers[i])
		if err != nil || done {
			return nil, nil, done, err
		}
		asked = append(asked, request)
	}
	var faults []api.Fault
	for i, request := range asked {
		resolution, err := checkAnswer(request.Question(), c.Answers[i], fmt.Sprintf("/answers/%d", i))
		var refused *refusal.Error
		switch {
		case errors.As(err, &refused) && refused.Code == api.CodeInvalidRequest:
			faults = append(faults, refused.Faults...)
		case err != nil && faults == nil:
			return nil, nil, false, err
		}
		resolutions = append(resolutions, resolution)
	}
	if faults != nil {
		return nil, nil, false, refusal.Invalid(faults...)
	}
	return asked, resolutions, false, nil
}

// cancel cancels the run by one of its open requests.
func (c *DecideRequests) cancel(w *workingCopy, run *model.Run) error {
	request, what, err := w.cancelled(run, c.CancelRequestID)
	if err != nil {
		return err
	}
	if run.Kind == api.KindParentClarification {
		resolution := declinedResolution(api.OutcomeCancelled, cmp.Or(c.CancelReason, cancelledByOperator), "cancelled", c.Actor)
		resolution.RuntimePayload = c.CancelRuntimePayload
		w.completeClarification(run, request, resolution)
		return nil
	}
	w.settleRequests(run, []*model.Request{request}, api.Resolution{
		Outcome: api.OutcomeCancelled, Reason: c.CancelReason, RuntimePayload: c.CancelRuntimePayload,
		ResolvedBy: c.Actor.Name, Via: c.Actor.Via,
	})
	w.cancelRun(run, cancelledRequestText(what, request.RequestID, c.CancelReason), c.Actor, c.CancelReason)
	return nil
}

// late adds the decision about the first item that is settled, approvals before
// answers, to a refusal of what is not open any more (decisions.md 32).
func (c *DecideRequests) late(w *workingCopy, run *model.Run, err error) error {
	var refused *refusal.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Code {
	case api.CodeRunStateConflict, api.CodeApprovalStateConflict, api.CodeApprovalNotPending,
		api.CodeQuestionStateConflict, api.CodeQuestionExpired, api.CodeQuestionRequestMismatch, api.CodeQuestionResolutionConflict:
	default:
		return err
	}
	for _, id := range c.named() {
		if request := w.request(run.RunID, id); request != nil && !request.Open() {
			return refused.With(request.RecordedDecision())
		}
	}
	return err
}

// named returns the ids of the requests that the command is about.
func (c *DecideRequests) named() []string {
	if c.CancelRequestID != "" {
		return []string{c.CancelRequestID}
	}
	var ids []string
	for i := range c.Approvals {
		ids = append(ids, c.Approvals[i].RequestID)
	}
	for i := range c.Answers {
		ids = append(ids, c.Answers[i].RequestID)
	}
	return ids
}
