package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

// outage is a worker's transport. The service becomes unreachable for a time at call number
// begins; -1 for never. Claims and heartbeats are not counted.
type outage struct {
	next   http.RoundTripper
	begins int
	lasts  time.Duration
	// taken: the service receives the first of these calls, and only its reply is lost.
	taken bool
	// proxied: a proxy answers in place of the service, with this status and page.
	proxied int
	page    string

	mu     sync.Mutex
	counts int
	until  time.Time
}

func (o *outage) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	begins := false
	if !strings.HasSuffix(r.URL.Path, "/claim") && !strings.HasSuffix(r.URL.Path, "/heartbeat") {
		begins = o.counts == o.begins
		o.counts++
	}
	if begins {
		o.until = time.Now().Add(o.lasts)
	}
	down := time.Now().Before(o.until)
	o.mu.Unlock()
	if !down {
		return o.next.RoundTrip(r)
	}
	if begins && o.taken {
		if _, err := o.next.RoundTrip(r); err != nil {
			return nil, err
		}
	}
	if o.proxied != 0 {
		page := io.NopCloser(strings.NewReader(cmp.Or(o.page, "<html>back soon</html>")))
		return &http.Response{StatusCode: o.proxied, Header: http.Header{}, Body: page, Request: r}, nil
	}
	return nil, errors.New("connection reset by peer")
}

// busy makes each kind of call that a handler makes.
func busy(ctx context.Context, task *client.Task) error {
	if err := task.Output(ctx, "begins"); err != nil {
		return err
	}
	if err := task.SaveCheckpoint(ctx, 1); err != nil {
		return err
	}
	if _, err := task.Approve(ctx, approval("in-place", "ls")); err != nil {
		return err
	}
	if err := task.Emit(ctx, map[string]string{"type": "step"}); err != nil {
		return err
	}
	if _, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("parked", "rm")}}); err != nil {
		return err
	}
	return task.Complete(ctx, "done")
}

// run lets a worker handle a run through an outage. People answer at once.
func (o *outage) run(b *rig) {
	b.Helper()
	o.next = inProcess{b.service}
	c := connect(b.T, b.service, client.WithHTTPClient(&http.Client{Transport: o}))
	worker := must(client.NewWorker(c, client.WorkerOptions{OnError: b.onError}))(b)
	b.submit("run")
	ctx, stop := context.WithCancel(b.Context())
	b.stop = stop
	go func() { b.done <- worker.Run(ctx, busy) }()
	for _, id := range []string{"in-place", "parked"} {
		for waited := time.Duration(0); !b.isOpen("run", id); waited += 50 * time.Millisecond {
			select {
			case err := <-b.done:
				require.Fail(b, "the worker has ended", "%v; reported: %v", err, b.reported())
			case <-time.After(50 * time.Millisecond):
			}
			require.Less(b, waited, time.Hour, "%s is not asked; reported: %v", id, b.reported())
		}
		b.allow("run", id)
	}
	require.Equal(b, api.StatusCompleted, b.terminal("run").Status, "reported: %v", b.reported())
	b.end()
}

func (b *rig) isOpen(runID, requestID string) bool {
	for _, request := range b.service.record(runID).Requests {
		if request.RequestID == requestID && request.Open() {
			return true
		}
	}
	return false
}

