package wire

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ProblemType is the prefix of every problem's type, before the code.
const ProblemType = "urn:holdpoint:problem:"

// ProblemOf returns the problem document of an error. A [refusal.Error] is shown in full. Any other
// error is an internal failure: its text may contain secrets, so it is only logged.
func ProblemOf(err error) api.Problem {
	if domain, ok := errors.AsType[*refusal.Error](err); ok {
		if info, known := infoOf(domain.Code); known {
			detail := domain.Detail
			if domain.Recorded != nil {
				// Many clients show only the detail.
				detail += "; " + domain.Recorded.String()
			}
			problem := newProblem(info, detail, domain.Faults, domain.Recorded)
			problem.PendingApproval, problem.Redemption = domain.Pending, domain.Redemption
			problem.FirstKeptEventID, problem.Left = domain.FirstKeptEventID, domain.Left
			return problem
		}
	}
	if reason, ok := errors.AsType[*runs.NotReadyError](err); ok {
		return plainProblem(CodeServiceUnavailable, reason.Detail)
	}
	switch {
	case errors.Is(err, runs.ErrClosed):
		return plainProblem(CodeServiceUnavailable, "the service is shutting down; try again")
	case errors.Is(err, runs.ErrUnavailable):
		return plainProblem(CodeServiceUnavailable, "the database did not answer; the call may or may not have taken effect")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return plainProblem(CodeServiceUnavailable, "the request ended before its answer was there; the call may or may not have taken effect")
	}
	return plainProblem(CodeInternalError, "the service failed to handle the request; its log says why")
}

func plainProblem(code api.Code, detail string) api.Problem {
	info, _ := infoOf(code)
	return newProblem(info, detail, nil, nil)
}

// maxDetail is the maximum length of a detail, which may repeat a caller's text.
const maxDetail = 2_000

func newProblem(info CodeInfo, detail string, faults []api.Fault, recorded *api.RecordedDecision) api.Problem {
	if len(detail) > maxDetail {
		detail = strings.ToValidUTF8(detail[:maxDetail], "") + "…"
	}
	return api.Problem{
		Type: ProblemType + string(info.Code), Title: title(info.Status), Status: info.Status,
		Detail: detail, Code: info.Code, Domain: info.Domain, Errors: faults, RecordedDecision: recorded,
	}
}

// TryLater reports whether the same request may succeed soon, so that the reply has Retry-After.
func TryLater(status int) bool {
	return status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
}

// laterError is an error whose reply has a Retry-After.
type laterError struct {
	error
	after time.Duration
}

func (e *laterError) Unwrap() error { return e.error }

// NoteProblem returns an error's problem document, for a face that answers it in its own form, and keeps the
// error for the request's log line and metrics (see [Shell]).
func NoteProblem(w http.ResponseWriter, err error) api.Problem {
	problem := ProblemOf(err)
	if answer := responseOf(w); answer != nil {
		answer.code, answer.cause = problem.Code, err
	}
	return problem
}

// WriteProblem answers with an error's problem document and keeps the error for the request's log
// line (see [Shell]).
func WriteProblem(w http.ResponseWriter, r *http.Request, err error) {
	problem := NoteProblem(w, err)
	answer, direct := w.(*response)
	foreign := direct && answer.foreign != nil && answer.foreign(r.URL.Path)
	if TryLater(problem.Status) && len(w.Header()["Retry-After"]) == 0 {
		seconds := int64(1)
		if later := (*laterError)(nil); errors.As(err, &later) {
			seconds = max(int64(math.Ceil(later.after.Seconds())), 1)
		} else if refused := (*refusal.Error)(nil); errors.As(err, &refused) {
			seconds = max((refused.AfterMs+999)/1000, 1)
		}
		w.Header()["Retry-After"] = []string{strconv.FormatInt(seconds, 10)}
	}
	if foreign {
		writeJSON(w, r, problem.Status, problemType, errorBeside{problem, problem.Detail})
		return
	}
	writeJSON(w, r, problem.Status, problemType, problem)
}

// errorBeside is a problem with an additional member error, for clients of other contracts that
// read it.
type errorBeside struct {
	api.Problem
	Error string `json:"error"`
}

// HandlerFunc is a handler that returns its error.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP calls f and answers with the problem of its error, if any. A handler that has already
// answered must return nil.
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f(w, r); err != nil {
		WriteProblem(w, r, err)
	}
}
