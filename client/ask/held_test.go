package ask_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
)

// heldCall is the transport to a service with one held call, whose request is allowed at its first
// renewal. The first call of each kind reaches a proxy without a backend, except the one that creates
// the run.
type heldCall struct {
	mu     sync.Mutex
	run    api.RunView
	raised api.ApprovalRequest
	called map[string]int
}

func (h *heldCall) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	recorder := httptest.NewRecorder()
	call := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if call == h.run.RunID {
		call = "read"
	}
	if h.called[call]++; h.called[call] == 1 && call != "runs" {
		recorder.WriteHeader(http.StatusNotFound)
		return recorder.Result(), nil
	}
	reply, err := h.reply(call, r)
	if err := errors.Join(err, json.MarshalWrite(recorder, reply)); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// reply returns the service's reply to a call.
func (h *heldCall) reply(call string, r *http.Request) (any, error) {
	switch call {
	case "runs":
		var body api.CreateRunBody
		if err := json.UnmarshalRead(r.Body, &body); err != nil {
			return nil, err
		}
		h.raised = body.Suspend.Approvals[0]
		h.run = api.RunView{
			RunID: *body.RunID, Metadata: body.Metadata, Status: api.StatusWaitingForApproval,
			Lease: &api.LeaseView{WorkerID: body.Claim.WorkerID},
		}
		return api.Claim{Run: h.run, Lease: api.ClaimedLease{WorkerID: body.Claim.WorkerID, Fence: "1"}}, nil
	case "heartbeat":
		h.run.Status = api.StatusRunning
		return api.HeartbeatReply{}, nil
	case "events":
		return h.events()
	case "complete":
		var body api.CompleteBody
		err := json.UnmarshalRead(r.Body, &body)
		h.run.Status, h.run.Output = api.StatusCompleted, body.Output
		return h.run, err
	case "read":
		return h.run, nil
	default:
		return nil, fmt.Errorf("unexpected call: %s", r.URL)
	}
}

// events returns the log of the run with its decision.
func (h *heldCall) events() ([]api.RunEventEntry, error) {
	entries := []api.RunEventEntry{{ID: "1"}, {ID: "2"}}
	for i, event := range []map[string]any{
		{"type": api.EventWaitingForApproval, "requests": []api.ApprovalRequest{h.raised}},
		{"type": api.EventApprovalResolved, "resolutions": []api.Resolution{{RequestID: h.raised.ID, Outcome: api.OutcomeAllowed, Behavior: api.BehaviorAllow}}},
	} {
		var err error
		if entries[i].Event, err = json.Marshal(event); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// A proxy without a backend does not end a held call, however early, and does not take its lease: not at
// the first read, a renewal, or the call that takes the decision.
func TestAHeldCallOutlastsAProxyWithoutABackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &heldCall{called: map[string]int{}}
		c, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: network}), client.WithoutMultiplexing())
		require.NoError(t, err)
		held, err := (&ask.Asker{Client: c}).RaiseHeld(t.Context(), ask.Call{Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"make"}`)}})
		require.NoError(t, err)
		defer held.Release()
		waiting, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		answer, err := held.Await(waiting)
		require.NoError(t, err)
		_, _, allowed := answer.Allowed()
		require.True(t, allowed)
		require.False(t, answer.Spent)
		require.Equal(t, 2, network.called["complete"])
		require.Zero(t, network.called["claim"], "the lease is kept")
	})
}

// busy is a transport that answers every second renewal with a Retry-After that is longer than the
// lease.
type busy struct {
	*heldCall
	asked   int
	renewed []time.Time
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/heartbeat") {
		if b.asked++; b.asked%2 == 1 {
			return &http.Response{
				StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"30"}}, Body: http.NoBody, Request: r,
			}, nil
		}
		b.renewed = append(b.renewed, time.Now())
	}
	return b.heldCall.RoundTrip(r)
}

// A held call keeps its lease if the service asks for a pause that is longer than the lease.
func TestAHeldCallOutlastsALongRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &busy{heldCall: &heldCall{called: map[string]int{"heartbeat": 1}}}
		c, err := client.New("http://holdpoint.test", client.WithHTTPClient(&http.Client{Transport: network}), client.WithoutMultiplexing())
		require.NoError(t, err)
		before := time.Now()
		held, err := (&ask.Asker{Client: c}).RaiseHeld(t.Context(), ask.Call{Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"make"}`)}})
		require.NoError(t, err)
		<-time.After(5 * time.Minute)
		held.Release()
		for _, at := range append(network.renewed, time.Now()) {
			require.Less(t, at.Sub(before), 15*time.Second)
			before = at
		}
	})
}