// An outage at any call of a handler fails no run. If it is shorter than the lease, the
// worker keeps the lease; otherwise the run is left to the next claim.
func TestAnOutageAtAnyCallFailsNoRun(t *testing.T) {
	t.Parallel()
	calls := 0
	synctest.Test(t, func(t *testing.T) {
		undisturbed := &outage{begins: -1}
		undisturbed.run(newRig(t))
		calls = undisturbed.counts
	})
	require.GreaterOrEqual(t, calls, 7)
	for begins := range calls {
		for name, o := range map[string]*outage{
			"refused":          {lasts: 1500 * time.Millisecond},
			"reply lost":       {lasts: 1500 * time.Millisecond, taken: true},
			"no backend":       {lasts: 1500 * time.Millisecond, proxied: http.StatusNotFound},
			"redirected":       {lasts: 1500 * time.Millisecond, proxied: http.StatusFound},
			"timed out":        {lasts: 1500 * time.Millisecond, proxied: http.StatusRequestTimeout},
			"timed out, coded": {lasts: 1500 * time.Millisecond, proxied: http.StatusRequestTimeout, page: `{"code":"RequestTimeout"}`},
			"a page":           {lasts: 1500 * time.Millisecond, proxied: http.StatusOK},
			"no members":       {lasts: 1500 * time.Millisecond, proxied: http.StatusOK, page: "{}"},
			"longer":           {lasts: 2 * time.Minute},
			"longer, and lost": {lasts: 2 * time.Minute, taken: true},
		} {
			o.begins = begins
			t.Run(fmt.Sprintf("%s at call %d", name, begins), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := newRig(t)
					o.run(b)
					run := b.service.record("run").Run
					if o.lasts < time.Minute {
						for _, err := range b.reported() {
							require.ErrorContains(b, err, "claim runs", "of the run nothing is said")
						}
						require.EqualValues(b, 2, run.Fence, "the worker lost its lease")
						require.EqualValues(b, 2, run.OutputCount, "one for each of the two claims")
					}
				})
			})
		}
	}
}

// A reply without the members of a renewal, such as {} from a proxy, renews no lease: the
// handler ends before another worker may claim the run.
func TestAReplyWithoutMembersRenewsNoLease(t *testing.T) {
	inBubble(t, func(b *rig) {
		var lasted time.Duration
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			began := time.Now()
			b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
				heartbeat := strings.HasSuffix(r.URL.Path, "/heartbeat")
				if heartbeat {
					_, _ = io.WriteString(w, "{}")
				}
				return heartbeat
			})
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			lasted = time.Since(began)
			b.service.setBefore(nil)
			b.stop()
			return context.Cause(ctx)
		})
		require.NoError(b, <-b.done)
		require.LessOrEqual(b, lasted, 30*time.Second)
		require.ErrorIs(b, errors.Join(b.reported()...), client.ErrLeaseLost)
		require.ErrorIs(b, errors.Join(b.reported()...), client.ErrUnavailable)
	})
}

// A failed renewal is repeated before the lease ends, and the handler ends no later.
func TestAHandlerEndsWithTheLease(t *testing.T) {
	inBubble(t, func(b *rig) {
		var lasted time.Duration
		b.submit("run")
		b.start(client.WorkerOptions{HeartbeatEvery: 29 * time.Second}, func(ctx context.Context, _ *client.Task) error {
			began := time.Now()
			b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, `{"code":"internal"}`)
				return true
			})
			<-ctx.Done()
			lasted = time.Since(began)
			b.service.setBefore(nil)
			b.stop()
			return context.Cause(ctx)
		})
		require.NoError(b, <-b.done)
		require.LessOrEqual(b, lasted, 30*time.Second)
	})
}

// A call that ends the run is retried as long as the lease lasts, so a worker can be stopped
// while the service is away.
func TestACallThatEndsTheRunEndsWithTheLease(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]client.Handler{
		"returned":  func(context.Context, *client.Task) error { return nil },
		"failed":    func(context.Context, *client.Task) error { return errors.New("out of paper") },
		"completed": func(ctx context.Context, task *client.Task) error { return task.Complete(ctx, 1) },
		"suspended": func(ctx context.Context, task *client.Task) error {
			_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "ls")}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				var handled time.Time
				b.handle("run", func(ctx context.Context, task *client.Task) error {
					handled = time.Now()
					b.service.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
						w.WriteHeader(http.StatusBadGateway)
						return true
					})
					return call(ctx, task)
				})
				synctest.Wait()
				b.stop()
				select {
				case err := <-b.done:
					require.NoError(b, err)
				case <-time.After(time.Hour):
					b.service.setBefore(nil)
					require.Fail(b, "the worker goes on")
				}
				require.LessOrEqual(b, time.Since(handled), 31*time.Second)
				require.ErrorIs(b, errors.Join(b.reported()...), client.ErrLeaseLost)
			})
		})
	}
}

