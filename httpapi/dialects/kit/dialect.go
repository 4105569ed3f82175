package kit

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Dialect holds what handlers of a dialect use. Dialects embed it.
type Dialect struct {
	Services
	// Via names the dialect in settings, records and logs.
	Via string
	// Refuse returns the reply to an error that is not an [*Error].
	Refuse func(error) *Error
	// Respond writes a reply as JSON. Nil means [wire.Respond].
	Respond func(w http.ResponseWriter, r *http.Request, status int, body any) error
}

// Face returns the face of a dialect with its routes. Errors of handlers are answered in the
// dialect's format, and logged when the status is 500 or more and the client is still connected.
func (d *Dialect) Face(routes ...wire.Route) wire.Face {
	return wire.Face{Name: d.Via, Via: d.Via, Routes: routes, Answer: d.answer}
}

func (d *Dialect) answer(handle wire.HandlerFunc) http.Handler {
	return wire.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		err := handle(w, r)
		if err == nil {
			return nil
		}
		var reply *Error
		if !errors.As(err, &reply) {
			reply = d.Refuse(err)
		}
		if reply.Status >= http.StatusInternalServerError {
			d.Report(r, cmp.Or(reply.Cause, err))
		}
		if reply.RetryAfter && len(w.Header()["Retry-After"]) == 0 {
			w.Header()["Retry-After"] = []string{"1"}
		}
		return d.Answer(w, r, reply.Status, reply.Body)
	})
}

// Answer replies with a body in the dialect's format.
func (d *Dialect) Answer(w http.ResponseWriter, r *http.Request, status int, body any) error {
	if d.Respond != nil {
		return d.Respond(w, r, status, body)
	}
	return wire.Respond(w, r, status, body)
}

// Actor returns the caller. Errors: bad_request for an invalid X-Actor header.
func (d *Dialect) Actor(r *http.Request) (runs.Actor, error) {
	actor, err := wire.Actor(r)
	actor.Via = d.Via
	return actor, err
}

// NewSessionID generates a session id within the caller's session prefixes.
func NewSessionID(ctx context.Context) string {
	return reads.SessionPrefixFor(auth.From(ctx)) + runs.NewID(runs.PrefixSession)
}

// Report logs a failure of the service, unless the client has disconnected, which may be the cause.
func (d *Dialect) Report(r *http.Request, err error) {
	if r.Context().Err() == nil {
		d.Logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelError, "dialect request failed", slog.String("dialect", d.Via),
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("error", err.Error()))
	}
}

// Error is a reply other than a success.
type Error struct {
	Status int
	Body   any
	// RetryAfter tells the client to try again in a second.
	RetryAfter bool
	// Cause is the underlying failure of the service, for the log; nil for a refusal.
	Cause error
}

// Error implements error, for logs and tests.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Cause.Error()
	}
	return http.StatusText(e.Status)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Refusal returns the reply to an error with its status from /v1 and a body made of its detail. A
// 429 or 503 tells the client to retry.
func Refusal(err error, body func(detail string) any) *Error {
	problem := wire.ProblemOf(err)
	return &Error{
		Status: problem.Status, Body: body(problem.Detail), RetryAfter: wire.TryLater(problem.Status), Cause: err,
	}
}
