package wire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestPreferWait(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lines []string
		wait  time.Duration
		given bool
	}{
		{nil, 0, false},
		{[]string{"wait=10"}, 10 * time.Second, true},
		{[]string{"respond-async, WAIT = 10 ; x=1"}, 10 * time.Second, true},
		{[]string{"handling=lenient", `wait="7"`}, 7 * time.Second, true},
		{[]string{"wait=5, wait=9"}, 5 * time.Second, true},
		{[]string{"wait=0"}, 0, true},
		{[]string{"wait=61"}, time.Minute, true},
		{[]string{"wait=2147483647"}, time.Minute, true},
		{[]string{"wait=2147483648"}, time.Minute, true},
		{[]string{"wait=99999999999999999999"}, time.Minute, true},
		{[]string{"wait=-1"}, 0, false},
		{[]string{"wait=1.5"}, 0, false},
		{[]string{"wait"}, 0, false},
		{[]string{"waiting=3"}, 0, false},
	} {
		wait, given := wire.PreferWait(http.Header{"Prefer": test.lines}, time.Minute)
		require.Equal(t, test.wait, wait, "%q", test.lines)
		require.Equal(t, test.given, given, "%q", test.lines)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for _, test := range []struct {
		header []string
		body   *string
		key    string
		ok     bool
	}{
		{nil, nil, "", true},
		{[]string{"k"}, nil, "k", true},
		{[]string{" k\t"}, text("k "), "k", true},
		{[]string{`"k"`}, text("k"), "k", true},
		{[]string{`"a\"b\\"`}, nil, `a"b\`, true},
		{[]string{`a"b`}, nil, `a"b`, true},
		{nil, text("é"), "é", true},
		{[]string{strings.Repeat("k", 256)}, nil, strings.Repeat("k", 256), true},
		{[]string{strings.Repeat("k", 257)}, nil, "", false},
		{nil, text(strings.Repeat("é", 129)), "", false},
		{nil, text(""), "", false},
		{[]string{""}, nil, "", false},
		{[]string{`" "`}, nil, "", false},
		{[]string{`"`}, nil, "", false},
		{[]string{`"a" `, `"a"`}, nil, "a", true},
		{[]string{"a", "b"}, nil, "", false},
		{[]string{"a"}, text("b"), "", false},
		{[]string{"\x01"}, nil, "", false},
		{[]string{"é"}, nil, "", false},
	} {
		key, err := wire.IdempotencyKey(http.Header{"Idempotency-Key": test.header}, test.body)
		require.Equal(t, test.key, key, "%q", test.header)
		if test.ok {
			require.NoError(t, err, "%q", test.header)
		} else {
			require.ErrorIs(t, err, &refusal.Error{Code: api.CodeInvalidIdempotencyKey}, "%q", test.header)
		}
	}
}

func TestProblemOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err    error
		code   api.Code
		status int
		title  string
	}{
		{fmt.Errorf("deep: %w", refusal.UnknownRun("r")), api.CodeRunNotFound, 404, "Not Found"},
		{refusal.Invalid(api.Fault{Pointer: "/a", Detail: "b"}), api.CodeInvalidRequest, 422, "Unprocessable Entity"},
		{refusal.New(wire.CodePayloadTooLarge, "x"), wire.CodePayloadTooLarge, 413, "Payload Too Large"},
		{refusal.New(wire.CodeUnsupportedMediaType, "x"), wire.CodeUnsupportedMediaType, 415, "Unsupported Media Type"},
		{fmt.Errorf("x: %w", runs.ErrUnavailable), wire.CodeServiceUnavailable, 503, "Service Unavailable"},
		{context.Canceled, wire.CodeServiceUnavailable, 503, "Service Unavailable"},
		{errors.New("x"), wire.CodeInternalError, 500, "Internal Server Error"},
		{refusal.New("unheard_of", "x"), wire.CodeInternalError, 500, "Internal Server Error"},
	} {
		problem := wire.ProblemOf(test.err)
		require.Equal(t, test.code, problem.Code)
		require.Equal(t, test.status, problem.Status)
		require.Equal(t, test.title, problem.Title)
		require.Equal(t, "urn:holdpoint:problem:"+string(test.code), problem.Type)
	}
}

