package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

func TestWhatAHandlerReturnsEndsTheRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler client.Handler
		status  api.Status
		output  string
		error   string
		// failed is the number of attempts that fail.
		failed int
	}{
		"nil": {handler: func(context.Context, *client.Task) error { return nil }, status: api.StatusCompleted},
		"output": {
			handler: func(ctx context.Context, task *client.Task) error {
				var input struct{ Name string }
				if err := task.DecodeInput(&input); err != nil {
					return err
				}
				return task.Complete(ctx, "hello "+input.Name)
			},
			status: api.StatusCompleted, output: `"hello run"`,
		},
		"error":        {handler: func(context.Context, *client.Task) error { return errors.New("no\x00 luck") }, status: api.StatusFailed, error: "no luck", failed: 3},
		"error, empty": {handler: func(context.Context, *client.Task) error { return errors.New("") }, status: api.StatusFailed, error: "failed without a text", failed: 3},
		"failed": {
			handler: func(ctx context.Context, task *client.Task) error { return task.Fail(ctx, "own words") },
			status:  api.StatusFailed, error: "own words",
		},
		"panic": {handler: func(context.Context, *client.Task) error { panic("ouch") }, status: api.StatusFailed, error: "handler panicked: ouch", failed: 3},
		"typed nil": {
			handler: func(context.Context, *client.Task) error { return (*missingError)(nil) },
			status:  api.StatusFailed, error: "handler panicked: runtime error: invalid memory address or nil pointer dereference", failed: 3,
		},
		"typed nil, wrapped": {
			handler: func(context.Context, *client.Task) error { return fmt.Errorf("call: %w", (*client.Error)(nil)) },
			status:  api.StatusFailed, error: "handler panicked: runtime error: invalid memory address or nil pointer dereference", failed: 3,
		},
		"goexit": {handler: func(context.Context, *client.Task) error { runtime.Goexit(); return nil }, status: api.StatusFailed, error: "handler ended its goroutine", failed: 3},
		"false ErrSuspended": {
			handler: func(context.Context, *client.Task) error { return client.ErrSuspended },
			status:  api.StatusFailed, error: "handler returned ErrSuspended without having suspended the run",
		},
		"endless error": {
			handler: func(context.Context, *client.Task) error { return errors.New(strings.Repeat("é", 20_000)) },
			status:  api.StatusFailed, error: strings.Repeat("é", 8192), failed: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.submit("run")
				b.start(client.WorkerOptions{}, test.handler)
				run := b.terminal("run")
				b.end()
				require.Equal(b, test.status, run.Status)
				require.Equal(b, test.output, string(run.Output))
				require.Equal(b, test.error, run.Error)
				require.Len(b, b.reported(), test.failed)
				for i, err := range b.reported() {
					var failed *client.AttemptError
					require.ErrorAs(b, err, &failed)
					require.EqualValues(b, i+1, failed.Attempt)
					require.Equal(b, i == 2, failed.Last)
					require.ErrorContains(b, err, "run run: attempt")
				}
			})
		})
	}
}

// missingError has a text only if it is not nil.
type missingError struct{ text string }

func (e *missingError) Error() string { return e.text }

func TestNoMoreRunsAreClaimedThanThereIsRoom(t *testing.T) {
	inBubble(t, func(b *rig) {
		for i := range 7 {
			b.submit(fmt.Sprint("run", i))
		}
		var mu sync.Mutex
		at, most := 0, 0
		b.start(client.WorkerOptions{Concurrency: 3}, func(context.Context, *client.Task) error {
			mu.Lock()
			at++
			most = max(most, at)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			at--
			mu.Unlock()
			return nil
		})
		for i := range 7 {
			b.terminal(fmt.Sprint("run", i))
		}
		b.end()
		require.Equal(b, 3, most)
	})
}

func TestALeaseIsRenewedWhileTheHandlerWorks(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		attempts := 0
		b.start(client.WorkerOptions{LeaseMs: 3000}, func(ctx context.Context, task *client.Task) error {
			attempts++
			<-time.After(time.Minute)
			return ctx.Err()
		})
		b.completes("run")
		require.Equal(b, 1, attempts)
		require.Empty(b, b.reported())
	})
}

