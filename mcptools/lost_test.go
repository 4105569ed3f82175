package mcptools_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	r := s.through(lostReplies{})
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

	session := s.earlier(r, func() {})
	require.Equal(t, "allowed", s.told(session, "request_approval", deploy).Status)
}

// earlier connects a client of an earlier revision, whose person allows whatever a form shows.
func (s *scene) earlier(r *replica, shown func()) *mcp.ClientSession {
	s.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := mcptools.NewServer(r.options).Connect(s.Context(), theirs, nil)
	require.NoError(s, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "old"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			shown()
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
		},
	}).Connect(s.Context(), ours, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(s, err)
	s.Cleanup(func() {
		require.NoError(s, session.Close())
		_ = served.Wait()
	})
	return session
}

// notTaken answers so many decisions with a status, and does not pass them on.
type notTaken struct {
	status int
	left   atomic.Int32
}

func (n *notTaken) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/approvals") || n.left.Add(-1) < 0 {
		return http.DefaultTransport.RoundTrip(request)
	}
	return &http.Response{StatusCode: n.status, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
}

// through returns a replica whose decisions go through a proxy.
func (s *scene) through(proxy http.RoundTripper, options ...client.Option) *replica {
	r := s.replica(mcptools.Options{})
	r.options.Client = s.service.Connect(append([]client.Option{
		client.WithActor("ada"), client.WithVia("mcp"), client.WithoutMultiplexing(),
		client.WithHTTPClient(&http.Client{Transport: proxy}), client.WithRetry(client.RetryPolicy{MaxAttempts: 1}),
	}, options...)...)
	return r
}

// A service that takes no more calls has not recorded the decision, and the person at the client is told so.
func TestADecisionOverTheRateIsNotRecorded(t *testing.T) {
	s := newScene(t)
	limited := &notTaken{status: http.StatusTooManyRequests}
	limited.left.Store(3)
	r := s.through(limited)
	allow := accept(map[string]any{"decision": "allow"})

	task := r.ask(both, "request_approval", deploy, nil)
	handle := r.task(both, "tasks/get", task.TaskID).only(s)
	refused := r.task(both, "tasks/update", task.TaskID, map[string]any{handle: allow})
	require.Equal(t, -32602, refused.Error.Code)
	require.Contains(t, refused.Error.Message, "nothing was decided")
	require.Nil(t, r.task(both, "tasks/update", task.TaskID, map[string]any{handle: accept(map[string]any{})}).Error)

	first := r.ask(forms, "request_approval", deploy, nil)
	again := r.ask(forms, "request_approval", deploy, map[string]any{"requestState": first.RequestState, "inputResponses": map[string]any{first.only(s): allow}})
	require.Contains(t, again.Content[0].Text, "nothing was decided")

	require.Contains(t, s.refused(s.earlier(r, func() {}), "request_approval", deploy), "nothing was decided")
	require.Negative(t, limited.left.Add(-1), "each of them was sent")
}

// lostThenLimited passes the first decision on and loses its reply, and then takes no more calls.
type lostThenLimited struct{ sent atomic.Int32 }

func (l *lostThenLimited) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/approvals") || l.sent.Add(1) == 1 {
		return lostReplies{}.RoundTrip(request)
	}
	return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
}

// A decision that the service refused for its rate only when it was repeated may be on record.
func TestADecisionThatIsLostBeforeItsRepeatsAreRefusedMayBeRecorded(t *testing.T) {
	s := newScene(t)
	r := s.through(&lostThenLimited{}, client.WithRetry(client.RetryPolicy{MaxAttempts: 2, BaseDelay: time.Millisecond}))
	task := r.ask(both, "request_approval", deploy, nil)
	handle := r.task(both, "tasks/get", task.TaskID).only(s)
	unknown := r.task(both, "tasks/update", task.TaskID, map[string]any{handle: accept(map[string]any{"decision": "allow"})})
	require.Equal(t, -32603, unknown.Error.Code)
	require.Contains(t, unknown.Error.Message, "it is not known whether")
	require.Equal(t, "allowed", r.task(both, "tasks/get", task.TaskID).Result.told(s).Status)
}

// awayForReads is an outage. It begins with the first decision, and ends after so many reads.
type awayForReads struct {
	began atomic.Bool
	reads atomic.Int32
}

func (o *awayForReads) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, "/approvals") {
		o.began.Store(true)
	}
	if !o.began.Load() || o.reads.Load() <= 0 {
		return http.DefaultTransport.RoundTrip(request)
	}
	if request.Method == http.MethodGet {
		o.reads.Add(-1)
	}
	return &http.Response{StatusCode: http.StatusBadGateway, Header: http.Header{}, Body: http.NoBody, Request: request}, nil
}

// A dialog whose decision did not reach the service is shown again: its call may wait without a limit, and its person
// believes that it was decided. It is shown once the service replies, because a client may answer by itself.
func TestADialogIsShownAgainAfterAnOutage(t *testing.T) {
	s := newScene(t)
	away := &awayForReads{}
	away.reads.Store(2)
	var shown atomic.Int32
	session := s.earlier(s.through(away), func() { shown.Add(1) })
	require.Equal(t, "allowed", s.told(session, "request_approval", deploy).Status)
	require.EqualValues(t, 2, shown.Load())
}
