package wire

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/calltrace"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// RequestIDHeader is the id of a request in the log. A caller may choose it.
const RequestIDHeader = "X-Request-Id"

var (
	nosniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)

// filters are the query parameters of /v1 that filter a list. A test compares them with
// openapi.yaml.
var filters = map[string]bool{
	"session_id": true, "agent_id": true, "actor": true, "status": true, "kind": true, "state": true,
	"outcome": true, "webhook_id": true, "since_ms": true,
}

// Shell wraps every request: request id, guard, preflights, common headers, log, and recovery from
// panics.
type Shell struct {
	Logger *slog.Logger
	Guard  Guard
	// Open reports whether a path is answered with any Host, Origin and Sec-Fetch-Site, like health
	// checks, which use an address of their own.
	Open func(path string) bool
	// Patience is how long a client may take for each replyChunk of a reply without its own
	// deadlines. After that the connection is closed. NewShell sets it.
	Patience time.Duration
	// Foreign reports whether a path belongs to a contract other than /v1, whose clients read the
	// error text from a member error. Nil means none does.
	Foreign func(path string) bool
	// Observer receives each call; nil for none.
	Observer Observer
	// Tracer creates the spans of calls; nil for none.
	Tracer Tracer
	// LogRequests logs each call at level INFO instead of DEBUG.
	LogRequests bool
	// Now is the process's clock, which times calls. NewShell sets it.
	Now func() time.Time

	prefix string
	count  atomic.Uint64
}

// Observer receives calls, for metrics. Its methods are called concurrently.
type Observer interface {
	Began()
	// Ended is called after Began with the route pattern (may be empty), the status, the problem's
	// code (may be empty), and the duration.
	Ended(method, route string, status int, code api.Code, took time.Duration)
}

// Tracer creates spans of calls.
type Tracer interface {
	// Call starts the span of a call. The returned context has a [calltrace.Trace]. end takes the
	// route pattern, the session and run in the path, the call's id and the problem's code, each of
	// which may be empty, and the status.
	Call(r *http.Request) (ctx context.Context, end func(route, sessionID, runID, requestID, code string, status int))
}

// NewShell returns a shell. The logger must not be nil; open may be.
func NewShell(logger *slog.Logger, guard Guard, open func(path string) bool) *Shell {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, as its documentation says
	return &Shell{
		Now:    time.Now, //nolint:forbidigo // calls are timed with the process's clock
		Logger: logger, Guard: guard, Open: open, Patience: replyPatience, prefix: hex.EncodeToString(random[:]) + "-",
	}
}

// Wrap wraps a handler in the shell.
func (s *Shell) Wrap(next http.Handler) http.Handler {
	guarded := s.Guard.share(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Open == nil || !s.Open(r.URL.Path) {
			if err := s.Guard.Check(r); err != nil {
				WriteProblem(w, r, err)
				return
			}
		}
		if isPreflight(r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if err := checkQuery(r.URL); err != nil {
			WriteProblem(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &response{ResponseWriter: w, request: r, requestID: s.requestID(r), patience: s.Patience, foreign: s.Foreign}
		// Removes the deadline of the previous reply on this connection.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		header := w.Header()
		header[RequestIDHeader] = []string{answer.requestID}
		header["X-Content-Type-Options"] = nosniff
		header["Cache-Control"] = noStore
		answer.begun = s.Now()
		defer answer.linger() // after the call is counted and logged
		if s.Observer != nil {
			s.Observer.Began()
			defer s.observed(answer, r)
		}
		if s.Tracer != nil {
			ctx, end := s.Tracer.Call(r)
			defer func() {
				end(answer.at.Route, answer.at.SessionID, answer.at.RunID, answer.requestID, string(answer.code), answer.status)
			}()
			r = r.WithContext(ctx)
		} else if traceparent := calltrace.Traceparent(r.Header["Traceparent"]); traceparent != "" {
			r = r.WithContext(calltrace.With(r.Context(), &calltrace.Trace{Traceparent: traceparent}))
		}
		defer s.finish(answer, r)
		guarded.ServeHTTP(answer, r)
	})
}

// checkQuery returns bad_request for a query with an unreadable part. net/url drops such parts, and
// a list without its filter would show everything. On /v1 it also refuses a parameter given twice
// with different values, and an empty filter: a script with an unset variable would otherwise list
// everything, and decide it.
func checkQuery(at *url.URL) error {
	if at.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(at.RawQuery)
	if err != nil {
		return refusal.New(api.CodeBadRequest, "the query cannot be read, write %%25 for a percent sign and %%3B for a semicolon: %s", Shown(err.Error()))
	}
	// The issuer's callback shows a page for the browser instead.
	if !strings.HasPrefix(at.Path, "/v1/") || strings.HasPrefix(at.Path, "/v1/oidc/") {
		return nil
	}
	for name, values := range query {
		if filters[name] && values[0] == "" {
			return refusal.New(api.CodeInvalidFilter, "the filter %s is empty: give it a value, or leave it out to list everything", name)
		}
		for _, other := range values[1:] {
			if other != values[0] {
				return refusal.New(api.CodeBadRequest, "the query parameter %s is given twice with different values", Shown(name))
			}
		}
	}
	return nil
}

func (s *Shell) requestID(r *http.Request) string {
	if given := r.Header[RequestIDHeader]; len(given) == 1 && refusal.ValidID(given[0]) {
		return given[0]
	}
	return s.prefix + strconv.FormatUint(s.count.Add(1), 10)
}

// observed passes an answered call to the observer. A hijacked connection has no status.
func (s *Shell) observed(answer *response, r *http.Request) {
	s.Observer.Ended(r.Method, answer.at.Route, answer.status, answer.code, s.Now().Sub(answer.begun))
}

// finish logs the request, and turns a panic into a problem if nothing was written yet.
func (s *Shell) finish(answer *response, r *http.Request) {
	if panicked := recover(); panicked != nil {
		if panicked == http.ErrAbortHandler { //nolint:errorlint // net/http compares with the sentinel itself
			panic(panicked)
		}
		cause := &panicError{value: panicked, stack: debug.Stack()}
		if answer.status != 0 {
			answer.cause = cause
			s.log(answer, r)
			panic(http.ErrAbortHandler)
		}
		WriteProblem(answer, r, cause)
	}
	s.log(answer, r)
}

func (s *Shell) log(answer *response, r *http.Request) {
	level := slog.LevelDebug
	if s.LogRequests {
		level = slog.LevelInfo
	}
	// A disconnected client is not a failure of the service.
	if answer.status >= http.StatusInternalServerError && r.Context().Err() == nil {
		level = slog.LevelError
	}
	if !s.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request_id", answer.requestID), slog.String("method", r.Method),
		slog.String("path", Shown(r.URL.Path)), slog.Int("status", answer.status),
		slog.Float64("duration_ms", float64(s.Now().Sub(answer.begun).Microseconds())/1000),
	}
	for _, named := range [][2]string{{"session_id", answer.at.SessionID}, {"run_id", answer.at.RunID}, {"code", string(answer.code)}, {"principal", answer.principal}} {
		if named[1] != "" {
			attrs = append(attrs, slog.String(named[0], named[1]))
		}
	}
	if answer.cause != nil {
		attrs = append(attrs, slog.Any("error", answer.cause))
		if panicked, ok := answer.cause.(*panicError); ok { //nolint:errorlint // set by finish and never wrapped
			attrs = append(attrs, slog.String("stack", string(panicked.stack)))
		}
	}
	s.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
