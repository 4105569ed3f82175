package wire

import (
	"net/http"

	"github.com/holdpoint/holdpoint/runs"
)

// The codes that only those who speak HTTP return (kheish.md 1.3 and decision 1).
const (
	CodeOriginNotAllowed     runs.Code = "origin_not_allowed"
	CodeHostNotAllowed       runs.Code = "host_not_allowed"
	CodeRouteNotFound        runs.Code = "route_not_found"
	CodeMethodNotAllowed     runs.Code = "method_not_allowed"
	CodePayloadTooLarge      runs.Code = "payload_too_large"
	CodeUnsupportedMediaType runs.Code = "unsupported_media_type"
	CodeInternalError        runs.Code = "internal_error"
	CodeServiceUnavailable   runs.Code = "service_unavailable"
)

// CodeInfo says how a code is shown.
type CodeInfo struct {
	Code   runs.Code
	Status int
	Domain string
}

// codes is the one table from code to status and domain. The order is by domain,
// then as kheish.md 1.3 lists them; openapi.yaml holds the same codes in the same
// order.
var codes = [...]CodeInfo{
	{runs.CodeBadRequest, http.StatusBadRequest, "api"},
	{CodeRouteNotFound, http.StatusNotFound, "api"},
	{CodeMethodNotAllowed, http.StatusMethodNotAllowed, "api"},
	{runs.CodeIDConflict, http.StatusConflict, "api"},
	{CodePayloadTooLarge, http.StatusRequestEntityTooLarge, "api"},
	{CodeUnsupportedMediaType, http.StatusUnsupportedMediaType, "api"},
	{runs.CodeInvalidRequest, http.StatusUnprocessableEntity, "api"},
	{CodeInternalError, http.StatusInternalServerError, "api"},
	{CodeServiceUnavailable, http.StatusServiceUnavailable, "api"},

	{CodeOriginNotAllowed, http.StatusForbidden, "cors"},
	{CodeHostNotAllowed, http.StatusForbidden, "cors"},

	{runs.CodeSessionNotFound, http.StatusNotFound, "sessions"},
	{runs.CodeSessionBusy, http.StatusConflict, "sessions"},
	{runs.CodeSessionEnded, http.StatusConflict, "sessions"},
	{runs.CodeNoParentSession, http.StatusConflict, "sessions"},

	{runs.CodeRunNotFound, http.StatusNotFound, "runs"},
	{runs.CodeRequestNotFound, http.StatusNotFound, "runs"},
	{runs.CodeRunStateConflict, http.StatusConflict, "runs"},
	{runs.CodeRunNotClaimable, http.StatusConflict, "runs"},
	{runs.CodeLeaseLost, http.StatusConflict, "runs"},

	{runs.CodeApprovalStateConflict, http.StatusConflict, "approvals"},
	{runs.CodeApprovalBatchEmpty, http.StatusBadRequest, "approvals"},
	{runs.CodeApprovalDuplicate, http.StatusBadRequest, "approvals"},
	{runs.CodeApprovalNotPending, http.StatusBadRequest, "approvals"},

	{runs.CodeQuestionStateConflict, http.StatusConflict, "questions"},
	{runs.CodeQuestionExpired, http.StatusConflict, "questions"},
	{runs.CodeQuestionResolutionConflict, http.StatusConflict, "questions"},
	{runs.CodeQuestionRequestMismatch, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionDeclinedAnswers, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionDuplicateAnswer, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionAnswerMissing, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionSingleSelect, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionDuplicateOption, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionOptionNotFound, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionAnswerEmpty, http.StatusBadRequest, "questions"},
	{runs.CodeQuestionUnknownAnswer, http.StatusBadRequest, "questions"},

	{runs.CodeRuleNotFound, http.StatusNotFound, "rules"},

	{runs.CodeMessageNotFound, http.StatusNotFound, "mailbox"},
	{runs.CodeEffectNotFound, http.StatusNotFound, "effects"},

	{runs.CodeInvalidIdempotencyKey, http.StatusBadRequest, "idempotency"},
	{runs.CodeIdempotencyConflict, http.StatusConflict, "idempotency"},

	{runs.CodeInvalidLimit, http.StatusBadRequest, "pagination"},
	{runs.CodeInvalidCursor, http.StatusBadRequest, "pagination"},
	{runs.CodeInvalidEventCursor, http.StatusBadRequest, "events"},
}

// Codes returns every code that the service answers with, and how it is shown.
func Codes() []CodeInfo { return append([]CodeInfo(nil), codes[:]...) }

// infoOf returns the line of a code. A code that is not in the table is a failure
// of ours and is shown as one.
func infoOf(code runs.Code) (CodeInfo, bool) {
	for _, info := range codes {
		if info.Code == code {
			return info, true
		}
	}
	return CodeInfo{CodeInternalError, http.StatusInternalServerError, "api"}, false
}

// title is fixed for each status (kheish.md 1.3.1, decisions.md 31).
func title(status int) string {
	if text := http.StatusText(status); status != http.StatusRequestEntityTooLarge && text != "" {
		return text
	}
	return "Payload Too Large"
}
