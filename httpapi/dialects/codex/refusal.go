package codex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// The codes of refusals (codex.md 3.1).
const (
	codeInvalidRequest = "invalid_request"
	codeRequestFailed  = "request_failed"
	codeInternalError  = "internal_error"
	codeSystemSession  = "system_session"
)

// The statuses in the bodies of replies.
const (
	statusOK       = "ok"
	statusError    = "error"
	statusNotFound = "not_found"
	statusDeleted  = "deleted"
)

// refusal is a reply other than 200, with the body that it has on the wire.
type faceError struct {
	status int
	body   any
	// cause is a failure of ours, for the log.
	cause error
}

func (r *faceError) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	return http.StatusText(r.status)
}

func (r *faceError) Unwrap() error { return r.cause }

// failure is the body of a refusal that says why.
type failure struct {
	Status  string  `json:"status"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Issues  []issue `json:"issues,omitempty"`
}

// issue is one member that does not fit, in the form of the validator that the
// contract's clients know.
type issue struct {
	Code string `json:"code"`
	// Path is where the member is: names, and numbers in arrays.
	Path    []any  `json:"path"`
	Message string `json:"message"`
}

func invalid(issues ...issue) *faceError {
	return &faceError{status: http.StatusBadRequest, body: failure{
		Status: statusError, Code: codeInvalidRequest, Message: "request validation failed", Issues: issues,
	}}
}

func failed(status int, message string) *faceError {
	return &faceError{status: status, body: failure{Status: statusError, Code: codeRequestFailed, Message: message}}
}

// answer puts the errors of a handler into the words of the contract.
func (f *face) answer(handler wire.HandlerFunc) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := handler(w, r)
		if err == nil {
			return nil
		}
		refused := refusalOf(err)
		if refused.status >= http.StatusInternalServerError && r.Context().Err() == nil {
			f.Logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelError, "codex request failed",
				slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("error", refused.Error()))
		}
		return wire.Respond(w, r, refused.status, refused.body)
	}
}

// refusalOf returns the reply to an error. One that is not the caller's is 500, and
// its text stays out of the reply.
func refusalOf(err error) *faceError {
	var refused *faceError
	if errors.As(err, &refused) {
		return refused
	}
	var domain *refusal.Error
	if !errors.As(err, &domain) {
		return internal(err)
	}
	if domain.Code == api.CodeInvalidRequest {
		return invalid(issuesOf(domain, nil)...)
	}
	status := wire.ProblemOf(domain).Status
	if status == http.StatusInternalServerError {
		return internal(err)
	}
	return failed(status, domain.Detail)
}

func internal(err error) *faceError {
	return &faceError{status: http.StatusInternalServerError, cause: err, body: failure{
		Status: statusError, Code: codeInternalError, Message: "internal server error",
	}}
}

// issuesOf turns the faults of an error into issues; rename, when it is given, puts the
// path of the domain's command into that of this contract's body.
func issuesOf(err *refusal.Error, rename func([]any) []any) []issue {
	issues := make([]issue, 0, max(1, len(err.Faults)))
	for _, fault := range err.Faults {
		path := pathOf(fault.Pointer)
		if rename != nil {
			path = rename(path)
		}
		issues = append(issues, issue{Code: "custom", Path: path, Message: fault.Detail})
	}
	if len(issues) == 0 {
		issues = append(issues, issue{Code: "custom", Path: []any{}, Message: err.Detail})
	}
	return issues
}

// pathOf reads an RFC 6901 pointer.
func pathOf(pointer string) []any {
	path := []any{}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		if index, err := strconv.ParseUint(token, 10, 31); err == nil {
			path = append(path, index)
			continue
		}
		path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
	}
	return path
}

// decode reads a body that must be an object. Members that are missing, and those that
// are null, are told apart by the caller.
func (f *face) decode(w http.ResponseWriter, r *http.Request, into any) error {
	if r.ContentLength == 0 && len(r.Header["Content-Type"]) == 0 {
		return invalid(issue{Code: "invalid_type", Path: []any{}, Message: "Required"})
	}
	return wire.Decode(w, r, f.MaxBodyBytes, into)
}

// choose reads a member that must be one of some texts.
func choose(value api.JSON, name string, options ...string) (string, *issue) {
	quoted := make([]string, len(options))
	for i, option := range options {
		quoted[i] = "'" + option + "'"
	}
	expected := strings.Join(quoted, " | ")
	switch {
	case value == nil:
		return "", &issue{Code: "invalid_type", Path: []any{name}, Message: "Required"}
	case document.Kind(value) != '"':
		return "", &issue{Code: "invalid_type", Path: []any{name}, Message: "Expected " + expected + ", received " + kindOf(value)}
	}
	given := text(value)
	for _, option := range options {
		if given == option {
			return given, nil
		}
	}
	return "", &issue{
		Code: "invalid_enum_value", Path: []any{name},
		Message: fmt.Sprintf("Invalid enum value. Expected %s, received '%s'", expected, wire.Shown(given)),
	}
}

// kindOf names the type of a value.
func kindOf(value api.JSON) string {
	switch document.Kind(value) {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	case '{':
		return "object"
	default:
		return "undefined"
	}
}

// domainError returns the refusal of the domain that an error is, or nil.
func domainError(err error) *refusal.Error {
	var domain *refusal.Error
	if errors.As(err, &domain) {
		return domain
	}
	return nil
}