// A worker that is stopped while its handler waits for a person ends at once. The request
// stays open, and another worker gets the decision.
func TestAStoppedWorkerDoesNotWaitForPeople(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]client.Handler{
		"returned": func(ctx context.Context, task *client.Task) error {
			_, err := task.Approve(ctx, approval("a", "ls"))
			return err
		},
		"reworded": func(ctx context.Context, task *client.Task) error {
			if _, err := task.Approve(ctx, approval("a", "ls")); err != nil {
				return fmt.Errorf("not approved: %v", err) //nolint:errorlint // as careless handlers do
			}
			return nil
		},
		"two, of which one begins late": func(ctx context.Context, task *client.Task) error {
			_, first := task.Approve(ctx, approval("a", "ls"))
			_, second := task.Ask(ctx, question("q", "And now?"))
			return errors.Join(first, second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.handle("run", handler)
				synctest.Wait()
				require.True(b, b.isOpen("run", "a"))
				stopped := time.Now()
				b.end()
				require.Zero(b, time.Since(stopped), "a drain is for work")
				require.Empty(b, b.reported())
				require.True(b, b.isOpen("run", "a"))
				require.False(b, b.isOpen("run", "q"), "nothing more is asked")
				run := b.service.record("run").Run
				require.Equal(b, api.StatusWaitingForApproval, run.Status)
				require.Equal(b, model.LeaseReleased, run.LeaseEnd)

				b.allow("run", "a")
				b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
					_, err := task.Approve(ctx, approval("a", "ls"))
					return err
				})
				b.completes("run")
			})
		})
	}
}

// Work concurrent with a wait gets the drain time.
func TestAStoppedWorkerLetsWorkFinish(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			_, err := task.Approve(ctx, approval("a", "ls"))
			<-time.After(5 * time.Second)
			if saveErr := task.SaveCheckpoint(ctx, "saved"); saveErr != nil {
				return saveErr
			}
			return err
		})
		synctest.Wait()
		stopped := time.Now()
		b.end()
		require.Equal(b, 5*time.Second, time.Since(stopped))
		require.Equal(b, `"saved"`, string(b.service.record("run").Run.Checkpoint))
		require.Empty(b, b.reported())
	})
}

// A run whose handler failed is retried after pauses that double.
func TestAFailedHandlerIsTriedAgain(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		begin := time.Now()
		var at []time.Duration
		b.start(client.WorkerOptions{MaxAttempts: 4}, func(ctx context.Context, task *client.Task) error {
			at = append(at, time.Since(begin))
			if len(at) == 4 {
				require.EqualValues(b, 3, task.Run().FailedAttempts)
				require.Equal(b, "flaky", task.Run().LastError)
				return nil
			}
			return errors.New("flaky")
		})
		require.Equal(b, api.StatusCompleted, b.terminal("run").Status)
		b.end()
		require.Len(b, b.reported(), 3)
		require.Equal(b, []time.Duration{0, 1, 3, 7}, []time.Duration{
			at[0].Truncate(time.Second), at[1].Truncate(time.Second) / time.Second,
			at[2].Truncate(time.Second) / time.Second, at[3].Truncate(time.Second) / time.Second,
		})
	})
}

// An attempt that failed because the service was unreachable does not count.
func TestAnUnreachableServiceIsNotAFailedAttempt(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		attempts := 0
		b.start(client.WorkerOptions{}, func(context.Context, *client.Task) error {
			if attempts++; attempts < 6 {
				return fmt.Errorf("read the other run: %w", client.ErrUnavailable)
			}
			return nil
		})
		require.Equal(b, api.StatusCompleted, b.terminal("run").Status)
		b.end()
		require.Zero(b, b.service.record("run").Run.FailedAttempts)
	})
}

// Pauses that double do not overflow, however long the service is away.
func TestAWaitOutlastsALongOutageWithALongFirstPause(t *testing.T) {
	t.Parallel()
	for _, policy := range []client.RetryPolicy{
		{BaseDelay: 5 * time.Second},
		{BaseDelay: time.Hour, MaxDelay: time.Minute},
		{BaseDelay: math.MaxInt64},
	} {
		policy.MaxAttempts = 1 // each attempt is another failure of the wait
		synctest.Test(t, func(t *testing.T) {
			service := &script{statuses: slices.Repeat([]int{http.StatusServiceUnavailable}, 40)}
			must(connect(t, service, client.WithRetry(policy)).WaitRun(t.Context(), "r", client.UntilDecided))(t)
			require.EqualValues(t, 41, service.served.Load())
		})
	}
}
