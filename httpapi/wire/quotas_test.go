package wire

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// nobody is a database without tokens.
type nobody struct{ auth.Tokens }

func (nobody) TokenByHash(context.Context, string) (*auth.Token, error) { return nil, nil }

// Ten thousand made-up tokens leave nothing behind.
func TestMadeUpTokensAreNotRemembered(t *testing.T) {
	t.Parallel()
	keyring := auth.NewKeyring(auth.Options{Tokens: nobody{}, Mode: auth.Required, NowMs: func() int64 { return 1 }})
	access := &Access{Keyring: keyring, Quotas: NewQuotas(Quota{}, 1<<20, 0, time.Now)}
	handler := access.Guard(&Route{Path: "/v1/me", Action: auth.Known, Handle: func(http.ResponseWriter, *http.Request) error { return nil }})
	call := func() {
		r := httptest.NewRequest(http.MethodGet, "/v1/me", nil)
		r.Header.Set("Authorization", "Bearer "+auth.NewSecret())
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		require.Equal(t, http.StatusUnauthorized, answer.Code)
	}
	for range 10_000 {
		call()
	}
	require.Zero(t, access.Quotas.Use().Callers)
	require.Zero(t, keyring.Remembered())
}

// A rate without a burst has the documented one, with and without credentials.
func TestTheBurstFollowsTheRate(t *testing.T) {
	t.Parallel()
	for given, burst := range map[Quota]int64{{Rate: 1}: 500, {Rate: 250}: 500, {Rate: 1000}: 2000, {Rate: 1000, Burst: 7}: 7} {
		require.Equal(t, burst, given.orDefault().Burst, "%+v", given)
		require.Equal(t, burst, given.ofConnection().Burst, "%+v", given)
	}
}

// The rate is a bucket that fills with time, for each principal its own.
func TestTheRateOfAPrincipal(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 0)
	quotas := NewQuotas(Quota{Rate: 10, Burst: 20}, 1<<20, 0, func() time.Time { return now })
	call := func(principal string) (header http.Header, err error) {
		answer := httptest.NewRecorder()
		call, err := quotas.take(answer, httptest.NewRequest(http.MethodGet, "/", nil), use{principal: principal})
		call.done()
		return answer.Header(), err
	}
	for i := range 20 {
		header, err := call("user:a")
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(`"principal";r=%d;t=%d`, 19-i, (i+10)/10), header.Get("RateLimit"))
		require.Empty(t, header.Get("Retry-After"))
	}
	header, err := call("user:a")
	require.Equal(t, CodeRateLimited, refusal.CodeOf(err))
	require.Equal(t, "1", header.Get("Retry-After"))
	_, err = call("user:b")
	require.NoError(t, err)
	now = now.Add(99 * time.Millisecond)
	_, err = call("user:a")
	require.Error(t, err)
	now = now.Add(time.Millisecond)
	_, err = call("user:a")
	require.NoError(t, err)
	_, err = call("user:a")
	require.Error(t, err)
}

// Idle principals are removed, and those at their limit are not.
func TestIdlePrincipalsAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 0)
	quotas := NewQuotas(Quota{Rate: 1, Burst: 1, Calls: 1}, 1<<20, 0, func() time.Time { return now })
	take := func(principal string) (*taken, error) {
		return quotas.take(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), use{principal: principal})
	}
	_, err := take("holds a call")
	require.NoError(t, err)
	for i := range 10_000 {
		now = now.Add(time.Second)
		call, err := take(fmt.Sprint("idle ", i))
		require.NoError(t, err)
		call.done()
	}
	require.LessOrEqual(t, quotas.Use().Callers, minSweep)
	now = now.Add(time.Hour)
	_, err = take("holds a call")
	require.Equal(t, CodeTooManyCalls, refusal.CodeOf(err))
	call, err := take("busy")
	require.NoError(t, err)
	call.done()
	quotas.mu.Lock()
	quotas.forgetIdle()
	quotas.mu.Unlock()
	require.Equal(t, 2, quotas.Use().Callers)
	_, err = take("busy")
	require.Equal(t, CodeRateLimited, refusal.CodeOf(err), "it does not begin again")
}