func TestACancelledRunEndsItsHandler(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		var cause error
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			must(b.client.CancelRun(ctx, "run", "changed my mind"))(b)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return cause
		})
		require.Equal(b, api.StatusCancelled, b.terminal("run").Status)
		synctest.Wait()
		<-time.After(time.Minute)
		b.end()
		require.ErrorIs(b, cause, client.ErrCancelled)
		require.Empty(b, b.reported())
	})
}

func TestACallOnACancelledRunSaysSo(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		var err, cause error
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			_, cancelErr := b.client.CancelRun(ctx, "run", "")
			require.NoError(b, cancelErr)
			err = task.Output(ctx, "too late")
			cause = context.Cause(ctx)
			return err
		})
		b.terminal("run")
		synctest.Wait()
		b.end()
		require.ErrorIs(b, err, client.ErrLeaseLost)
		require.ErrorIs(b, err, client.ErrCancelled)
		require.ErrorIs(b, cause, client.ErrCancelled)
	})
}

func TestALeaseThatCannotBeRenewedIsLost(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		var cause error
		handled := make(chan struct{})
		b.start(client.WorkerOptions{LeaseMs: 3000}, func(ctx context.Context, task *client.Task) error {
			if task.Attempt() > 1 {
				return nil
			}
			b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/heartbeat") {
					w.WriteHeader(503)
					return true
				}
				return false
			})
			begin := time.Now()
			<-ctx.Done()
			cause = context.Cause(ctx)
			require.LessOrEqual(b, time.Since(begin), 4*time.Second)
			close(handled)
			return cause
		})
		<-handled
		require.Equal(b, api.StatusCompleted, b.terminal("run").Status, "another attempt took it")
		b.end()
		require.ErrorIs(b, cause, client.ErrLeaseLost)
		require.NotEmpty(b, b.reported())
	})
}

func TestSuspendLetsGoAndTheNextClaimHasTheDecisions(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		var resumed []*api.Resume
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			// From the top each time, with two suspensions in a row.
			for _, id := range []string{"first", "second"} {
				resume, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval(id, id)}})
				if err != nil {
					return err
				}
				resumed = append(resumed, resume)
			}
			return task.Complete(ctx, "done")
		})
		synctest.Wait()
		b.allow("run", "first")
		synctest.Wait()
		b.allow("run", "second")
		require.Equal(b, `"done"`, string(b.terminal("run").Output))
		b.end()
		var ids []string
		for _, resume := range resumed {
			ids = append(ids, resume.Approvals[0].Request.ID)
		}
		require.Equal(b, []string{"first", "first", "second"}, ids)
		require.Empty(b, b.reported())
	})
}

func TestSuspendGivesNoDecisionForOtherArguments(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		command := "ls"
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", command)}})
			command = "rm -rf /"
			return err
		})
		synctest.Wait()
		b.allow("run", "a")
		run := b.terminal("run")
		b.end()
		require.Equal(b, api.StatusFailed, run.Status)
		require.Contains(b, run.Error, client.ErrIDConflict.Error())
	})
}

func TestEventsAndCheckpointsReachTheService(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		b.start(client.WorkerOptions{LeaseMs: 1000}, func(ctx context.Context, task *client.Task) error {
			var step int
			there, err := task.DecodeCheckpoint(&step)
			if err != nil || there {
				return task.Complete(ctx, step)
			}
			require.NoError(b, task.Output(ctx, "working"))
			require.NoError(b, task.Emit(ctx, map[string]any{"type": "delta", "text": "w"}))
			require.NoError(b, task.SaveCheckpoint(ctx, 7))
			must(b.client.ReleaseRun(ctx, task.RunID(), task.Fence(), nil))(b)
			<-ctx.Done()
			require.ErrorIs(b, context.Cause(ctx), client.ErrLeaseLost)
			return nil
		})
		require.Equal(b, "7", string(b.terminal("run").Output))
		b.end()
		require.Equal(b, int64(1), b.service.record("run").Run.OutputCount)
	})
}

