package gallery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/dialects/codex"
	"github.com/holdpoint/holdpoint/httpapi/dialects/hermes"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/httpapi/dialects/timbal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/doctor"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

// patience is how long something may take before it counts as hung.
const patience = 60 * time.Second

// service is what users call "holdpoint": one or more replicas on one database.
type service struct {
	replicas []*replica
}

// replica is one whole service process, but for the process: a store, a hub, a
// dispatcher and the loops of its own.
type replica struct {
	url    string
	client *client.Client
	store  runs.Store
}

// services are the shapes of a service that a test runs against.
var services = []struct {
	name     string
	replicas int
	database func(*testing.T) string
}{
	{"two replicas on Postgres", 2, func(t *testing.T) string { return postgrestest.URL(t) }},
	{"SQLite", 1, sqliteURL},
}

func sqliteURL(t *testing.T) string {
	return "sqlite:" + filepath.Join(t.TempDir(), "gallery.db")
}

// onServices runs a test on every shape of a service, and lets the checker walk all
// rows at its end.
func onServices(t *testing.T, test func(*testing.T, *service)) {
	t.Helper()
	t.Parallel()
	for _, shape := range services {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			test(t, startService(t, shape.database(t), shape.replicas, store.Options{}))
		})
	}
}

// startService starts replicas on a database. They end with the test, after the
// checker has found nothing wrong.
func startService(t *testing.T, database string, replicas int, options store.Options) *service {
	t.Helper()
	s := &service{}
	for range replicas {
		s.replicas = append(s.replicas, startReplica(t, database, options))
	}
	t.Cleanup(func() {
		if !t.Failed() {
			requireHealthy(t, s.replicas[0].store)
		}
	})
	return s
}

// at returns a client of one of the replicas, counted round.
func (s *service) at(i int) *client.Client {
	return s.replicas[i%len(s.replicas)].client
}

// startReplica wires a service as the serve command does.
func startReplica(t *testing.T, database string, options store.Options) *replica {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	options.Logger = logger
	opened, err := store.Open(t.Context(), database, options)
	require.NoError(t, err)
	hub := watch.NewHub()
	unsubscribe := opened.Subscribe(hub.Publish)
	dispatcher := claims.New(opened, claims.Options{Logger: logger})
	api := httpapi.New(httpapi.Options{
		Store: opened, Hub: hub, Claims: dispatcher, Logger: logger,
		Dialects: []kit.Mount{
			hermes.Mount, codex.New(codex.Options{}), timbal.New(timbal.Options{}), relay.New(relay.Options{}),
		},
	})

	looping, stop := context.WithCancel(context.Background())
	loops := []func(context.Context) error{
		dispatcher.Run,
		loop.NewExpiry(opened, loop.ExpiryOptions{Logger: logger}).Run,
		loop.NewEffects(opened, loop.EffectsOptions{Logger: logger}).Run,
		loop.NewRetention(opened, loop.RetentionOptions{Logger: logger}).Run,
	}
	ended := make(chan error, len(loops))
	for _, run := range loops {
		go func() { ended <- run(looping) }()
	}
	server := httptest.NewServer(api.Handler())
	r := &replica{url: server.URL, store: opened, client: connect(t, server.URL)}
	t.Cleanup(func() {
		api.Drain()
		r.client.Close()
		server.Close()
		unsubscribe()
		stop()
		for range loops {
			require.NoError(t, <-ended)
		}
		require.NoError(t, opened.Close())
	})
	return r
}

// connect returns a client, by default of an approver without a name.
func connect(t *testing.T, url string, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, options...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// requireHealthy lets the checker walk all rows of a store.
func requireHealthy(t *testing.T, walked runs.Store) {
	t.Helper()
	var findings []doctor.Finding
	summary, err := doctor.Examine(context.Background(), walked.(model.Walker), func(finding doctor.Finding) {
		findings = append(findings, finding)
	})
	require.NoError(t, err)
	require.Empty(t, findings)
	require.True(t, summary.Healthy())
	require.Positive(t, summary.Rows.Runs, "the checker must have had something to look at")
}

// soon returns a context that ends when something hangs.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// approval returns a tool call to decide about.
func approval(id string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolCallID: "call-" + id, ToolName: "deploy", Input: api.JSON(`{"to":"production"}`)}
}

// question returns a request with one question, "way", with two options.
func question(id string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: id, ToolCallID: "call-" + id, Questions: []api.UserQuestion{{
		ID: "way", Question: "Which way?",
		Options: []api.QuestionOption{{ID: "left", Label: "Left"}, {ID: "right", Label: "Right"}},
	}}}
}

func asks(approvals ...api.ApprovalRequest) *api.Suspension {
	return &api.Suspension{Approvals: approvals}
}

