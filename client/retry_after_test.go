package client_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A wait that outlasts outages outlasts a longer Retry-After, too, and asks no sooner than every
// MaxRetryAfter.
func TestAWaitOutlastsALongRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{statuses: []int{503, 429}, header: http.Header{"Retry-After": {"3600"}}}
		begin := time.Now()
		must(connect(t, service).WaitRun(t.Context(), "r", client.UntilDecided))(t)
		require.Equal(t, 2*time.Minute, time.Since(begin))
	})
}

// A proxy without a backend says nothing about the run, except before the first reply, when the URL
// may be wrong.
func TestAWaitOutlastsAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	const running, completed = `200 {"run_id":"r","status":"running"}`, `200 {"run_id":"r","status":"completed"}`
	wait := func(t *testing.T, replies ...string) (run *api.RunView, err error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				status, body, _ := strings.Cut(replies[0], " ")
				replies = replies[1:]
				w.WriteHeader(must(strconv.Atoi(status))(t))
				_, _ = io.WriteString(w, body)
			}))
			run, err = c.WaitRun(t.Context(), "r", client.UntilTerminal)
		})
		return run, err
	}
	run := must(wait(t, running, "404 no backend", "500 no backend", running, "404 no backend", completed))(t)
	require.Equal(t, api.StatusCompleted, run.Status)
	_, err := wait(t, "404 no backend", completed)
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = wait(t, running, `404 {"code":"run_not_found"}`, completed)
	require.ErrorIs(t, err, client.ErrNotFound)
}

// A worker does not ask for runs sooner than every MaxRetryAfter.
func TestAClaimHeedsALongRetryAfter(t *testing.T) {
	inBubble(t, func(b *rig) {
		begin := time.Now()
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			refused := strings.HasSuffix(r.URL.Path, "/claim") && b.service.calls("/claim") < 3
			if refused {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}
			return refused
		})
		b.handle("run", func(context.Context, *client.Task) error { return nil })
		b.completes("run")
		require.Equal(b, 2*time.Minute, time.Since(begin))
	})
}

// A worker keeps its lease if the service asks for a pause that is longer than the lease.
func TestALeaseOutlastsALongRetryAfter(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			refused := strings.HasSuffix(r.URL.Path, "/heartbeat") && b.service.calls("/heartbeat")%2 == 1
			if refused {
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return refused
		})
		b.handle("run", func(ctx context.Context, _ *client.Task) error {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Minute):
			}
			return context.Cause(ctx)
		})
		b.completes("run")
		require.Empty(b, b.reported())
		require.EqualValues(b, 1, b.service.record("run").Run.Fence, "the worker lost its lease")
	})
}
