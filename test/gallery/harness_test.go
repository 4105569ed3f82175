package gallery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
)

// service is one or more replicas on one database.
type service struct {
	replicas []*replica
}

type replica struct {
	*inprocess.Service
	client *client.Client
}

// shape is a configuration of a service.
type shape struct {
	rig.Engine
	replicas int
}

var services = []shape{{rig.Engines[0], 2}, {rig.Engines[1], 1}}

// onServices runs a test on two Postgres replicas and on one SQLite process. At the end of each the
// doctor checks all rows.
func onServices(t *testing.T, test func(*testing.T, *service)) {
	t.Helper()
	on(t, services, test)
}

// overReplicas is [onServices] with two replicas only. Races in one process are covered by
// store/storetest on the engines and by test/faces on all faces.
func overReplicas(t *testing.T, test func(*testing.T, *service)) {
	t.Helper()
	on(t, services[:1], test)
}

func on(t *testing.T, shapes []shape, test func(*testing.T, *service)) {
	t.Helper()
	t.Parallel()
	for _, shape := range shapes {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			test(t, startService(t, shape.Database(t), shape.replicas, store.Options{}))
		})
	}
}

// startService starts replicas on a database for the duration of the test. At the end the doctor
// must find nothing.
func startService(t *testing.T, database string, replicas int, options store.Options) *service {
	t.Helper()
	s := &service{}
	for range replicas {
		started := inprocess.Start(t, database, inprocess.Options{Store: options})
		s.replicas = append(s.replicas, &replica{Service: started, client: started.Connect()})
	}
	t.Cleanup(func() {
		if !t.Failed() {
			storetest.RequireHealthy(context.Background(), t, s.replicas[0].Store)
		}
	})
	return s
}

// at returns a client of replica i modulo their number.
func (s *service) at(i int) *client.Client {
	return s.replicas[i%len(s.replicas)].client
}

func asking(approvals ...api.ApprovalRequest) *api.Suspension {
	return &api.Suspension{Approvals: approvals}
}

func decide(id string, behavior api.Behavior) client.ResolveApprovalsParams {
	return rig.Decide(api.ApprovalResolution{RequestID: id, Behavior: behavior})
}

// waitingRun creates a run that waits from the start. It has its own agent, so that a worker can
// claim it alone.
func waitingRun(t *testing.T, c *client.Client, runID string, suspension *api.Suspension) {
	t.Helper()
	_, err := c.CreateRun(rig.Soon(t), client.CreateRunParams{
		RunID: runID, SessionID: "session-of-" + runID, AgentID: runID, Input: "work", Suspend: suspension,
	})
	require.NoError(t, err)
}

// startedRun creates a run and claims it.
func startedRun(t *testing.T, c *client.Client, runID string) *api.Claim {
	t.Helper()
	created, err := c.CreateRun(rig.Soon(t), client.CreateRunParams{
		RunID: runID, SessionID: "session-of-" + runID, AgentID: runID, Input: "work",
		Claim: &api.ClaimOptions{WorkerID: "first"},
	})
	require.NoError(t, err)
	require.NotNil(t, created.Claim)
	return created.Claim
}

// claim waits for a run of the agent and claims it.
func claim(ctx context.Context, c *client.Client, agentID string) (*api.Claim, error) {
	taken, err := c.ClaimRuns(ctx, client.ClaimRunsParams{
		WorkerID: "worker", AgentIDs: []string{agentID}, WaitMs: rig.Patience.Milliseconds() / 2,
	})
	if err != nil {
		return nil, err
	}
	if len(taken) != 1 {
		return nil, fmt.Errorf("agent %s was handed %d runs", agentID, len(taken))
	}
	return &taken[0], nil
}

func mustClaim(t *testing.T, c *client.Client, agentID string) *api.Claim {
	t.Helper()
	taken, err := claim(rig.Soon(t), c, agentID)
	require.NoError(t, err)
	return taken
}

// requireNotClaimable checks that no replica returns a run of the agent.
func (s *service) requireNotClaimable(t *testing.T, agentID string) {
	t.Helper()
	for _, r := range s.replicas {
		taken, err := r.client.ClaimRuns(rig.Soon(t), client.ClaimRunsParams{WorkerID: "thief", AgentIDs: []string{agentID}})
		require.NoError(t, err)
		require.Empty(t, taken)
	}
}

func complete(t *testing.T, c *client.Client, held *api.Claim) {
	t.Helper()
	run, err := c.CompleteRun(rig.Soon(t), held.Run.RunID, held.Lease.Fence, api.JSON(`"done"`))
	require.NoError(t, err)
	require.Equal(t, api.StatusCompleted, run.Status)
}

// refusal returns the problem document of an error.
func refusal(t *testing.T, err error) *client.Error {
	t.Helper()
	var refused *client.Error
	require.ErrorAs(t, err, &refused)
	return refused
}

// requireRefused checks an error's code.
func requireRefused(t *testing.T, err error, code api.Code) *client.Error {
	t.Helper()
	refused := refusal(t, err)
	require.Equal(t, code, refused.Code, refused.Error())
	return refused
}

// onlyResolution returns a request's resolution and checks that there is exactly one.
func onlyResolution(t *testing.T, c *client.Client, runID, requestID string) api.Resolution {
	t.Helper()
	log, err := rig.ReadLog(rig.Soon(t), c, runID)
	require.NoError(t, err)
	recorded := log.Of(requestID)
	require.Len(t, recorded, 1, "request %s of run %s", requestID, runID)
	return recorded[0]
}

// reply is a reply to a call that the client cannot make.
type reply struct {
	status int
	code   api.Code
	faults []api.Fault
	text   string
}

// pointers returns the pointers of the faults.
func (r reply) pointers() []string {
	named := make([]string, len(r.faults))
	for i, fault := range r.faults {
		named[i] = fault.Pointer
	}
	return named
}

// post sends a raw body.
func (r *replica) post(t *testing.T, path, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(rig.Soon(t), http.MethodPost, r.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	got := reply{status: response.StatusCode, text: string(text)}
	if got.status >= 300 {
		var problem struct {
			Code   api.Code    `json:"code"`
			Errors []api.Fault `json:"errors"`
		}
		require.NoError(t, json.Unmarshal(text, &problem), "%s", text)
		got.code, got.faults = problem.Code, problem.Errors
	}
	return got
}

// stopped reports whether a call ended because its test stopped it.
func stopped(err error) bool { return errors.Is(err, context.Canceled) }

// isExpired reports whether a call was refused after the deadline.
func isExpired(err error) bool { return errors.Is(err, client.ErrExpired) }

// isNotWaiting reports whether a decision was refused because its request does not exist yet. It
// can be repeated.
func isNotWaiting(err error) bool {
	return errors.Is(err, client.ErrNotWaiting) && !errors.Is(err, client.ErrAlreadyDecided)
}

// process is a running "holdpoint serve" with a client that does not retry.
type process struct {
	*rig.Process
	client *client.Client
}

func serve(t *testing.T, database string) *process {
	t.Helper()
	started := rig.Start(t, rig.Options{Database: database})
	return &process{Process: started, client: started.Connect()}
}
