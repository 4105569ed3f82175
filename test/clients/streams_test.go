//go:build unix

package clients

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// listener is a client that reads a stream.
type listener struct {
	need   func(t *testing.T) // skips where there is no such client
	listen func(t *testing.T, base, path string) *reader
}

var listeners = map[string]listener{
	"chromium":    {func(t *testing.T) { t.Helper(); rig.Need(t, browserNames...) }, inBrowser},
	"eventsource": {func(t *testing.T) { t.Helper(); needNode(t) }, inEventSource},
}

const session = "watched"

// TestEveryEventOnceOverReplicas reads through two replicas of one database, of which
// the one that the client is connected to is killed and started again.
func TestEveryEventOnceOverReplicas(t *testing.T) {
	t.Parallel()
	for name, reader := range listeners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader.need(t)
			database := postgrestest.URL(t)
			replicas, _ := rig.StartReplicas(t, 2, rig.Options{Database: database})
			one, other := replicas[0], replicas[1]
			w := newWork(t, one, other)
			way := rig.NewLine(t, one.Address())
			w.wait()
			r := reader.listen(t, "http://"+way.Address(), "/v1/sessions/"+session+"/stream")
			r.awaitConnections(1)
			w.wait()

			// The line is cut while things happen that nobody hears of.
			way.Cut()
			w.wait()
			require.NoError(t, way.Lead(one.Address()))
			r.awaitConnections(2)
			w.wait()

			// The client is led to the other replica.
			require.NoError(t, way.Lead(other.Address()))
			w.wait()
			r.awaitConnections(3)

			// The replica that it reads from is killed, and comes back.
			other.Kill()
			w.use(one)
			w.wait()
			other.Resume()
			before := r.connections()
			w.use(other)
			w.wait()
			require.NoError(t, way.Lead(other.Address()))
			r.awaitConnections(before + 1)
			w.finish(r)
			rig.RequireHealthy(t, database)
		})
	}
}

// TestEveryEventOnceOverKill reads from one process with one file, which is killed in
// the middle of an open prompt.
func TestEveryEventOnceOverKill(t *testing.T) {
	t.Parallel()
	for name, reader := range listeners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader.need(t)
			database := rig.SQLite(t)
			service := rig.Start(t, rig.Options{Database: database})
			w := newWork(t, service)
			w.wait()
			r := reader.listen(t, service.URL(), "/v1/sessions/"+session+"/stream")
			r.awaitConnections(1)
			w.wait()
			open := w.raise()
			for range 2 {
				before := r.connections()
				service.Kill()
				service.Resume()
				r.awaitConnections(before + 1)
			}
			w.settle(open)
			w.finish(r)
		})
	}
}

// work makes things happen in one session.
type work struct {
	t        *testing.T
	services []*client.Client
	at       int
	count    int
}

func newWork(t *testing.T, processes ...*rig.Process) *work {
	t.Helper()
	w := &work{t: t}
	for _, process := range processes {
		w.use(process)
	}
	w.at = 0
	return w
}

// use adds a process and takes it for the next call.
func (w *work) use(process *rig.Process) {
	w.services = append(w.services, process.ConnectPatiently())
	w.at = len(w.services) - 1
}

func (w *work) service() *client.Client { return w.services[w.at] }

func (w *work) context() context.Context {
	return rig.Soon(w.t)
}

// wait does some whole waits, one after the other.
func (w *work) wait() {
	w.t.Helper()
	for range 5 {
		w.settle(w.raise())
	}
}

// raise makes a run that waits, and returns its id.
func (w *work) raise() string {
	w.t.Helper()
	w.count++
	runID := "run-" + strconv.Itoa(w.count)
	_, err := w.service().CreateRun(w.context(), client.CreateRunParams{
		SessionID: session, RunID: runID, Input: api.JSON(`{}`),
		Suspend: &api.Suspension{
			SuspensionID: "s", Approvals: []api.ApprovalRequest{{ID: "may-i", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"ls"}`)}},
			Questions: []api.UserQuestionRequest{{ID: "which", Questions: []api.UserQuestion{{Question: "Which\nline?"}}}},
		},
	})
	require.NoError(w.t, err)
	return runID
}

// settle decides what a run waits for, and ends it.
func (w *work) settle(runID string) {
	w.t.Helper()
	_, err := w.service().AnswerRunQuestion(w.context(), runID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: "which", Answers: []api.UserQuestionAnswer{{QuestionID: "question-1", FreeformAnswer: "this"}},
	}})
	require.NoError(w.t, err)
	_, err = w.service().ResolveRunApprovals(w.context(), runID, rig.Decide(rig.Allow("may-i")))
	require.NoError(w.t, err)
	claim, err := w.service().ClaimRun(w.context(), runID, api.ClaimOptions{WorkerID: "w"})
	require.NoError(w.t, err)
	_, err = w.service().CompleteRun(w.context(), runID, claim.Lease.Fence, nil)
	require.NoError(w.t, err)
}

// finish waits for the reader to have seen all there is, and looks at it.
func (w *work) finish(r *reader) {
	w.t.Helper()
	w.wait()
	view, err := w.service().GetSession(w.context(), session)
	require.NoError(w.t, err)
	r.awaitEvent(view.LastEventID)
	var log []api.RunEventEntry
	for event, err := range w.service().AllSessionEvents(w.context(), session, client.EventListParams{}) {
		require.NoError(w.t, err)
		log = append(log, event)
	}
	r.requireWhole(log)
}
