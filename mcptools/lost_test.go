package mcptools_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/mcptools"
)

// lostReplies passes calls on and loses the replies to decisions, as a proxy does whose backend ends.
type lostReplies struct{}

func (lostReplies) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil || request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/approvals") {
		return response, err
	}
	_ = response.Body.Close()
	return &http.Response{StatusCode: http.StatusBadGateway, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
}

// A decision whose reply was lost may be on record: nobody is told that nothing was decided.
func TestADecisionWhoseReplyIsLostMayBeRecorded(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	r.options.Client = s.service.Connect(client.WithActor("ada"), client.WithVia("mcp"), client.WithoutMultiplexing(),
		client.WithHTTPClient(&http.Client{Transport: lostReplies{}}), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
	allow := accept(map[string]any{"decision": "allow"})

	task := r.ask(both, "request_approval", deploy, nil)
	handle := r.task(both, "tasks/get", task.TaskID).only(s)
	unknown := r.task(both, "tasks/update", task.TaskID, map[string]any{handle: allow})
	require.Equal(t, -32603, unknown.Error.Code)
	require.Contains(t, unknown.Error.Message, "it is not known whether")
	require.Equal(t, "allowed", r.task(both, "tasks/get", task.TaskID).Result.told(s).Status)

	first := r.ask(forms, "request_approval", deploy, nil)
	again := r.ask(forms, "request_approval", deploy, map[string]any{"requestState": first.RequestState, "inputResponses": map[string]any{first.only(s): allow}})
	require.Equal(t, "allowed", again.told(s).Status)

	ours, theirs := mcp.NewInMemoryTransports()
	served, err := mcptools.NewServer(r.options).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "old"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
	}).Connect(t.Context(), ours, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	require.Equal(t, "allowed", s.told(session, "request_approval", deploy).Status)
	require.NoError(t, session.Close())
	_ = served.Wait()
}