// Work beyond the cost of one call is charged, so its caller can make fewer calls. A call beyond
// the rate is delayed, and so is a refusal.
func TestTheRateIsChargedByCost(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 0)
	quotas := NewQuotas(Quota{Rate: 10, Burst: 20}, 1<<20, DefaultPatience, func() time.Time { return now })
	var waited []time.Duration
	quotas.pause = func(_ context.Context, pause time.Duration) { waited = append(waited, pause) }
	call := func() (*taken, error) {
		return quotas.take(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), use{principal: "user:a"})
	}
	first, err := call()
	require.NoError(t, err)
	for range 3 {
		cpulimit.Charge(first.within(t.Context()), 7*CallCost/2)
	}
	for range 9 {
		_, err = call()
		require.NoError(t, err)
	}
	require.Empty(t, waited, "of 20, one call, 10 for its work and 9 calls are used")
	_, err = call()
	require.NoError(t, err)
	require.Equal(t, []time.Duration{100 * time.Millisecond}, waited)
	cpulimit.Charge(first.within(t.Context()), time.Hour)
	_, err = call()
	require.Equal(t, CodeRateLimited, refusal.CodeOf(err))
	require.Equal(t, DefaultPatience, waited[1])
	require.Equal(t, int64(11), quotas.Use().Calls)
	now = now.Add(time.Minute)
	_, err = call()
	require.NoError(t, err, "what one piece of work is charged has a bound")
}

// A caller in debt is told when its calls pass again.
func TestRetryAfterIncludesTheDebt(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 0)
	quotas := NewQuotas(Quota{Rate: 100, Burst: 500}, 1<<20, 0, func() time.Time { return now })
	call := func() (*taken, http.Header, error) {
		answer := httptest.NewRecorder()
		call, err := quotas.take(answer, httptest.NewRequest(http.MethodGet, "/", nil), use{principal: "user:a"})
		return call, answer.Header(), err
	}
	first, _, err := call()
	require.NoError(t, err)
	for range 30 { // each 50 calls: 500 of the burst, and a debt of 1,001
		cpulimit.Charge(first.within(t.Context()), maxCharge)
	}
	_, header, err := call()
	require.Equal(t, CodeRateLimited, refusal.CodeOf(err))
	require.Equal(t, `"principal";r=0;t=16`, header.Get("RateLimit"))
	require.InDelta(t, 3.002, quotas.Use().Rate, 1e-9, "the burst of 500, and a debt of 1,001")
	require.Equal(t, "11", header.Get("Retry-After"))
	now = now.Add(10 * time.Second)
	_, _, err = call()
	require.Equal(t, CodeRateLimited, refusal.CodeOf(err))
	now = now.Add(time.Second)
	_, _, err = call()
	require.NoError(t, err)
}

// Held calls have a limit of their own and leave room for others.
func TestHeldCallsAreCountedByThemselves(t *testing.T) {
	t.Parallel()
	quotas := NewQuotas(Quota{Calls: 1, Held: 2}, 1<<20, 0, time.Now)
	var calls []*taken
	for range 2 {
		call, err := quotas.take(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), use{principal: "agent:a"})
		require.NoError(t, err)
		require.NoError(t, Hold(call.within(t.Context())))
		require.NoError(t, Hold(call.within(t.Context())), "it is held already")
		calls = append(calls, call)
	}
	third, err := quotas.take(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), use{principal: "agent:a"})
	require.NoError(t, err)
	require.Equal(t, CodeTooManyCalls, refusal.CodeOf(Hold(third.within(t.Context()))))
	calls[0].done()
	require.NoError(t, Hold(third.within(t.Context())))
	third.done()
	calls[1].done()
	require.Zero(t, quotas.Use().Held)
	require.Zero(t, quotas.Use().Calls)
}
