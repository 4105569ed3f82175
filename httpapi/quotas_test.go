package httpapi_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// testQuotas checks the quota of one principal on every operation. Another principal is not
// affected.
func testQuotas(t *testing.T, store runs.Store, contract *contract) {
	t.Helper()
	keyring := newKeyring(store.(auth.Tokens), auth.Required)
	limited := func(quota wire.Quota) *rig {
		return serve(t, store, contract, func(o *httpapi.Options) { o.Keyring, o.Limits.Quota = keyring, quota })
	}
	secret, other := ofRole(t, keyring, api.RoleAdmin), ofRole(t, keyring, api.RoleAgent)
	greedy := bearer(secret)
	const ample = 1_000_000 // calls a second: a slow machine does not reach it
	goesOn := func(a *rig) {
		a.get(t, "/v1/me", bearer(other)).want(http.StatusOK)
		a.post(t, "/v1/runs", `{"input":1}`, bearer(other)).want(http.StatusAccepted)
		for _, probe := range []string{"/livez", "/readyz"} {
			require.Empty(t, a.get(t, probe, greedy).want(http.StatusOK).header.Get("RateLimit"))
		}
	}
	t.Run("held calls, and streams", func(t *testing.T) {
		a := limited(wire.Quota{Rate: ample, Calls: 1, Held: 1, Streams: 1})
		run := a.post(t, "/v1/runs", `{"input":1}`, greedy).want(http.StatusAccepted).textAt("run_id")
		asked := a.post(t, "/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{}}]}}`, greedy).want(http.StatusAccepted)
		held, release := context.WithCancel(t.Context())
		over := make(chan struct{}, 2)
		for _, path := range []string{"/v1/runs/" + run + "?until=terminal", "/v1/stream"} {
			go func() {
				_, _ = a.try(t, http.MethodGet, path, "", greedy, wait(60), inContext(held)) // it is cancelled
				over <- struct{}{}
			}()
		}
		require.Eventually(t, func() bool {
			use := a.handler.QuotaUse()
			return use.Calls == 0 && use.Held == 1 && use.Streams == 1
		}, patience, patienceStep)
		// A call that has taken effect is not refused for its wait. A read is.
		decided := a.post(t, "/v1/sessions/"+asked.textAt("session_id")+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow"}]}`, greedy, wait(60)).want(http.StatusOK)
		require.Empty(t, decided.header.Get("Preference-Applied"))
		a.post(t, "/v1/sessions/unheld/input", `{"input":1}`, greedy).want(http.StatusOK)
		a.get(t, "/v1/runs/"+asked.textAt("run_id")+"?until=terminal", greedy, wait(60)).refused(wire.CodeTooManyCalls)
		unfinished, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.server.Listener.Addr().String())
		require.NoError(t, err)
		defer func() { _ = unfinished.Close() }()
		_, err = fmt.Fprintf(unfinished, "POST /v1/runs HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n",
			a.server.Listener.Addr(), secret)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			use := a.handler.QuotaUse()
			return use.Calls == 1 && use.Held == 1 && use.Streams == 1
		}, patience, patienceStep)
		others := []operation{{method: "GET", path: "/version"}, {method: "GET", path: "/openapi.yaml"}, {method: "GET", path: "/openapi.json"}, {method: "GET", path: "/v1/me"}, {method: "POST", path: "/v1/logout"}, {method: "POST", path: "/v1/login"}, {method: "GET", path: "/v1/stream"}}
		for _, o := range append(others, operations(t)...) {
			code := wire.CodeTooManyCalls
			if strings.HasSuffix(o.path, "/stream") {
				code = wire.CodeTooManyStreams
			}
			got := a.do(t, o.method, o.path, o.body, greedy).refused(code)
			require.Equal(t, "1", got.header.Get("Retry-After"))
			require.NotEmpty(t, got.header.Get("RateLimit"))
		}
		goesOn(a)
		require.NoError(t, unfinished.Close())
		release()
		<-over
		<-over
		require.Eventually(t, func() bool {
			use := a.handler.QuotaUse()
			return use.Calls == 0 && use.Held == 0 && use.Streams == 0
		}, patience, patienceStep)
		a.get(t, "/v1/me", greedy).want(http.StatusOK)
	})
	t.Run("the rate", func(t *testing.T) {
		a := limited(wire.Quota{Rate: 1, Burst: 2})
		first := a.get(t, "/v1/me", greedy).want(http.StatusOK)
		require.Equal(t, `"principal";q=2;w=2`, first.header.Get("RateLimit-Policy"))
		require.Equal(t, `"principal";r=1;t=1`, first.header.Get("RateLimit"))
		var refused *reply
		for range 1_000 {
			if refused = a.get(t, "/v1/me", greedy); refused.status != http.StatusOK {
				break
			}
		}
		refused.refused(wire.CodeRateLimited)
		require.Equal(t, "1", refused.header.Get("Retry-After"))
		require.Regexp(t, `^"principal";r=0;t=`, refused.header.Get("RateLimit"))
		// The first call of another principal. A second one may be charged for the work of the first on a slow machine.
		a.post(t, "/v1/runs", `{"input":1}`, bearer(other)).want(http.StatusAccepted)
	})
	t.Run("bodies", func(t *testing.T) {
		a := limited(wire.Quota{Rate: ample, Bytes: 1_000})
		large := `{"input":"` + strings.Repeat("x", 1_000) + `"}`
		a.post(t, "/v1/runs", large, greedy).refused(wire.CodeTooManyBytes)
		a.post(t, "/v1/runs", `{"input":1}`, greedy).want(http.StatusAccepted)
		chunked := func(r *http.Request) *http.Request {
			r.ContentLength = -1
			return r
		}
		a.post(t, "/v1/runs", `{"input":1}`, greedy, chunked).refused(wire.CodeTooManyBytes)
		// The hermes contract has longer bodies. Their caller is charged for all of them.
		hermes := limited(wire.Quota{Rate: ample, Bytes: 3 * wire.DefaultMaxBodyBytes})
		hermes.post(t, "/v1/runs", strings.Repeat("x", 4*wire.DefaultMaxBodyBytes), greedy).refused(wire.CodeTooManyBytes)
		goesOn(a)
	})
	t.Run("stored bytes", func(t *testing.T) {
		a := limited(wire.Quota{Rate: ample, Stored: 10_000})
		large := `{"run_id":"large","input":"` + strings.Repeat("x", 4_000) + `"}`
		// A refused and a repeated call store nothing.
		a.post(t, "/v1/runs", strings.Replace(large, "{", `{"session_id":"/",`, 1), greedy).want(http.StatusUnprocessableEntity)
		a.post(t, "/v1/runs", large, greedy).want(http.StatusAccepted)
		a.post(t, "/v1/runs", large, greedy).want(http.StatusOK)
		refused := a.post(t, "/v1/runs", `{"run_id":"more","input":"`+strings.Repeat("x", 7_000)+`"}`, greedy).refused(wire.CodeTooManyStoredBytes)
		require.Equal(t, http.StatusTooManyRequests, refused.status)
		wait, err := strconv.Atoi(refused.header.Get("Retry-After"))
		require.NoError(t, err)
		require.Greater(t, wait, 3_600, "a tenth of a day's budget")
		// A repeated call gets its recorded reply, by its run id or by its key. With another body it is not a
		// repetition, and a new key is a new call.
		a.post(t, "/v1/runs", large, greedy).want(http.StatusOK)
		keyed := func(name, body string) *reply {
			return a.post(t, "/v1/runs", `{"session_id":"keyed","run_id":"keyed","input":"`+body+`"}`, greedy, key(name))
		}
		first := keyed("once", "y").want(http.StatusAccepted)
		a.post(t, "/v1/runs", `{"run_id":"rest","input":"`+strings.Repeat("x", 4_300)+`"}`, greedy)
		require.Equal(t, first.textAt("run_id"), keyed("once", "y").want(http.StatusAccepted).textAt("run_id"))
		keyed("once", strings.Repeat("y", 9_000)).refused(api.CodeIdempotencyConflict)
		a.post(t, "/v1/runs", `{"session_id":"unwritten","input":"`+strings.Repeat("y", 9_000)+`"}`, greedy, key("twice")).refused(wire.CodeTooManyStoredBytes)
		a.get(t, "/v1/sessions/unwritten", greedy).want(http.StatusNotFound)
		a.post(t, "/v1/runs/large/cancel", `{}`, greedy).want(http.StatusOK)
		goesOn(a)
		// Ends pass, and count: a caller cannot store without limit by ending runs.
		held, given := holding(t, a, bearer(other)), holding(t, a, bearer(other))
		held.post("complete", `,"output":"`+strings.Repeat("x", 30_000)+`"`).want(http.StatusOK)
		a.post(t, "/v1/runs", `{"input":1}`, bearer(other)).refused(wire.CodeTooManyStoredBytes)
		given.releases(wire.CodeTooManyStoredBytes)
	})
	t.Run("stored bytes of calls that were not sent", func(t *testing.T) {
		counts := &failingCounts{}
		a := serve(t, store, contract, func(o *httpapi.Options) {
			o.Keyring, o.Limits.Quota, o.Backlogs = keyring, wire.Quota{Rate: ample, Stored: 10_000, Queued: 5}, counts
		})
		large := `{"input":"` + strings.Repeat("x", 6_000) + `"}`
		counts.fail.Store(true)
		for range 3 {
			require.Equal(t, http.StatusServiceUnavailable, a.post(t, "/v1/runs", large, greedy).status)
		}
		counts.fail.Store(false)
		a.post(t, "/v1/runs", large, greedy).want(http.StatusAccepted)
		a.post(t, "/v1/runs", large, greedy).refused(wire.CodeTooManyStoredBytes)
	})
	t.Run("the last of the disk", func(t *testing.T) {
		disk := &nearlyFull{Store: store}
		a := serve(t, disk, contract, func(o *httpapi.Options) { o.Keyring = keyring })
		disk.free.Store(httpapi.ReservedBytes)
		raise := func() *reply {
			return a.post(t, "/v1/runs", `{"input":1,"suspend":{"approvals":[{"id":"a","tool_call_id":"c","tool_name":"t","input":{}}]}}`, greedy).want(http.StatusAccepted)
		}
		allowed, denied := raise(), raise().textAt("run_id")
		rule := a.post(t, "/v1/rules", `{"session_id":"`+allowed.textAt("session_id")+`","effect":"ask","tool_name":"t","match":{"any_input":true}}`, greedy).want(http.StatusCreated).textAt("rule_id")
		held, given := holding(t, a, greedy), holding(t, a, greedy)
		disk.free.Store(httpapi.ReservedBytes - 1)
		refused := a.post(t, "/v1/runs", `{"input":1}`, greedy).refused(wire.CodeStorageReserved)
		require.Equal(t, http.StatusServiceUnavailable, refused.status)
		decide := func(run, behavior string) {
			a.post(t, "/v1/runs/"+run+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"`+behavior+`"}]}`, greedy).want(http.StatusAccepted)
		}
		decide(allowed.textAt("run_id"), "allow")
		decide(denied, "deny")
		a.post(t, "/v1/runs/"+denied+"/cancel", `{}`, greedy).want(http.StatusOK)
		a.do(t, http.MethodDelete, "/v1/rules/"+rule, "", greedy).want(http.StatusNoContent)
		held.post("complete", `,"output":1`).want(http.StatusOK)
		given.releases(wire.CodeStorageReserved)
		a.post(t, "/v1/sessions/"+allowed.textAt("session_id")+"/end", `{}`, greedy).want(http.StatusOK)
	})
}

// heldRun is a run that a worker holds.
type heldRun struct {
	rig        *rig
	t          *testing.T
	by         option
	run, fence string
}

func holding(t *testing.T, a *rig, by option) *heldRun {
	t.Helper()
	made := a.post(t, "/v1/runs", `{"input":1,"claim":{"worker_id":"w"}}`, by).want(http.StatusAccepted)
	return &heldRun{a, t, by, made.textAt("run", "run_id"), made.textAt("lease", "fence")}
}

// post makes a call about the run, with more members than its fence.
func (h *heldRun) post(call, members string) *reply {
	h.t.Helper()
	return h.rig.post(h.t, "/v1/runs/"+h.run+"/"+call, `{"fence":"`+h.fence+`"`+members+`}`, h.by)
}

// releases requires that a release is refused with the code as long as its checkpoint is large. The
// refused one changes nothing.
func (h *heldRun) releases(code api.Code) {
	h.t.Helper()
	release := func(bytes int) *reply { return h.post("release", `,"checkpoint":"`+strings.Repeat("x", bytes-2)+`"`) }
	release(32 << 10).refused(code)
	release(1<<10 + 1).refused(code)
	h.post("heartbeat", "").want(http.StatusOK)
	release(1 << 10).want(http.StatusOK)
	require.Equal(h.t, "true", release(1<<10).want(http.StatusOK).header.Get("Idempotency-Replayed"))
}

// failingCounts counts no backlogs, and fails when it is told to.
type failingCounts struct{ fail atomic.Bool }

func (f *failingCounts) Backlogs(context.Context) ([]model.Backlog, error) {
	if f.fail.Load() {
		return nil, runs.ErrUnavailable
	}
	return nil, nil
}

// nearlyFull is a store whose disk has so much left.
type nearlyFull struct {
	runs.Store
	free atomic.Int64
}

func (n *nearlyFull) FreeBytes() int64 { return n.free.Load() }

// testBacklogs checks the backlog limits of one principal, on every call that adds to a backlog.
func testBacklogs(t *testing.T, store runs.Store, contract *contract) {
	t.Helper()
	keyring := newKeyring(store.(auth.Tokens), auth.Required)
	limited := func(quota wire.Quota) *rig {
		return serve(t, store, contract, func(o *httpapi.Options) {
			o.Keyring, o.Limits.Quota, o.Backlogs = keyring, quota, store.(wire.BacklogReader)
		})
	}
	greedy, other := bearer(ofRole(t, keyring, api.RoleAdmin)), bearer(ofRole(t, keyring, api.RoleAgent))
	t.Run("queued runs", func(t *testing.T) {
		a := limited(wire.Quota{Queued: 5})
		const calls = 20
		codes := make(chan int, calls)
		for range calls {
			go func() {
				status := 0
				if got, err := a.try(t, http.MethodPost, "/v1/runs", `{"input":1}`, greedy); err == nil {
					status = got.status
				}
				codes <- status
			}()
		}
		took := map[int]int{}
		for range calls {
			took[<-codes]++
		}
		// A run committed during a count is counted twice until the next one: some of the five may
		// be refused, but none beyond them is admitted.
		taken := took[http.StatusAccepted]
		require.Equal(t, calls-taken, took[http.StatusTooManyRequests])
		require.GreaterOrEqual(t, taken, 1)
		require.LessOrEqual(t, taken, 5)
		// Another replica counts the rows admitted here.
		b := limited(wire.Quota{Queued: 5})
		for range 5 - taken {
			b.post(t, "/v1/runs", `{"input":1}`, greedy).want(http.StatusAccepted)
		}
		got := a.post(t, "/v1/runs", `{"input":1}`, greedy).refused(wire.CodeTooManyQueuedRuns)
		require.Equal(t, "1", got.header.Get("Retry-After"))
		a.post(t, "/v1/runs", `{"input":1}`, other).want(http.StatusAccepted)
		// A run claimed at creation is not queued.
		b.post(t, "/v1/runs", `{"input":1,"claim":{"worker_id":"w"}}`, greedy).want(http.StatusAccepted)
		b.post(t, "/v1/runs", `{"input":1}`, greedy).refused(wire.CodeTooManyQueuedRuns)
		require.Equal(t, int64(5), b.handler.BacklogUse().Queued)
	})
	t.Run("open prompts", func(t *testing.T) {
		asks := func(ids ...string) string {
			var list []string
			for _, id := range ids {
				list = append(list, `{"id":"`+id+`","tool_call_id":"`+id+`","tool_name":"bash","input":1}`)
			}
			return `"approvals":[` + strings.Join(list, ",") + `]`
		}
		a := limited(wire.Quota{Prompts: 3})
		held := a.post(t, "/v1/runs", `{"input":1,"claim":{"worker_id":"w"}}`, greedy).want(http.StatusAccepted)
		run, fence := held.textAt("run", "run_id"), held.textAt("lease", "fence")
		suspend := "/v1/runs/" + run + "/suspend"
		a.post(t, "/v1/runs", `{"input":1,"suspend":{`+asks("a", "b", "c", "d")+`}}`, greedy).refused(wire.CodeTooManyPrompts)
		waiting := a.post(t, "/v1/runs", `{"input":1,"suspend":{`+asks("a", "b")+`}}`, greedy).want(http.StatusAccepted).textAt("run_id")
		a.post(t, suspend, `{"fence":"`+fence+`",`+asks("a", "b")+`}`, greedy).refused(wire.CodeTooManyPrompts)
		a.post(t, suspend, `{"fence":"`+fence+`","hold":true,`+asks("a")+`}`, greedy).want(http.StatusOK)
		a.post(t, suspend, `{"fence":"`+fence+`","hold":true,`+asks("b")+`}`, greedy).refused(wire.CodeTooManyPrompts)
		a.post(t, "/v1/runs", `{"input":1,"suspend":{`+asks("a")+`}}`, other).want(http.StatusAccepted)
		require.Equal(t, int64(3), a.handler.BacklogUse().Prompts)
		// Decisions are never refused, and reduce the backlog.
		a.post(t, "/v1/runs/"+waiting+"/approvals", `{"resolutions":[{"request_id":"a","behavior":"allow"}]}`, greedy).want(http.StatusAccepted)
		b := limited(wire.Quota{Prompts: 3})
		b.post(t, suspend, `{"fence":"`+fence+`","hold":true,`+asks("b")+`}`, greedy).want(http.StatusOK)
		b.post(t, suspend, `{"fence":"`+fence+`","hold":true,`+asks("c")+`}`, greedy).refused(wire.CodeTooManyPrompts)
	})
}

// Without credentials nothing is limited, unless it was asked for; then all callers share it.
func TestQuotasWithoutCredentials(t *testing.T) {
	t.Parallel()
	a := serve(t, openSQLite(t), newContract(t))
	require.Empty(t, a.get(t, "/v1/me").want(http.StatusOK).header.Get("RateLimit"))
	a = serve(t, openSQLite(t), newContract(t), func(o *httpapi.Options) { o.Limits.Quota.Bytes = 10 })
	got := a.post(t, "/v1/runs", `{"input":12345678901234}`, header("X-Actor", a.name("somebody"))).refused(wire.CodeTooManyBytes)
	require.Empty(t, got.header.Get("RateLimit"))
	require.Equal(t, 1, a.handler.QuotaUse().Callers)
}
