package wire

import (
	"net/http"

	"github.com/holdpoint/holdpoint/api"
)

// Codes of HTTP itself. Package api has the domain's codes.
const (
	CodeOriginNotAllowed     api.Code = "origin_not_allowed"
	CodeHostNotAllowed       api.Code = "host_not_allowed"
	CodeRouteNotFound        api.Code = "route_not_found"
	CodeMethodNotAllowed     api.Code = "method_not_allowed"
	CodePayloadTooLarge      api.Code = "payload_too_large"
	CodeUnsupportedMediaType api.Code = "unsupported_media_type"
	CodeInternalError        api.Code = "internal_error"
	CodeServiceUnavailable   api.Code = "service_unavailable"

	// Codes of a [Quota].
	CodeRateLimited    api.Code = "rate_limited"
	CodeTooManyCalls   api.Code = "too_many_calls"
	CodeTooManyStreams api.Code = "too_many_streams"
	CodeTooManyBytes   api.Code = "too_many_bytes"

	CodeTooManyPrompts    api.Code = "too_many_prompts"
	CodeTooManyQueuedRuns api.Code = "too_many_queued_runs"

	CodeTooManyStoredBytes api.Code = "too_many_stored_bytes"
	CodeStorageReserved    api.Code = "storage_reserved"
)

// CodeInfo is a code with its status and domain.
type CodeInfo struct {
	Code   api.Code
	Status int
	Domain string
}

