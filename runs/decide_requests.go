package runs

import (
	"cmp"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// DecideRequests decides several open requests of one run together, approvals and questions
// mixed, all or none. Or it cancels the run by one of them. It makes the same checks as
// ResolveApprovals, AnswerQuestion and CancelQuestion.
//
// Reply: Run, or Replayed, even if only the Segment was already named by the same call. Errors:
// invalid_request; invalid_idempotency_key; idempotency_conflict; id_conflict when the Segment's
// id is already used; run_not_found; run_state_conflict; approval_batch_empty, as well as for a
// call without any decision. For a request that is not open: approval_request_not_pending or
// question_request_mismatch while others of its kind are open; otherwise
// approval_state_conflict, question_state_conflict or question_expired, each with the recorded
// decision. Also the errors in docs/spec/v1.md#order-for-answers.
type DecideRequests struct {
	RunID     string
	Approvals []ApprovalDecision
	Answers   []QuestionAnswer
	// CancelRequestID names an open approval or question by which the run is cancelled.
	// All other open requests are recorded cancelled, and Approvals and Answers have no effect
	// (docs/spec/v1.md#cancel-a-run). A parent clarification completes with a declined answer
	// instead.
	CancelRequestID string
	CancelReason    string
	// CancelRuntimePayload is recorded with the resolution of CancelRequestID.
	CancelRuntimePayload api.JSON
	MaxRuleAgeMs         int64 // as in ResolveApprovals
	Key                  string
	Actor                Actor
	// Segment names the part of the run that follows the decision; nil for no name.
	Segment *SegmentName

	canonical []byte
	checkedValues
}

// decisionBody is the body that a keyed call's fingerprint covers.
type decisionBody struct {
	Approvals            []ApprovalDecision `json:"approvals,omitempty"`
	Answers              []QuestionAnswer   `json:"answers,omitempty"`
	CancelRequestID      string             `json:"cancel_request_id,omitempty"`
	CancelReason         string             `json:"cancel_reason,omitempty"`
	CancelRuntimePayload api.JSON           `json:"cancel_runtime_payload,omitzero"`
	SegmentID            string             `json:"segment_id,omitempty"`
}

func (c *DecideRequests) resolution() *resolution {
	r := &resolution{
		runID: c.RunID, approvals: c.Approvals, answers: c.Answers, answersAt: "/answers",
		operation: model.OperationDecision, key: c.Key, canonical: c.canonical, actor: c.Actor, checked: &c.checkedValues,
	}
	if len(c.Approvals) > 0 {
		r.approvalsAt = "/approvals"
	}
	if c.CancelRequestID != "" {
		r.cancel = &cancellation{requestID: c.CancelRequestID, why: c.CancelReason, runtimePayload: c.CancelRuntimePayload}
	}
	return r
}

// Spec implements Command.
func (c *DecideRequests) Spec() Spec {
	spec := Spec{
		Name: "DecideRequests", Actions: cancels, Target: TargetNamed, Actor: c.Actor.Name, Settles: true,
		size:   oneRow.withDecisions(c.Approvals).withAnswers(c.Answers...),
		values: c.resolution(), checked: &c.checkedValues, above: &c.above, runID: &c.RunID,
	}
	if c.CancelRequestID == "" {
		spec.Actions = actionsOfDecisions(c.Approvals)
	}
	return spec
}

// Needs implements Command.
func (c *DecideRequests) Needs() Needs {
	needs := c.resolution().needs()
	needs.SegmentID = c.Segment.id()
	return needs
}

func (c *DecideRequests) prepare(call *Call, newID IDSource) error {
	c.Actor.prepare()
	c.sealer = call.Sealer
	var faults refusal.Faults
	faults.Text("/cancel_reason", c.CancelReason, api.MaxTextLength)
	c.Segment.check(&faults)
	if c.CancelRequestID == "" {
		c.prepareBatch(newID, &faults)
	}
	if err := cmp.Or(faults.Err(), prepareKey(&c.Key)); err != nil || c.Key == "" {
		return err
	}
	body := decisionBody{
		Approvals: c.Approvals, Answers: c.Answers, CancelRequestID: c.CancelRequestID,
		CancelReason: c.CancelReason, CancelRuntimePayload: c.CancelRuntimePayload, SegmentID: c.Segment.id(),
	}
	var err error
	c.canonical, err = canonicalBody(body)
	c.prepareKeyed(c.canonical)
	return err
}

// prepareBatch checks the decisions of a call that does not cancel.
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

func (c *DecideRequests) decide(w *workingCopy) (Reply, error) {
	if c.Segment == nil {
		return c.resolution().decide(w)
	}
	if known, err := w.findSegment(c.Segment, c.RunID); known || err != nil {
		return Reply{Replayed: known, ReplayRunID: c.RunID}, err
	}
	reply, err := c.resolution().decide(w)
	if err == nil && !reply.Replayed {
		w.nameSegment(c.Segment, w.run(reply.Run.Run.RunID))
	}
	return reply, err
}
