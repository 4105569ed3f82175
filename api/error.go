package api

// Code is the stable code of an error. Each code belongs to one domain and one HTTP status; package
// httpapi/wire holds the table.
type Code string

// Codes that the domain returns. Package httpapi/wire adds the codes of HTTP itself.
const (
	CodeBadRequest                  Code = "bad_request"
	CodeInvalidRequest              Code = "invalid_request"
	CodeSessionNotFound             Code = "session_not_found"
	CodeSessionBusy                 Code = "session_busy"
	CodeSessionEnded                Code = "session_ended"
	CodeQueueFull                   Code = "queue_full"
	CodeQuestionsFull               Code = "questions_full"
	CodeMailboxFull                 Code = "mailbox_full"
	CodeSuspensionTooLarge          Code = "suspension_too_large"
	CodeAppendTooLarge              Code = "append_too_large"
	CodeSecretsNotConfigured        Code = "secrets_not_configured"
	CodeTooManyRules                Code = "too_many_rules"
	CodeRunNotFound                 Code = "run_not_found"
	CodeRunStateConflict            Code = "run_state_conflict"
	CodeRunNotClaimable             Code = "run_not_claimable"
	CodeLeaseLost                   Code = "lease_lost"
	CodeIDConflict                  Code = "id_conflict"
	CodeNoParentSession             Code = "no_parent_session"
	CodeMessageNotFound             Code = "message_not_found"
	CodeEffectNotFound              Code = "effect_not_found"
	CodeRequestNotFound             Code = "request_not_found"
	CodeRequestSettled              Code = "request_settled"
	CodeRuleNotFound                Code = "rule_not_found"
	CodeApprovalStateConflict       Code = "approval_state_conflict"
	CodeApprovalBatchEmpty          Code = "approval_batch_empty"
	CodeApprovalDuplicate           Code = "approval_duplicate_resolution"
	CodeApprovalNotPending          Code = "approval_request_not_pending"
	CodeApprovalChanged             Code = "approval_changed"
	CodeInvalidGrant                Code = "invalid_grant"
	CodeGrantMismatch               Code = "grant_mismatch"
	CodeGrantExpired                Code = "grant_expired"
	CodeGrantRedeemed               Code = "grant_redeemed"
	CodeQuestionStateConflict       Code = "question_state_conflict"
	CodeQuestionExpired             Code = "question_expired"
	CodeQuestionResolutionConflict  Code = "question_resolution_conflict"
	CodeQuestionRequestMismatch     Code = "question_request_mismatch"
	CodeQuestionDeclinedAnswers     Code = "question_declined_with_answers"
	CodeQuestionDuplicateAnswer     Code = "question_duplicate_answer"
	CodeQuestionAnswerMissing       Code = "question_answer_missing"
	CodeQuestionSingleSelect        Code = "question_single_select_violation"
	CodeQuestionDuplicateOption     Code = "question_duplicate_option"
	CodeQuestionOptionNotFound      Code = "question_option_not_found"
	CodeQuestionAnswerEmpty         Code = "question_answer_empty"
	CodeQuestionUnknownAnswer       Code = "question_unknown_answer"
	CodeInvalidIdempotencyKey       Code = "invalid_idempotency_key"
	CodeIdempotencyConflict         Code = "idempotency_conflict"
	CodeInvalidLimit                Code = "invalid_limit"
	CodeInvalidFilter               Code = "invalid_filter"
	CodeInvalidCursor               Code = "invalid_cursor"
	CodeInvalidEventCursor          Code = "invalid_event_cursor"
	CodeEventCursorReset            Code = "event_cursor_reset"
	CodeUnauthenticated             Code = "unauthenticated"
	CodeInvalidToken                Code = "invalid_token"
	CodeForbidden                   Code = "forbidden"
	CodeRequesterExcluded           Code = "requester_excluded"
	CodeRequesterExclusionNeedsAuth Code = "requester_exclusion_needs_auth"
	CodeTokenNotFound               Code = "token_not_found"
	CodeTokenStateConflict          Code = "token_state_conflict"
	CodeLastAdminToken              Code = "last_admin_token"
	CodeSignInFailed                Code = "sign_in_failed"
	CodeNoIssuer                    Code = "no_issuer"
	CodeIssuerUnavailable           Code = "issuer_unavailable"
	CodeWebhookNotFound             Code = "webhook_not_found"
	CodeEventNeeded                 Code = "event_needed"
	CodeTooManyWebhooks             Code = "too_many_webhooks"
	CodeAddressNotFound             Code = "address_not_found"
	CodeTooManyAddresses            Code = "too_many_addresses"
	CodeTooManyCodes                Code = "too_many_codes"
	CodeAddressCodeWrong            Code = "address_code_wrong"
	CodeAddressTaken                Code = "address_taken"
	CodeChannelNotFound             Code = "channel_not_found"
	CodeChannelUnknown              Code = "channel_unknown"
	CodeChannelUnavailable          Code = "channel_unavailable"
	CodeLinkNotFound                Code = "link_not_found"
	CodeLinkCodeWrong               Code = "link_code_wrong"
)

// Fault names one invalid member of a body.
type Fault struct {
	// Pointer is the RFC 6901 JSON pointer of the member; empty for the whole body.
	Pointer string `json:"pointer"`
	// Detail says what is wrong, for people.
	Detail string `json:"detail"`
}

// Problem is an error on the wire: an RFC 9457 problem document with the media type
// application/problem+json.
type Problem struct {
	// Type is "urn:holdpoint:problem:" followed by the code.
	Type string `json:"type"`
	// Title depends on the status alone.
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is for people and may change; Code and Domain are stable.
	Detail string `json:"detail"`
	Code   Code   `json:"code"`
	Domain string `json:"domain"`
	// Errors is set for invalid_request and append_too_large.
	Errors []Fault `json:"errors,omitempty"`
	// RecordedDecision is set when the call was too late. It is the earlier decision.
	RecordedDecision *RecordedDecision `json:"recorded_decision,omitempty"`
	// PendingApproval is set for approval_changed. It is the approval that is open now.
	PendingApproval *PendingApprovalRef `json:"pending_approval,omitempty"`
	// FirstKeptEventID is set for event_cursor_reset. It is the id of the session's oldest
	// remaining event.
	FirstKeptEventID string `json:"first_kept_event_id,omitempty"`
	// Redemption is set for grant_redeemed. It is the first redemption.
	Redemption *Redemption `json:"redemption,omitempty"`
	// Left is set for a wrong code. It is how many tries are left.
	Left *int64 `json:"left,omitempty"`
}

// PendingApprovalRef identifies an open approval and its input.
type PendingApprovalRef struct {
	RequestID   string `json:"request_id"`
	Handle      string `json:"handle"`
	InputDigest string `json:"input_digest"`
}
