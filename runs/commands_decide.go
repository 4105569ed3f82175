package runs

import "github.com/holdpoint/holdpoint/api"

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

// AmendSession merges members into a session's metadata; a member that is null is
// taken out.
//
// Reply: Session, Existing when nothing changed. Errors: session_not_found,
// invalid_request.
type AmendSession struct {
	SessionID string
	Metadata  api.JSON // an object
}

// ReviewApproval owes a review of an open approval, once for each approval
// (contracts/codex.md 3.3.5). One that is not open any more is not reviewed.
//
// Reply: Existing when nothing was owed because it was owed before, or because the
// approval is settled. Errors: run_not_found; request_not_found, also when the request
// is no approval or has another handle.
type ReviewApproval struct {
	RunID     string
	RequestID string
	Handle    string // the request's
}
