package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

func TestNewRefusesBadArguments(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url    string
		option client.Option
	}{
		"no scheme":         {url: "127.0.0.1:4000"},
		"other scheme":      {url: "ftp://host"},
		"no host":           {url: "http://"},
		"credentials":       {url: "http://a:b@host"},
		"query":             {url: "http://host?x=1"},
		"unreadable":        {url: "http://host\x7f"},
		"actor of two":      {url: "http://host", option: client.WithActor("a\nb")},
		"empty actor":       {url: "http://host", option: client.WithActor(" ")},
		"token with spaces": {url: "http://host", option: client.WithToken("a b")},
		"no HTTP client":    {url: "http://host", option: client.WithHTTPClient(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var options []client.Option
			if test.option != nil {
				options = append(options, test.option)
			}
			_, err := client.New(test.url, options...)
			require.ErrorIs(t, err, client.ErrInvalid)
		})
	}
}

func TestCallsCarryWhoAsks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := json.Marshal(map[string]string{
			"run_id":     "r",
			"session_id": r.Header.Get("X-Actor"),
			"agent_id":   r.Header.Get("Authorization"),
			"error":      r.Header.Get("User-Agent"),
			"kind":       r.URL.EscapedPath(),
		})
		_, _ = w.Write(text)
	}))
	defer server.Close()
	c := must(client.New(server.URL+"/prefix/", client.WithActor("ann"), client.WithToken("t0ken"), client.WithUserAgent("test/1")))(t)
	defer c.Close()

	run := must(c.GetRun(t.Context(), "a b/c"))(t)
	require.Equal(t, "ann", run.SessionID)
	require.Equal(t, "Bearer t0ken", run.AgentID)
	require.Equal(t, "test/1", run.Error)
	require.Equal(t, "/prefix/v1/runs/a%20b%2Fc", string(run.Kind))
}

func TestAnIDThatWouldNameAnotherRouteIsRefused(t *testing.T) {
	t.Parallel()
	c := connect(t, http.NotFoundHandler())
	for _, id := range []string{"", ".", ".."} {
		_, err := c.GetRun(t.Context(), id)
		require.ErrorIs(t, err, client.ErrInvalid)
	}
}

func TestProblemsBecomeErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		is     []error
		not    []error
	}{
		"late answer": {
			status: 409,
			body: `{"status":409,"code":"question_expired","domain":"questions","detail":"expired at 7",
				"recorded_decision":{"request_id":"q","outcome":"expired","resolved_by":"system","resolved_at_ms":7,"via":"clock"}}`,
			is:  []error{client.ErrExpired, client.ErrAlreadyDecided, client.ErrConflict},
			not: []error{client.ErrNotFound, client.ErrNotWaiting, client.ErrInvalid},
		},
		"late approval": {
			status: 400,
			body: `{"code":"approval_request_not_pending",
				"recorded_decision":{"request_id":"a","outcome":"allowed","resolved_by":"bob","resolved_at_ms":7,"via":"api"}}`,
			is:  []error{client.ErrNotWaiting, client.ErrAlreadyDecided, client.ErrInvalid},
			not: []error{client.ErrExpired, client.ErrConflict},
		},
		"stale fence":        {status: 409, body: `{"code":"lease_lost"}`, is: []error{client.ErrLeaseLost, client.ErrConflict}, not: []error{client.ErrAlreadyDecided}},
		"run not found":      {status: 404, body: `{"code":"run_not_found"}`, is: []error{client.ErrNotFound}, not: []error{client.ErrInvalid}},
		"busy":               {status: 409, body: `{"code":"session_busy"}`, is: []error{client.ErrSessionBusy}},
		"ended":              {status: 409, body: `{"code":"session_ended"}`, is: []error{client.ErrSessionEnded}},
		"not claimable":      {status: 409, body: `{"code":"run_not_claimable"}`, is: []error{client.ErrRunNotClaimable}},
		"key conflict":       {status: 409, body: `{"code":"idempotency_conflict"}`, is: []error{client.ErrIdempotencyConflict}},
		"id conflict":        {status: 409, body: `{"code":"id_conflict"}`, is: []error{client.ErrIDConflict}},
		"state":              {status: 409, body: `{"code":"run_state_conflict"}`, is: []error{client.ErrRunState}},
		"no token":           {status: 401, body: `{"code":"unauthorized"}`, is: []error{client.ErrUnauthorized}},
		"not allowed":        {status: 403, body: `{"code":"forbidden"}`, is: []error{client.ErrForbidden}},
		"too many":           {status: 429, body: `{"code":"rate_limited"}`, is: []error{client.ErrRateLimited}},
		"not a problem":      {status: 502, body: `<html>bad gateway</html>`, is: []error{client.ErrUnavailable}},
		"redirected":         {status: 301, body: ``, not: []error{client.ErrUnavailable, client.ErrInvalid}},
		"JSON of other kind": {status: 422, body: `[1]`, is: []error{client.ErrInvalid}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
			_, err := c.AnswerRunQuestion(t.Context(), "r", client.AnswerQuestionParams{})
			var refused *client.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, test.status, refused.Status)
			require.NotEmpty(t, refused.Error())
			for _, target := range test.is {
				require.ErrorIs(t, err, target)
			}
			for _, target := range test.not {
				require.NotErrorIs(t, err, target)
			}
		})
	}
}

