//go:build unix && agents

package sdk

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/test/rig"
)

// outages are what can happen at a call of a worker.
const (
	killedBefore = "killed when the call arrives"
	killedAfter  = "killed when the call has taken effect"
	refusing     = "not reachable for 1.5 s"
)

// gate is a proxy between workers and a service. At one of the workers' calls it brings the service
// down. Claims are not counted: what they hand out is not known to a worker that gets no reply.
type gate struct {
	*testing.T
	service *rig.Process
	proxy   *httputil.ReverseProxy

	mu     sync.Mutex
	outage string
	at     int
	calls  int
	up     chan struct{} // closed when the service can be reached
}

func newGate(t *testing.T, service *rig.Process) (g *gate, address string) {
	target, err := url.Parse(service.URL())
	require.NoError(t, err)
	g = &gate{T: t, service: service, proxy: httputil.NewSingleHostReverseProxy(target), up: make(chan struct{})}
	close(g.up)
	g.proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return g, server.URL
}

// arm has the outage begin at the call of that number, counted from 0.
func (g *gate) arm(outage string, at int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.outage, g.at, g.calls = outage, at, 0
}

// made returns how many calls there were, once the service can be reached.
func (g *gate) made() int {
	g.mu.Lock()
	up := g.up
	g.mu.Unlock()
	<-up
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" { // so that each call is a request
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	g.mu.Lock()
	begins := false
	if !strings.HasSuffix(r.URL.Path, "/claim") {
		begins = g.calls == g.at
		g.calls++
	}
	outage, up := g.outage, g.up
	if begins {
		g.up = make(chan struct{})
	}
	down := !closed(up)
	over := g.up
	g.mu.Unlock()
	switch {
	case down:
		panic(http.ErrAbortHandler)
	case !begins:
		g.proxy.ServeHTTP(w, r)
		return
	case outage == killedAfter:
		g.proxy.ServeHTTP(httptest.NewRecorder(), r)
	}
	go func() {
		defer close(over)
		if outage == refusing {
			time.Sleep(1500 * time.Millisecond)
			return
		}
		g.service.Kill()
		if err := g.service.Restart(); err != nil {
			g.Error(err)
			return
		}
		if err := g.service.AwaitReady(); err != nil {
			g.Error(err)
		}
	}()
	panic(http.ErrAbortHandler)
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// everyOutage is the environment variable that has each kind of outage tried at each call. Without
// it there is one outage at each call, and another one there with the next library.
const everyOutage = "HOLDPOINT_OUTAGES"

// TestAnOutageFailsNoRun has the service killed, or cut off, at every call that a handler
// makes, with each library as it comes. Every run is completed, and nothing is asked twice.
func TestAnOutageFailsNoRun(t *testing.T) { //nolint:tparallel // the processes of one suite are enough at a time
	outages := []string{killedBefore, killedAfter, refusing}
	for i, library := range slices.Sorted(maps.Keys(libraries)) {
		begin := libraries[library]
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			service := rig.Start(t, rig.Options{Database: rig.SQLite(t)})
			g, address := newGate(t, service)
			d := begin(t, address)
			people := service.Connect(client.WithRetry(client.RetryPolicy{MaxAttempts: 1000, MaxDelay: 100 * time.Millisecond}))
			require.Empty(t, d.do(step{"do": "worker", "worker": "w", "agent": "busy", "handler": "busy"}).Failed)
			g.arm("", -1)
			calls := playBusy(t, people, g, "undisturbed")
			require.GreaterOrEqual(t, calls, 8)
			for at := range calls {
				chosen := outages[(at+i)%len(outages):][:1]
				if os.Getenv(everyOutage) == "all" {
					chosen = outages
				}
				for _, outage := range chosen {
					g.arm(outage, at)
					playBusy(t, people, g, fmt.Sprintf("%s-%d", strings.ReplaceAll(strings.ReplaceAll(outage, " ", "-"), "1.5-s", "a-while"), at))
				}
			}
			require.Empty(t, d.do(step{"do": "stop_worker", "worker": "w"}).Failed)
		})
	}
}

// playBusy makes a run of the handler "busy", answers what it asks, and requires that it is
// completed. It returns how many calls the worker made.
func playBusy(t *testing.T, people *client.Client, g *gate, runID string) int {
	t.Helper()
	_, err := people.CreateRun(t.Context(), client.CreateRunParams{RunID: runID, AgentID: "busy", Input: 1})
	require.NoError(t, err)
	pending := func() *api.RunView {
		run, err := people.GetRun(t.Context(), runID)
		require.NoError(t, err)
		require.NotEqual(t, api.StatusFailed, run.Status, "%s: %s", runID, run.Error)
		return run
	}
	for _, id := range []string{"in-place", "parked"} {
		rig.Await(t, func() bool {
			open := pending().PendingApprovals
			return len(open) == 1 && open[0].ID == id
		}, runID+": it does not ask for "+id)
		_, err := people.ResolveRunApprovals(t.Context(), runID, rig.Decide(api.ApprovalResolution{RequestID: id, Behavior: api.BehaviorAllow}))
		require.NoError(t, err)
	}
	rig.Await(t, func() bool { return len(pending().PendingQuestions) == 1 }, runID+": it does not ask which way")
	_, err = people.AnswerRunQuestion(t.Context(), runID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: "which", Answers: []api.UserQuestionAnswer{{QuestionID: "way", SelectedOptionIDs: []string{"left"}}},
	}})
	require.NoError(t, err)
	done, err := people.WaitRun(rig.Soon(t), runID, client.UntilTerminal)
	require.NoError(t, err)
	require.Equal(t, api.StatusCompleted, done.Status, "%s: %s", runID, done.Error)
	require.JSONEq(t, `"done"`, string(done.Output), runID)
	ends := 0
	for event, err := range people.AllRunEvents(t.Context(), runID, client.EventListParams{}) {
		require.NoError(t, err)
		if strings.Contains(string(event.Event), `"type":"completed"`) {
			ends++
		}
	}
	require.Equal(t, 1, ends, runID)
	return g.made()
}