// TestEveryDomainCodeIsInTheTable keeps a new code of the domain from being shown
// as a failure of ours. The codes are read from the source, because a list of them
// could be forgotten in the same way as the table.
func TestEveryDomainCodeIsInTheTable(t *testing.T) {
	t.Parallel()
	table := map[string]bool{}
	for _, info := range wire.Codes() {
		require.False(t, table[string(info.Code)], "%s stands twice", info.Code)
		table[string(info.Code)] = true
	}
	for _, path := range []string{"../../api/error.go", "codes.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		found := 0
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Code") {
				return true
			}
			literal, ok := spec.Values[0].(*ast.BasicLit)
			require.True(t, ok, spec.Names[0].Name)
			code, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			require.True(t, table[code], "%s of %s is not in the table", code, path)
			found++
			return true
		})
		require.Greater(t, found, 5, path)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	call := func(handler http.Handler) (*httptest.ResponseRecorder, string) {
		var log bytes.Buffer
		shell := wire.NewShell(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})), wire.Guard{}, nil)
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil)
		request.Header.Set("X-Request-Id", "mine")
		shell.Wrap(handler).ServeHTTP(recorder, request)
		return recorder, log.String()
	}
	failing := func(err error) wire.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) error { return err }
	}

	reply, log := call(failing(errors.New("secret cause")))
	require.Equal(t, 500, reply.Code)
	require.NotContains(t, reply.Body.String(), "secret")
	require.Contains(t, log, "secret cause")
	require.Contains(t, log, "request_id=mine")

	reply, log = call(failing(refusal.UnknownRun("r")))
	require.Equal(t, 404, reply.Code)
	require.Empty(t, log, "a caller's mistake is not logged")

	reply, log = call(wire.HandlerFunc(func(http.ResponseWriter, *http.Request) error { panic("boom") }))
	require.Equal(t, 500, reply.Code)
	require.Equal(t, "application/problem+json", reply.Header().Get("Content-Type"))
	require.Contains(t, log, "boom")
	require.Contains(t, log, "stack=")

	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		call(wire.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = w.Write([]byte("half"))
			panic("boom")
		}))
	}, "half a reply must not look whole")

	reply, log = call(wire.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		return wire.Respond(w, r, http.StatusOK, func() {})
	}))
	require.Equal(t, 500, reply.Code, "what cannot be encoded becomes a problem")
	require.Contains(t, log, "encode the reply")
}

// A client that leaves is not a failure of the service.
func TestADepartedClientIsNoError(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{true, false} {
		var log bytes.Buffer
		shell := wire.NewShell(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})), wire.Guard{}, nil)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		request := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil).WithContext(ctx)
		shell.Wrap(wire.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
			if left {
				leave()
			}
			return context.Canceled
		})).ServeHTTP(httptest.NewRecorder(), request)
		require.Equal(t, !left, strings.Contains(log.String(), "level=ERROR"), log.String())
	}
}

func TestShownIsAlwaysText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a", wire.Shown("a"))
	require.Equal(t, "\ufffd", wire.Shown("\xff"))
	long := wire.Shown(strings.Repeat("é", 300))
	require.LessOrEqual(t, len(long), 210)
}

// A service that ends TLS itself has no pages without it.
func TestOriginsWithoutTLSOfAServiceWithIt(t *testing.T) {
	t.Parallel()
	guard := &wire.Guard{}
	for _, test := range []struct {
		method, origin, site string
		tls, allowed         bool
	}{
		{"POST", "https://127.0.0.1:4000", "", true, true},
		{"POST", "http://127.0.0.1:4000", "", true, false},
		{"GET", "http://127.0.0.1:4000", "", true, false},
		{"POST", "http://127.0.0.1:4000", "same-origin", true, false},
		{"POST", "http://127.0.0.1:4000", "", false, true},
		{"POST", "https://127.0.0.1:4000", "", false, true}, // a proxy ends TLS
		// A page of another port of this machine, which hides its origin.
		{"POST", "", "same-site", false, false},
		{"DELETE", "", "same-site", false, false},
		{"GET", "", "same-site", false, true},
		{"POST", "", "same-origin", false, true},
		{"POST", "", "none", false, true},
		{"POST", "", "", false, true},
	} {
		r := httptest.NewRequest(test.method, "/v1/runs", nil)
		r.Host = "127.0.0.1:4000"
		if test.tls {
			r.TLS = &tls.ConnectionState{}
		}
		for name, value := range map[string]string{"Origin": test.origin, "Sec-Fetch-Site": test.site} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		err := guard.Check(r)
		if test.allowed {
			require.NoError(t, err, "%+v", test)
		} else {
			require.Equal(t, wire.CodeOriginNotAllowed, refusal.CodeOf(err), "%+v", test)
		}
	}
}