func TestAProblemKeepsItsMembers(t *testing.T) {
	t.Parallel()
	c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(422)
		_, _ = io.WriteString(w, `{"code":"invalid_request","domain":"api","detail":"no","errors":[{"pointer":"/input","detail":"is required"}]}`)
	}))
	_, err := c.CreateRun(t.Context(), client.CreateRunParams{})
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, &client.Error{
		Status: 422, Code: "invalid_request", Domain: "api", Detail: "no",
		Faults:     []api.Fault{{Pointer: "/input", Detail: "is required"}},
		RetryAfter: 7 * time.Second,
	}, refused)
}

// script answers with each status in turn, then with 200, and records keys.
type script struct {
	statuses []int
	header   http.Header
	served   atomic.Int64
	keys     []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := int(s.served.Add(1)) - 1
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	for name, values := range s.header {
		w.Header()[name] = values
	}
	if n < len(s.statuses) {
		w.WriteHeader(s.statuses[n])
		return
	}
	_, _ = io.WriteString(w, `{"run_id":"r","claims":[],"last_event_id":"1"}`)
}

func TestCallsAreRepeatedOnlyWhereThatIsSafe(t *testing.T) {
	t.Parallel()
	type one func(context.Context, *client.Client) error
	get := func(ctx context.Context, c *client.Client) error { _, err := c.GetRun(ctx, "r"); return err }
	create := func(ctx context.Context, c *client.Client) error {
		_, err := c.CreateRun(ctx, client.CreateRunParams{})
		return err
	}
	claim := func(ctx context.Context, c *client.Client) error {
		_, err := c.ClaimRuns(ctx, client.ClaimRunsParams{})
		return err
	}
	events := func(ctx context.Context, c *client.Client) error {
		_, err := c.AppendEvents(ctx, "r", "1", nil)
		return err
	}
	complete := func(ctx context.Context, c *client.Client) error {
		_, err := c.CompleteRun(ctx, "r", "1", nil)
		return err
	}
	ready := func(ctx context.Context, c *client.Client) error { return c.Ready(ctx) }
	for name, test := range map[string]struct {
		call     one
		statuses []int
		served   int64
		err      error
	}{
		"read":                           {call: get, statuses: []int{503, 502, 504}, served: 4},
		"read, never well":               {call: get, statuses: []int{503, 503, 503, 503, 503}, served: 4, err: client.ErrUnavailable},
		"read, refused":                  {call: get, statuses: []int{404}, served: 1, err: client.ErrNotFound},
		"read, our own failure":          {call: get, statuses: []int{500}, served: 1, err: &client.Error{}},
		"keyed":                          {call: create, statuses: []int{503}, served: 2},
		"no-op the second time":          {call: complete, statuses: []int{503}, served: 2},
		"claim":                          {call: claim, statuses: []int{503}, served: 1, err: client.ErrUnavailable},
		"claim that was not let in":      {call: claim, statuses: []int{429}, served: 2},
		"events":                         {call: events, statuses: []int{503}, served: 2},
		"readiness is not waited for":    {call: ready, statuses: []int{503}, served: 1, err: client.ErrUnavailable},
		"everything, when not let in":    {call: claim, statuses: []int{429, 429}, served: 3},
		"everything is tried four times": {call: create, statuses: []int{429, 503, 429, 503, 429}, served: 4, err: client.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &script{statuses: test.statuses}
				err := test.call(t.Context(), connect(t, service))
				var refused *client.Error
				switch {
				case test.err == nil:
					require.NoError(t, err)
				case errors.As(test.err, &refused):
					require.ErrorAs(t, err, &refused)
				default:
					require.ErrorIs(t, err, test.err)
				}
				require.Equal(t, test.served, service.served.Load())
				for _, key := range service.keys {
					require.Equal(t, service.keys[0], key, "a repeat carries the same key")
				}
			})
		})
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{statuses: []int{503}, header: http.Header{"Retry-After": {"17"}}}
		begin := time.Now()
		must(connect(t, service).GetRun(t.Context(), "r"))(t)
		require.Equal(t, 17*time.Second, time.Since(begin))

		service = &script{statuses: []int{503}, header: http.Header{"Retry-After": {"3600"}}}
		begin = time.Now()
		_, err := connect(t, service).GetRun(t.Context(), "r")
		require.ErrorIs(t, err, client.ErrUnavailable)
		require.Zero(t, time.Since(begin), "an hour is not waited for")
	})
}

func TestAContextEndsThePauseBetweenAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		service := &script{statuses: []int{503}, header: http.Header{"Retry-After": {"17"}}}
		begin := time.Now()
		_, err := connect(t, service).GetRun(ctx, "r")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, client.ErrUnavailable, "the last failure is told as well")
		require.Equal(t, time.Second, time.Since(begin))
	})
}