func decide(id string, behavior api.Behavior) client.ResolveApprovalsParams {
	return client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: id, Behavior: behavior}}}
}

func answer(id, optionID string) client.AnswerQuestionParams {
	return client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: id, Answers: []api.UserQuestionAnswer{{QuestionID: "way", SelectedOptionIDs: []string{optionID}}},
	}}
}

// waitingRun makes a run that waits from its first moment, by an agent of its own
// name, so that a worker can ask for this run alone.
func waitingRun(t *testing.T, c *client.Client, runID string, suspension *api.Suspension) {
	t.Helper()
	_, err := c.CreateRun(soon(t), client.CreateRunParams{
		RunID: runID, SessionID: "session-of-" + runID, AgentID: runID, Input: "work", Suspend: suspension,
	})
	require.NoError(t, err)
}

// startedRun makes a run whose lease the caller has.
func startedRun(t *testing.T, c *client.Client, runID string) *api.Claim {
	t.Helper()
	created, err := c.CreateRun(soon(t), client.CreateRunParams{
		RunID: runID, SessionID: "session-of-" + runID, AgentID: runID, Input: "work",
		Claim: &api.ClaimOptions{WorkerID: "first"},
	})
	require.NoError(t, err)
	require.NotNil(t, created.Claim)
	return created.Claim
}

// claim waits for a run of that agent and takes it.
func claim(ctx context.Context, c *client.Client, agentID string) (*api.Claim, error) {
	taken, err := c.ClaimRuns(ctx, client.ClaimRunsParams{
		WorkerID: "worker", AgentIDs: []string{agentID}, WaitMs: patience.Milliseconds() / 2,
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
	taken, err := claim(soon(t), c, agentID)
	require.NoError(t, err)
	return taken
}

// requireNotClaimable shows that no replica gives the run of an agent away.
func (s *service) requireNotClaimable(t *testing.T, agentID string) {
	t.Helper()
	for _, r := range s.replicas {
		taken, err := r.client.ClaimRuns(soon(t), client.ClaimRunsParams{WorkerID: "thief", AgentIDs: []string{agentID}})
		require.NoError(t, err)
		require.Empty(t, taken)
	}
}

func complete(t *testing.T, c *client.Client, held *api.Claim) {
	t.Helper()
	run, err := c.CompleteRun(soon(t), held.Run.RunID, held.Lease.Fence, api.JSON(`"done"`))
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

// requireRefused checks the code of a refusal.
func requireRefused(t *testing.T, err error, code api.Code) *client.Error {
	t.Helper()
	refused := refusal(t, err)
	require.Equal(t, code, refused.Code, refused.Error())
	return refused
}

// resolutionsOf returns what a run's events say was recorded for a request, in
// their order.
func resolutionsOf(ctx context.Context, c *client.Client, runID, requestID string) ([]api.Resolution, error) {
	var recorded []api.Resolution
	for entry, err := range c.AllRunEvents(ctx, runID, client.EventListParams{}) {
		if err != nil {
			return nil, err
		}
		var event struct {
			Resolutions []api.Resolution `json:"resolutions"`
			Resolution  *api.Resolution  `json:"resolution"`
		}
		if err := json.Unmarshal(entry.Event, &event); err != nil {
			return nil, err
		}
		if event.Resolution != nil {
			event.Resolutions = append(event.Resolutions, *event.Resolution)
		}
		for _, resolution := range event.Resolutions {
			if resolution.RequestID == requestID {
				recorded = append(recorded, resolution)
			}
		}
	}
	return recorded, nil
}

// onlyResolution returns what was recorded for a request, and checks that it was
// recorded once.
func onlyResolution(t *testing.T, c *client.Client, runID, requestID string) api.Resolution {
	t.Helper()
	recorded, err := resolutionsOf(soon(t), c, runID, requestID)
	require.NoError(t, err)
	require.Len(t, recorded, 1, "request %s of run %s", requestID, runID)
	return recorded[0]
}

// reply is an answer to a call that the client would not make.
type reply struct {
	status int
	code   api.Code
	faults []api.Fault
	text   string
}

// pointers are the members that the refusal names.
func (r reply) pointers() []string {
	named := make([]string, len(r.faults))
	for i, fault := range r.faults {
		named[i] = fault.Pointer
	}
	return named
}

// post sends a body as it stands.
func (r *replica) post(t *testing.T, path, body string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(soon(t), http.MethodPost, r.url+path, strings.NewReader(body))
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

// isExpired reports whether a call was refused because the deadline was past.
func isExpired(err error) bool { return errors.Is(err, client.ErrExpired) }

// isNotWaiting reports whether a decision came before its request, which the caller
// may send again.
func isNotWaiting(err error) bool {
	return errors.Is(err, client.ErrNotWaiting) && !errors.Is(err, client.ErrAlreadyDecided)
}
