package codex

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Methods with which the runtime requests approvals and answers. The last two approval methods
// belong to the previous protocol and use its words for decisions.
const (
	methodCommand     = "item/commandExecution/requestApproval"
	methodFileChange  = "item/fileChange/requestApproval"
	methodExecCommand = "execCommandApproval"
	methodApplyPatch  = "applyPatchApproval"

	methodToolInput = "item/tool/requestUserInput"
)

// legacy reports whether a method belongs to the previous protocol.
func legacy(method string) bool { return method == methodExecCommand || method == methodApplyPatch }

// ChangesFiles reports whether an approval is about file changes, which are posted to the review
// hook (docs/spec/codex.md#review-hook).
func ChangesFiles(approval *api.ApprovalRequest) bool { return changesFiles(approvalMethod(approval)) }

// changesFiles reports whether a method is about file changes, which are reviewed.
func changesFiles(method string) bool {
	return method == methodFileChange || method == methodApplyPatch
}

// Decisions, and scopes of a decision about an approval.
const (
	accept  = "accept"
	decline = "decline"
	cancel  = "cancel"

	scopeTurn    = "turn"
	scopeSession = "session"
)

// Statuses of requests.
const (
	statusPending  = "pending"
	statusResolved = "resolved"
	statusExpired  = "expired"
)

// Statuses in reply bodies.
const (
	statusOK       = "ok"
	statusError    = "error"
	statusNotFound = "not_found"
	statusDeleted  = "deleted"
)

// Codes of errors (docs/spec/codex.md#errors).
const (
	codeInvalidRequest = "invalid_request"
	codeRequestFailed  = "request_failed"
	codeInternalError  = "internal_error"
	codeSystemSession  = "system_session"
)

const (
	textInvalid   = "request validation failed"
	textAmbiguous = "Several options have this label or id: answer with the id of one option, or on another face"
	textInternal  = "internal server error"
	textDraining  = "the service is shutting down; try again"
	textDeleted   = "This chat was permanently deleted and is no longer available."
	textSystem    = "system-owned sessions are reserved for orchestrator workers"
)

// failure is the body of an error.
type failure struct {
	Status  string  `json:"status"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Issues  []issue `json:"issues,omitempty"`
}

// issue is an invalid member in zod's format, which the clients know.
type issue struct {
	Code string `json:"code"`
	// Path is the path of the member: names, and numbers in arrays.
	Path    []any  `json:"path"`
	Message string `json:"message"`
}

func invalid(issues ...issue) *kit.Error {
	return &kit.Error{Status: http.StatusBadRequest, Body: failure{statusError, codeInvalidRequest, textInvalid, issues}}
}

func failed(status int, message string) *kit.Error {
	return &kit.Error{Status: status, Body: failure{statusError, codeRequestFailed, message, nil}}
}

// refusalOf returns the reply to an error. The text of an internal failure is not included.
func refusalOf(err error) *kit.Error {
	refused := kit.RefusalOf(err)
	if refused != nil && refused.Code == api.CodeInvalidRequest {
		return invalid(issuesOf(refused, nil)...)
	}
	if problem := wire.ProblemOf(err); refused != nil && problem.Status != http.StatusInternalServerError {
		return failed(problem.Status, refused.Detail)
	}
	return &kit.Error{
		Status: http.StatusInternalServerError, Cause: err, Body: failure{statusError, codeInternalError, textInternal, nil},
	}
}

// issuesOf returns a refusal's faults as issues. rename, unless nil, maps a path in the domain's
// command to a path in this contract's body.
func issuesOf(refused *refusal.Error, rename func([]any) []any) []issue {
	var issues []issue
	for _, fault := range refused.Faults {
		path := pathOf(fault.Pointer)
		if rename != nil {
			path = rename(path)
		}
		issues = append(issues, issue{"custom", path, fault.Detail})
	}
	if issues == nil {
		issues = append(issues, issue{"custom", []any{}, refused.Detail})
	}
	return issues
}

// pathOf parses an RFC 6901 pointer.
func pathOf(pointer string) []any {
	path := []any{}
	if pointer == "" {
		return path
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if index, err := strconv.ParseUint(token, 10, 31); err == nil {
			path = append(path, index)
			continue
		}
		path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return path
}

// isoTime formats a time in UTC with milliseconds.
func isoTime(atMs int64) string {
	return time.UnixMilli(atMs).UTC().Format("2006-01-02T15:04:05.000Z")
}