func TestAnAttemptThatHangsIsGivenUpAndRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int64
		c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if served.Add(1) == 1 {
				<-r.Context().Done()
				return
			}
			_, _ = io.WriteString(w, `{"run_id":"r","status":"completed"}`)
		}), client.WithTimeout(5*time.Second))
		begin := time.Now()
		run := must(c.AwaitRun(t.Context(), "r", client.UntilTerminal, 20*time.Second))(t)
		require.Equal(t, api.StatusCompleted, run.Status)
		require.GreaterOrEqual(t, time.Since(begin), 25*time.Second, "the wait comes on top of the time-out")
	})
}

func TestNoConnectionIsRepeatedAndReported(t *testing.T) {
	t.Parallel()
	var dials atomic.Int64
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	}}
	c, err := client.New("http://127.0.0.1:1", client.WithHTTPClient(&http.Client{Transport: transport}),
		client.WithRetry(client.RetryPolicy{MaxAttempts: 3, BaseDelay: time.Microsecond}))
	require.NoError(t, err)
	_, err = c.ClaimRuns(t.Context(), client.ClaimRunsParams{})
	require.ErrorIs(t, err, client.ErrUnavailable)
	require.Equal(t, int64(3), dials.Load(), "even a claim: it was never sent")
}

// A reply lost during a restart means nothing: the call is retried until the service is
// back. If the service was never reached, the call fails after its attempts.
func TestAnOutageIsOutlivedByWhoHadReachedTheService(t *testing.T) {
	t.Parallel()
	const down = 40
	for name, answersFirst := range map[string]bool{"lost reply": false, "an earlier call was answered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int64
			transport := roundTrip(func(*http.Request) (*http.Response, error) {
				switch n := attempts.Add(1); {
				case n == 1 && !answersFirst:
					return nil, io.ErrUnexpectedEOF
				case n > 1 && n < down:
					return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
				}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"run_id":"r"}`))}, nil
			})
			c, err := client.New("http://127.0.0.1:1", client.WithHTTPClient(&http.Client{Transport: transport}),
				client.WithRetry(client.RetryPolicy{MaxAttempts: 2, BaseDelay: time.Microsecond, MaxDelay: time.Microsecond, Outage: time.Hour}))
			require.NoError(t, err)
			if answersFirst {
				must(c.GetRun(t.Context(), "r"))(t)
			}
			require.Equal(t, "r", must(c.CreateRun(t.Context(), client.CreateRunParams{SessionID: "s", RunID: "r"}))(t).RunID)
			require.Equal(t, int64(down), attempts.Load())
		})
	}
	for name, failure := range map[string]error{
		"never reached":             &net.OpError{Op: "dial", Err: errors.New("refused")},
		"another one's certificate": &tls.CertificateVerificationError{Err: errors.New("unknown authority")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int64
			transport := roundTrip(func(*http.Request) (*http.Response, error) {
				attempts.Add(1)
				return nil, failure
			})
			c, err := client.New("https://127.0.0.1:1", client.WithHTTPClient(&http.Client{Transport: transport}),
				client.WithRetry(client.RetryPolicy{MaxAttempts: 2, BaseDelay: time.Microsecond, Outage: time.Hour}))
			require.NoError(t, err)
			_, err = c.GetRun(t.Context(), "r")
			require.ErrorIs(t, err, client.ErrUnavailable)
			require.Equal(t, int64(2), attempts.Load())
		})
	}
}

func TestAnOversizedReplyIsNotRead(t *testing.T) {
	t.Parallel()
	c := connect(t, http.NotFoundHandler(), client.WithHTTPClient(&http.Client{Transport: endless{}}))
	_, err := c.GetRun(t.Context(), "r")
	require.ErrorContains(t, err, "more than")
}

// endless replies with blanks that never end.
type endless struct{}

func (endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(blanks{})}, nil
}

type blanks struct{}

func (blanks) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), nil }

func TestKeysThatAHeaderCannotCarryGoIntoTheBody(t *testing.T) {
	t.Parallel()
	for key, inHeader := range map[string]bool{"plain key-1": true, `quo"ted`: false, "schlüssel": false} {
		var header, body string
		c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			header = r.Header.Get("Idempotency-Key")
			var document struct {
				Key string `json:"idempotency_key"`
			}
			_ = json.UnmarshalRead(r.Body, &document)
			body = document.Key
			w.Header().Set("Idempotency-Replayed", "true")
			_, _ = io.WriteString(w, `{"run_id":"r","status":"cancelled"}`)
		}))
		result := must(c.CancelQuestion(t.Context(), "r", "q", client.CancelQuestionParams{IdempotencyKey: key}))(t)
		require.True(t, result.Replayed)
		if inHeader {
			require.Equal(t, key, header)
			require.Empty(t, body)
		} else {
			require.Empty(t, header)
			require.Equal(t, key, body)
		}
	}
}