// codes is the table of all codes, ordered by domain. openapi.yaml has the same codes in the same
// order.
var codes = [...]CodeInfo{
	{api.CodeBadRequest, http.StatusBadRequest, "api"},
	{CodeRouteNotFound, http.StatusNotFound, "api"},
	{CodeMethodNotAllowed, http.StatusMethodNotAllowed, "api"},
	{api.CodeIDConflict, http.StatusConflict, "api"},
	{CodePayloadTooLarge, http.StatusRequestEntityTooLarge, "api"},
	{CodeUnsupportedMediaType, http.StatusUnsupportedMediaType, "api"},
	{api.CodeInvalidRequest, http.StatusUnprocessableEntity, "api"},
	{CodeInternalError, http.StatusInternalServerError, "api"},
	{CodeServiceUnavailable, http.StatusServiceUnavailable, "api"},

	{CodeOriginNotAllowed, http.StatusForbidden, "cors"},
	{CodeHostNotAllowed, http.StatusForbidden, "cors"},

	{api.CodeUnauthenticated, http.StatusUnauthorized, "auth"},
	{api.CodeInvalidToken, http.StatusUnauthorized, "auth"},
	{api.CodeForbidden, http.StatusForbidden, "auth"},
	{api.CodeRequesterExcluded, http.StatusForbidden, "auth"},
	{api.CodeRequesterExclusionNeedsAuth, http.StatusUnprocessableEntity, "auth"},
	{api.CodeTokenNotFound, http.StatusNotFound, "auth"},
	{api.CodeTokenStateConflict, http.StatusConflict, "auth"},
	{api.CodeLastAdminToken, http.StatusConflict, "auth"},
	{api.CodeSignInFailed, http.StatusForbidden, "auth"},
	{api.CodeNoIssuer, http.StatusNotFound, "auth"},
	{api.CodeIssuerUnavailable, http.StatusServiceUnavailable, "auth"},

	{api.CodeWebhookNotFound, http.StatusNotFound, "webhooks"},
	{api.CodeTooManyWebhooks, http.StatusConflict, "webhooks"},
	{api.CodeAddressNotFound, http.StatusNotFound, "notifications"},
	{api.CodeTooManyAddresses, http.StatusTooManyRequests, "notifications"},
	{api.CodeTooManyCodes, http.StatusTooManyRequests, "notifications"},
	{api.CodeAddressCodeWrong, http.StatusForbidden, "notifications"},
	{api.CodeAddressTaken, http.StatusConflict, "notifications"},
	{api.CodeChannelNotFound, http.StatusNotFound, "notifications"},
	{api.CodeChannelUnknown, http.StatusUnprocessableEntity, "notifications"},
	{api.CodeChannelUnavailable, http.StatusBadGateway, "notifications"},
	{api.CodeLinkNotFound, http.StatusNotFound, "notifications"},
	{api.CodeLinkCodeWrong, http.StatusForbidden, "notifications"},

	{CodeRateLimited, http.StatusTooManyRequests, "limits"},
	{CodeTooManyCalls, http.StatusTooManyRequests, "limits"},
	{CodeTooManyStreams, http.StatusTooManyRequests, "limits"},
	{CodeTooManyBytes, http.StatusTooManyRequests, "limits"},
	{CodeTooManyPrompts, http.StatusTooManyRequests, "limits"},
	{CodeTooManyQueuedRuns, http.StatusTooManyRequests, "limits"},
	{CodeTooManyStoredBytes, http.StatusTooManyRequests, "limits"},
	{CodeStorageReserved, http.StatusServiceUnavailable, "limits"},

	{api.CodeSessionNotFound, http.StatusNotFound, "sessions"},
	{api.CodeSessionBusy, http.StatusConflict, "sessions"},
	{api.CodeSessionEnded, http.StatusConflict, "sessions"},
	{api.CodeNoParentSession, http.StatusConflict, "sessions"},
	{api.CodeQueueFull, http.StatusTooManyRequests, "sessions"},
	{api.CodeQuestionsFull, http.StatusTooManyRequests, "sessions"},
	{api.CodeMailboxFull, http.StatusTooManyRequests, "sessions"},

	{api.CodeRunNotFound, http.StatusNotFound, "runs"},
	{api.CodeRequestNotFound, http.StatusNotFound, "runs"},
	{api.CodeRequestSettled, http.StatusConflict, "runs"},
	{api.CodeRunStateConflict, http.StatusConflict, "runs"},
	{api.CodeEventNeeded, http.StatusConflict, "sessions"},
	{api.CodeRunNotClaimable, http.StatusConflict, "runs"},
	{api.CodeLeaseLost, http.StatusConflict, "runs"},
	{api.CodeSuspensionTooLarge, http.StatusUnprocessableEntity, "runs"},
	{api.CodeAppendTooLarge, http.StatusRequestEntityTooLarge, "runs"},
	{api.CodeSecretsNotConfigured, http.StatusUnprocessableEntity, "runs"},

	{api.CodeApprovalStateConflict, http.StatusConflict, "approvals"},
	{api.CodeApprovalBatchEmpty, http.StatusBadRequest, "approvals"},
	{api.CodeApprovalDuplicate, http.StatusBadRequest, "approvals"},
	{api.CodeApprovalNotPending, http.StatusBadRequest, "approvals"},
	{api.CodeApprovalChanged, http.StatusConflict, "approvals"},

	{api.CodeInvalidGrant, http.StatusUnprocessableEntity, "grants"},
	{api.CodeGrantMismatch, http.StatusConflict, "grants"},
	{api.CodeGrantExpired, http.StatusConflict, "grants"},
	{api.CodeGrantRedeemed, http.StatusConflict, "grants"},

	{api.CodeQuestionStateConflict, http.StatusConflict, "questions"},
	{api.CodeQuestionExpired, http.StatusConflict, "questions"},
	{api.CodeQuestionResolutionConflict, http.StatusConflict, "questions"},
	{api.CodeQuestionRequestMismatch, http.StatusBadRequest, "questions"},
	{api.CodeQuestionDeclinedAnswers, http.StatusBadRequest, "questions"},
	{api.CodeQuestionDuplicateAnswer, http.StatusBadRequest, "questions"},
	{api.CodeQuestionAnswerMissing, http.StatusBadRequest, "questions"},
	{api.CodeQuestionSingleSelect, http.StatusBadRequest, "questions"},
	{api.CodeQuestionDuplicateOption, http.StatusBadRequest, "questions"},
	{api.CodeQuestionOptionNotFound, http.StatusBadRequest, "questions"},
	{api.CodeQuestionAnswerEmpty, http.StatusBadRequest, "questions"},
	{api.CodeQuestionUnknownAnswer, http.StatusBadRequest, "questions"},

	{api.CodeRuleNotFound, http.StatusNotFound, "rules"},
	{api.CodeTooManyRules, http.StatusConflict, "rules"},

	{api.CodeMessageNotFound, http.StatusNotFound, "mailbox"},
	{api.CodeEffectNotFound, http.StatusNotFound, "effects"},

	{api.CodeInvalidIdempotencyKey, http.StatusBadRequest, "idempotency"},
	{api.CodeIdempotencyConflict, http.StatusConflict, "idempotency"},

	{api.CodeInvalidLimit, http.StatusBadRequest, "pagination"},
	{api.CodeInvalidFilter, http.StatusBadRequest, "pagination"},
	{api.CodeInvalidCursor, http.StatusBadRequest, "pagination"},
	{api.CodeInvalidEventCursor, http.StatusBadRequest, "events"},
	{api.CodeEventCursorReset, http.StatusGone, "events"},
}

// Codes returns every code of the service.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codes[:]...) }

// infoOf returns a code's row, or internal_error for an unknown code.
func infoOf(code api.Code) (CodeInfo, bool) {
	for _, info := range codes {
		if info.Code == code {
			return info, true
		}
	}
	return CodeInfo{CodeInternalError, http.StatusInternalServerError, "api"}, false
}

// StatusOf returns the HTTP status of a code, 500 for an unknown code.
func StatusOf(code api.Code) int {
	info, _ := infoOf(code)
	return info.Status
}

// title is fixed for each status.
func title(status int) string {
	if text := http.StatusText(status); status != http.StatusRequestEntityTooLarge && text != "" {
		return text
	}
	return "Payload Too Large"
}
