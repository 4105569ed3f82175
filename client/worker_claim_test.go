package client_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
)

// A worker that gets runs has further polls in flight, so that one waits while the reply of
// another is in flight; once there are no more runs, one poll remains.
func TestABusyWorkerPollsMoreThanOnce(t *testing.T) {
	inBubble(t, func(b *rig) {
		var polls atomic.Int32
		c := connect(b.T, b.service, client.WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/claim") {
				polls.Add(1)
				defer polls.Add(-1)
			}
			return inProcess{b.service}.RoundTrip(r)
		})}))
		worker := must(client.NewWorker(c, client.WorkerOptions{Concurrency: 8, OnError: b.onError}))(b)
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error)
		go func() { ended <- worker.Run(ctx, func(context.Context, *client.Task) error { return nil }) }()
		synctest.Wait()
		require.EqualValues(b, 1, polls.Load(), "at rest")
		for _, runID := range []string{"a", "b", "c", "d", "e"} {
			b.submit(runID)
			synctest.Wait()
		}
		synctest.Wait()
		require.EqualValues(b, 4, polls.Load(), "while it is busy")
		<-time.After(2 * time.Second)
		synctest.Wait()
		require.EqualValues(b, 1, polls.Load(), "at rest again")
		stop()
		require.NoError(b, <-ended)
		require.Zero(b, polls.Load())
		require.Empty(b, b.reported())
	})
}

// A proxy without a backend answers 404 without a problem document. That says nothing about the
// worker's claims, so the worker goes on.
func TestAClaimThatAProxyAnswersEndsNoWorker(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.service.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusNotFound)
			return true
		})
		b.start(client.WorkerOptions{}, func(context.Context, *client.Task) error { return nil })
		synctest.Wait()
		b.service.setBefore(nil)
		b.submit("run")
		b.completes("run")
		require.Len(b, b.reported(), 1)
		require.ErrorContains(b, b.reported()[0], "claim runs: HTTP 404")
	})
}

// A claim that is cut off in its reply starts no handler: what is left may have a decision without the
// person's edit.
func TestAClaimThatIsCutOffStartsNoHandler(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.service.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, `{"claims":[{"run":{"run_id":"cut"},"lease":{"fence":"1"},"input":{},"resume":{"suspension_id":"s","questions":[],`+
				`"approvals":[{"request":{"id":"go","input":{"directory":"/"}},"resolution":{"outcome":"allowed","behavior":"allow"`)
			return true
		})
		handled := []string{}
		b.start(client.WorkerOptions{}, func(_ context.Context, task *client.Task) error {
			handled = append(handled, task.RunID())
			return nil
		})
		synctest.Wait()
		b.service.setBefore(nil)
		b.submit("run")
		b.completes("run")
		require.Equal(b, []string{"run"}, handled)
		require.Len(b, b.reported(), 1)
		require.ErrorContains(b, b.reported()[0], "claim runs: ")
		require.ErrorIs(b, b.reported()[0], client.ErrUnavailable)
	})
}

// A further poll of a busy worker whose reply is cut off is reported, because its runs wait for their
// leases to expire.
func TestAFurtherClaimThatIsCutOffIsReported(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			body := must(io.ReadAll(r.Body))(b)
			r.Body = io.NopCloser(bytes.NewReader(body))
			further := strings.Contains(string(body), `"wait_ms":1000`)
			if further {
				_, _ = io.WriteString(w, `{"claims":[{"run":{"run_id":"cut"}`)
			}
			return further
		})
		b.submit("run")
		b.start(client.WorkerOptions{Concurrency: 8}, func(context.Context, *client.Task) error { return nil })
		synctest.Wait()
		b.completes("run")
		require.Len(b, b.reported(), 1)
		require.ErrorContains(b, b.reported()[0], "claim runs: ")
		require.ErrorIs(b, b.reported()[0], client.ErrUnavailable)
	})
}
