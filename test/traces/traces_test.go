// Package traces holds the tests of what a collector of OpenTelemetry is sent by a whole service.
package traces

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/telemetry/tracing"
	"github.com/holdpoint/holdpoint/telemetry/tracing/statements"
	"github.com/holdpoint/holdpoint/telemetry/tracing/tracingtest"
	"github.com/holdpoint/holdpoint/test/inprocess"
	"github.com/holdpoint/holdpoint/test/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }

const (
	asked = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	taken = "00-11112222333344445555666677778888-aaaabbbbccccdddd-01"
	// unsampled is of a caller who does not want to be traced.
	unsampled = "00-99992222333344445555666677778888-aaaabbbbccccdddd-00"
)

type inTrace struct{}

// connect returns a client whose calls are in the trace of their context.
func connect(service *inprocess.Service) *client.Client {
	return service.Connect(client.WithTraceparent(func(ctx context.Context) string {
		traceparent, _ := ctx.Value(inTrace{}).(string)
		return traceparent
	}))
}

func in(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, inTrace{}, traceparent)
}

func approval(id string) api.ApprovalRequest {
	return api.ApprovalRequest{ID: id, ToolCallID: id, ToolName: "bash", Input: api.JSON(`{"command":"secret of the input"}`)}
}

func allow(id string) client.ResolveApprovalsParams {
	return client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: id, Behavior: api.BehaviorAllow}}}
}

// traced returns a service in memory that sends its traces to a receiver until the tracer is closed.
func traced(t *testing.T) (*tracingtest.Receiver, *tracing.Tracing, *client.Client) {
	t.Helper()
	receiver := tracingtest.Start(t)
	tracer, err := tracing.New(t.Context(), tracing.Options{Endpoint: receiver.URL, Version: "test"})
	require.NoError(t, err)
	return receiver, tracer, connect(inprocess.Start(t, inprocess.Memory, inprocess.Options{Tracer: tracer, Store: store.Options{Tracer: tracer}}))
}

// A wait is followed from the call that asked, through the door and the database, to the call that
// resumes, however long after and by whomever.
func TestAResumeIsLinkedToItsSuspension(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := inprocess.Memory
			if engine == "postgres" {
				database = postgrestest.URL(t)
			}
			receiver := tracingtest.Start(t)
			tracer, err := tracing.New(t.Context(), tracing.Options{Endpoint: receiver.URL, Version: "test"})
			require.NoError(t, err)
			service := inprocess.Start(t, database, inprocess.Options{
				Tracer: tracer, Store: store.Options{Tracer: tracer, StatementTracer: statements.New(tracer.Tracer())},
			})
			c, ctx := connect(service), rig.Soon(t)

			create := client.CreateRunParams{
				SessionID: "s", RunID: "r", Input: "an input", IdempotencyKey: "k",
				Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{approval("a")}},
			}
			_, err = c.CreateRun(in(ctx, asked), create)
			require.NoError(t, err)
			// The same call in another trace is the same call, and changes nothing.
			again, err := c.CreateRun(in(ctx, taken), create)
			require.NoError(t, err)
			require.True(t, again.Replayed)
			_, err = c.ResolveRunApprovals(in(ctx, unsampled), "r", allow("a"))
			require.NoError(t, err)
			claim, err := c.ClaimRun(in(ctx, taken), "r", api.ClaimOptions{WorkerID: "w"})
			require.NoError(t, err)
			refused, err := http.Get(service.URL + "/v1/runs/nowhere?ticket=hunter2")
			require.NoError(t, err)
			require.NoError(t, refused.Body.Close())
			tracer.Close()

			raised := receiver.Named("POST /v1/runs")
			require.Len(t, raised, 2)
			first := raised[0]
			require.Equal(t, asked[3:35], first.TraceID)
			require.Equal(t, asked[36:52], first.ParentID)
			require.Equal(t, "00-"+first.TraceID+"-"+first.SpanID+"-01", claim.Resume.Approvals[0].Request.Traceparent)

			resumed := receiver.One(t, "POST /v1/runs/{run_id}/claim")
			require.Equal(t, taken[3:35], resumed.TraceID)
			require.Equal(t, []string{first.ID()}, resumed.Links)
			require.Equal(t, "r", resumed.Attributes["holdpoint.run_id"])

			command := receiver.Named("command CreateRun")[0]
			require.Equal(t, first.SpanID, command.ParentID)
			require.NotEmpty(t, command.Attributes["holdpoint.lane_wait_ms"])
			require.Equal(t, "1", command.Attributes["holdpoint.batch_commands"])
			transactions := map[string]bool{}
			for _, span := range receiver.Named("transaction") {
				if span.ParentID == command.SpanID {
					transactions[span.SpanID] = true
					require.Equal(t, "committed", span.Attributes["holdpoint.result"])
				}
			}
			require.Len(t, transactions, 1)
			sent := ""
			for _, span := range receiver.Named("BATCH") {
				if transactions[span.ParentID] {
					sent += strings.Join(span.Events, "\n")
				}
			}
			require.Equal(t, engine == "postgres", strings.Contains(sent, "INSERT requests"), sent)

			for _, span := range receiver.Spans() {
				require.NotEqual(t, unsampled[3:35], span.TraceID, "%s was not to be traced", span.Name)
			}
			none := receiver.One(t, "GET /v1/runs/{run_id}")
			require.Equal(t, "run_not_found", none.Attributes["error.type"])
			require.Empty(t, none.Status, "a refusal is an answer")
			for _, text := range []string{"secret of the input", "an input", "hunter2", "?ticket", "/v1/runs/nowhere"} {
				require.NotContains(t, receiver.Raw(), text)
			}
		})
	}
}

