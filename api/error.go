package api

// Code is the stable name of an error (kheish.md 1.3 and its decisions). A code
// belongs to one domain and one HTTP status; the latter is the business of those
// who speak HTTP.
type Code string

// The codes that the domain itself returns.
const (
	CodeBadRequest                 Code = "bad_request"
	CodeInvalidRequest             Code = "invalid_request"
	CodeSessionNotFound            Code = "session_not_found"
	CodeSessionBusy                Code = "session_busy"
	CodeSessionEnded               Code = "session_ended"
	CodeRunNotFound                Code = "run_not_found"
	CodeRunStateConflict           Code = "run_state_conflict"
	CodeRunNotClaimable            Code = "run_not_claimable"
	CodeLeaseLost                  Code = "lease_lost"
	CodeIDConflict                 Code = "id_conflict"
	CodeNoParentSession            Code = "no_parent_session"
	CodeMessageNotFound            Code = "message_not_found"
	CodeEffectNotFound             Code = "effect_not_found"
	CodeRequestNotFound            Code = "request_not_found"
	CodeRuleNotFound               Code = "rule_not_found"
	CodeApprovalStateConflict      Code = "approval_state_conflict"
	CodeApprovalBatchEmpty         Code = "approval_batch_empty"
	CodeApprovalDuplicate          Code = "approval_duplicate_resolution"
	CodeApprovalNotPending         Code = "approval_request_not_pending"
	CodeQuestionStateConflict      Code = "question_state_conflict"
	CodeQuestionExpired            Code = "question_expired"
	CodeQuestionResolutionConflict Code = "question_resolution_conflict"
	CodeQuestionRequestMismatch    Code = "question_request_mismatch"
	CodeQuestionDeclinedAnswers    Code = "question_declined_with_answers"
	CodeQuestionDuplicateAnswer    Code = "question_duplicate_answer"
	CodeQuestionAnswerMissing      Code = "question_answer_missing"
	CodeQuestionSingleSelect       Code = "question_single_select_violation"
	CodeQuestionDuplicateOption    Code = "question_duplicate_option"
	CodeQuestionOptionNotFound     Code = "question_option_not_found"
	CodeQuestionAnswerEmpty        Code = "question_answer_empty"
	CodeQuestionUnknownAnswer      Code = "question_unknown_answer"
	CodeInvalidIdempotencyKey      Code = "invalid_idempotency_key"
	CodeIdempotencyConflict        Code = "idempotency_conflict"
	CodeInvalidLimit               Code = "invalid_limit"
	CodeInvalidCursor              Code = "invalid_cursor"
	CodeInvalidEventCursor         Code = "invalid_event_cursor"
)

// Fault names one member of a body and what is wrong with it.
type Fault struct {
	// Pointer is the RFC 6901 JSON pointer of the member.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}