func TestAWorkerDrains(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("quick")
		b.submit("slow")
		var mu sync.Mutex
		causes := map[string]error{}
		b.start(client.WorkerOptions{DrainTimeout: 10 * time.Second}, func(ctx context.Context, task *client.Task) error {
			limit := map[string]time.Duration{"quick": 5 * time.Second, "slow": time.Hour}[task.RunID()]
			select {
			case <-time.After(limit):
			case <-ctx.Done():
			}
			mu.Lock()
			defer mu.Unlock()
			causes[task.RunID()] = context.Cause(ctx)
			return ctx.Err()
		})
		synctest.Wait()
		begin := time.Now()
		b.end()
		require.Equal(b, 10*time.Second, time.Since(begin))
		require.NoError(b, causes["quick"])
		require.ErrorIs(b, causes["slow"], client.ErrWorkerStopped)
		require.Equal(b, api.StatusCompleted, b.service.record("quick").Run.Status)
		slow := b.service.record("slow").Run
		require.Equal(b, api.StatusRunning, slow.Status)
		require.Equal(b, model.LeaseReleased, slow.LeaseEnd, "another worker may take it at once")
	})
}

func TestAWorkerThatMayNotClaimStops(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.service.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"code":"unauthorized"}`)
			return true
		})
		b.start(client.WorkerOptions{}, func(context.Context, *client.Task) error { return nil })
		require.ErrorIs(b, <-b.done, client.ErrUnauthorized)
	})
}

func TestAWorkerOutlivesAnUnavailableService(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		b.service.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(503)
			return true
		})
		b.start(client.WorkerOptions{}, func(context.Context, *client.Task) error { return nil })
		<-time.After(10 * time.Minute)
		b.service.setBefore(nil)
		b.completes("run")
		require.NotEmpty(b, b.reported())
		require.Less(b, len(b.reported()), 1000, "it pauses between attempts")
	})
}

func TestAWorkerRefusesBadOptions(t *testing.T) {
	t.Parallel()
	c := connect(t, http.NotFoundHandler())
	for name, options := range map[string]client.WorkerOptions{
		"name":      {WorkerID: "a b"},
		"room":      {Concurrency: -1},
		"lease":     {LeaseMs: 999},
		"heartbeat": {LeaseMs: 1000, HeartbeatEvery: time.Second},
		"poll":      {PollWait: 61 * time.Second},
		"attempts":  {MaxAttempts: -1},
		"delay":     {RetryDelay: 2 * time.Hour},
	} {
		_, err := client.NewWorker(c, options)
		require.ErrorIs(t, err, client.ErrInvalid, name)
	}
	worker := must(client.NewWorker(c, client.WorkerOptions{}))(t)
	require.True(t, refusal.ValidID(worker.WorkerID()))
	require.ErrorIs(t, worker.Run(t.Context(), nil), client.ErrInvalid)
}

func TestRunsThatTheLastPollClaimedAreReleased(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		ctx, stop := context.WithCancel(b.Context())
		c := connect(b.T, b.service, client.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			response, err := inProcess{b.service}.RoundTrip(r)
			stop()
			return response, err
		})}))
		worker := must(client.NewWorker(c, client.WorkerOptions{OnError: b.onError}))(b)
		require.NoError(b, worker.Run(ctx, func(context.Context, *client.Task) error {
			panic("a worker that stops must not begin")
		}))
		require.Empty(b, b.reported())
		require.Equal(b, model.LeaseReleased, b.service.record("run").Run.LeaseEnd)
	})
}

// The package is used outside of this module, so it must only import the documents of the API and
// their transport.
func TestFilesImportOnlyTheWire(t *testing.T) {
	t.Parallel()
	files := must(filepath.Glob("*.go"))(t)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := must(os.ReadFile(file))(t)
		for line := range strings.Lines(string(text)) {
			if path, found := strings.CutPrefix(strings.TrimSpace(line), `"github.com/holdpoint/holdpoint/`); found {
				require.Contains(t, []string{`api"`, `internal/canonical"`, `internal/multiplex"`}, path, file)
			}
		}
	}
}