// A worker that stays attached is linked, too.
func TestAnAttachedResumeIsLinked(t *testing.T) {
	t.Parallel()
	receiver, tracer, c := traced(t)
	ctx := rig.Soon(t)
	run, err := c.CreateRun(in(ctx, asked), client.CreateRunParams{SessionID: "s", RunID: "r", Input: 1, Claim: &api.ClaimOptions{WorkerID: "w"}})
	require.NoError(t, err)
	fence := run.Claim.Lease.Fence
	_, err = c.Suspend(in(ctx, asked), "r", fence, api.Suspension{Hold: true, Approvals: []api.ApprovalRequest{approval("a")}})
	require.NoError(t, err)
	_, err = c.ResolveRunApprovals(ctx, "r", allow("a"))
	require.NoError(t, err)
	_, err = c.AwaitSettled(ctx, "r", fence, "0", 0)
	require.NoError(t, err)
	tracer.Close()
	require.Equal(t, []string{receiver.One(t, "POST /v1/runs/{run_id}/suspend").ID()}, receiver.One(t, "GET /v1/runs/{run_id}/resume").Links)
}

// The answer of a parent's session is linked to the question, whether the child was parked or reads it
// from its mailbox.
func TestTheAnswerOfAParentIsLinked(t *testing.T) {
	t.Parallel()
	receiver, tracer, c := traced(t)
	ctx := rig.Soon(t)
	_, err := c.CreateSession(ctx, client.CreateSessionParams{SessionID: "parent"})
	require.NoError(t, err)
	_, err = c.CreateSession(ctx, client.CreateSessionParams{SessionID: "child", ParentSessionID: "parent"})
	require.NoError(t, err)
	run, err := c.CreateRun(ctx, client.CreateRunParams{SessionID: "child", RunID: "r", Input: 1, Claim: &api.ClaimOptions{WorkerID: "w"}})
	require.NoError(t, err)
	fence := run.Claim.Lease.Fence
	ask := func(id string, options client.AskParentOptions) (traceparent string) {
		question := rig.Question(id)
		question.Traceparent = taken
		reply, err := c.AskParent(in(ctx, asked), "r", fence, question, options)
		require.NoError(t, err)
		again, err := c.AskParent(in(ctx, taken), "r", fence, question, options)
		require.NoError(t, err)
		require.Equal(t, reply.Clarification.RunID, again.Clarification.RunID, "the same call in another trace is the same call")
		traceparent = reply.Clarification.PendingQuestions[0].Traceparent
		require.Equal(t, asked[:35], traceparent[:35], "the question in the parent's session shows it")
		_, err = c.AnswerRunQuestion(in(ctx, unsampled), reply.Clarification.RunID, rig.Choose(id, "left"))
		require.NoError(t, err)
		return traceparent
	}
	first := ask("mail", client.AskParentOptions{})
	var messages []api.MessageView
	rig.Await(t, func() bool {
		messages, err = c.Mailbox(in(ctx, taken), "child")
		require.NoError(t, err)
		return len(messages) > 0
	}, "no answer")
	require.Contains(t, string(messages[0].Payload), `"traceparent":"`+first+`"`)
	require.NoError(t, c.AcknowledgeMessage(ctx, "child", messages[0].MessageID))

	second := ask("parked", client.AskParentOptions{Park: true})
	var claim *api.Claim
	rig.Await(t, func() bool {
		claim, err = c.ClaimRun(in(ctx, taken), "r", api.ClaimOptions{WorkerID: "w"})
		return err == nil
	}, "the answer does not come")
	require.Equal(t, second, claim.Resume.Clarification.Traceparent)
	tracer.Close()
	require.NotEqual(t, first, second)
	var linked []string
	for _, name := range []string{"GET /v1/sessions/{session_id}/mailbox", "POST /v1/runs/{run_id}/claim"} {
		for _, span := range receiver.Named(name) {
			linked = append(linked, span.Links...)
		}
	}
	questions := receiver.Named("POST /v1/runs/{run_id}/clarifications")
	require.Len(t, questions, 4)
	require.Equal(t, []string{questions[0].ID(), questions[2].ID()}, linked)
}

// A service that traces nothing hands on what its callers say, and nothing that they make up.
func TestACallersTraceparentIsKeptWithoutTracing(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	for name, one := range map[string]struct {
		headers []string
		kept    string
	}{
		"none": {nil, ""}, "one": {[]string{asked}, asked}, "two": {[]string{asked, taken}, ""}, "made up": {[]string{"00-<script>"}, ""},
	} {
		body := `{"run_id":"` + strings.ReplaceAll(name, " ", "-") + `","input":1,"suspend":{"questions":[` +
			`{"id":"q","traceparent":"` + taken + `","questions":[{"question":"?"}]}]}}`
		request, err := http.NewRequestWithContext(rig.Soon(t), http.MethodPost, service.URL+"/v1/runs", strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header["Traceparent"] = one.headers
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		answered, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusAccepted, response.StatusCode, string(answered))
		require.Equal(t, one.kept != "", strings.Contains(string(answered), `"traceparent":"`+one.kept+`"`), name)
		require.NotContains(t, string(answered), taken, "a caller's own member is ignored")
		require.Equal(t, one.kept == "", !strings.Contains(string(answered), "traceparent"), name)
	}
}
