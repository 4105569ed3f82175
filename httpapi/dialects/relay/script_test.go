package relay_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
)

const hello = `"model":"m","messages":[{"role":"user","content":"hello"}]`

// frame is one frame of a stream; comment is set for one that is no event.
type frame struct{ name, data, comment string }

// chat is the client's end of a stream.
type chat struct {
	t        *testing.T
	s        *service
	response *http.Response
	lines    *bufio.Reader
	leave    context.CancelFunc

	session, run string
	// always is what the last relay said that "always" would allow.
	always string
}

// chat starts one with further members in its body, and reads the first frame.
func (s *service) chat(t *testing.T, members ...string) *chat {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	body := "{" + strings.Join(append([]string{hello}, members...), ",") + "}"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server.URL+"/chat", strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	c := &chat{t: t, s: s, response: response, lines: bufio.NewReader(response.Body), leave: cancel}
	t.Cleanup(func() {
		cancel()
		_ = response.Body.Close()
	})
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	first := c.event()
	require.Equal(t, "connected", first.name)
	var connected struct{ Type, SessionID string }
	require.NoError(t, json.Unmarshal([]byte(first.data), &connected, json.MatchCaseInsensitiveNames(true)))
	c.session = connected.SessionID
	require.JSONEq(t, fmt.Sprintf(`{"type":"connected","sessionId":%q}`, c.session), first.data)
	var view struct {
		Metadata struct {
			Relay struct {
				RunID string `json:"run_id"`
			} `json:"relay"`
		} `json:"metadata"`
	}
	s.get(t, "/v1/sessions/"+c.session).into(&view)
	c.run = view.Metadata.Relay.RunID
	return c
}

// read returns the next frame, or the error that ended the stream.
func (c *chat) read() (frame, error) {
	var one frame
	for {
		line, err := c.lines.ReadString('\n')
		if err != nil {
			return one, err
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); {
		case line == "\n":
			return one, nil
		case name == "event":
			one.name = value
		case name == "data":
			one.data = value
		default:
			one.comment = strings.TrimSuffix(line, "\n")
		}
	}
}

func (c *chat) next() frame {
	c.t.Helper()
	watchdog := time.AfterFunc(30*time.Second, c.leave)
	defer watchdog.Stop()
	one, err := c.read()
	require.NoError(c.t, err, "the stream ended or hangs")
	return one
}

// event returns the next frame that is no comment.
func (c *chat) event() frame {
	c.t.Helper()
	for {
		if one := c.next(); one.comment == "" {
			return one
		}
	}
}

// tells reads the next frame, which must have this name and, besides its type, the
// run and the agent of the chat, these members and no other.
func (c *chat) tells(name, members string) {
	c.t.Helper()
	c.tellsOf(c.run, "default", "", name, members)
}

// tellsOf is tells for a frame of another agent.
func (c *chat) tellsOf(run, agent, parent, name, members string) {
	c.t.Helper()
	want := fmt.Sprintf(`{"type":%q,"runId":%q,"agentId":%q`, name, run, agent)
	if parent != "" {
		want += fmt.Sprintf(`,"parentId":%q`, parent)
	}
	if members != "" {
		want += "," + members
	}
	got := c.event()
	require.Equal(c.t, name, got.name, "%s", got.data)
	data := got.data
	if name == "relay" {
		// The text tells the moment at which the rule would end; it is looked at by those
		// who care.
		before, always, found := strings.Cut(data, `,"always":`)
		require.True(c.t, found)
		require.NoError(c.t, json.Unmarshal([]byte(strings.TrimSuffix(always, "}")), &c.always))
		data = before + "}"
	}
	require.JSONEq(c.t, want+"}", data)
}

// settles reads the frame that tells that a prompt is settled, and returns what was
// recorded.
func (c *chat) settles(name, handle string) api.Resolution {
	c.t.Helper()
	got := c.event()
	require.Equal(c.t, name, got.name, "%s", got.data)
	var body struct {
		Type       string         `json:"type"`
		RunID      string         `json:"runId"`
		AgentID    string         `json:"agentId"`
		ParentID   string         `json:"parentId"`
		ID         string         `json:"id"`
		Resolution api.Resolution `json:"resolution"`
	}
	require.NoError(c.t, json.Unmarshal([]byte(got.data), &body, json.RejectUnknownMembers(true)))
	require.Equal(c.t, handle, body.ID)
	return body.Resolution
}

// ends checks that the stream is over.
func (c *chat) ends() {
	c.t.Helper()
	watchdog := time.AfterFunc(30*time.Second, c.leave)
	defer watchdog.Stop()
	one, err := c.read()
	require.ErrorContains(c.t, err, "EOF", "%v", one)
	require.Zero(c.t, one)
}

// worker runs the chat's run by hand, over /v1.
type worker struct {
	c     *chat
	fence string
	// input is what the run was made with.
	input jsontext.Value
}

// work claims the run.
func (c *chat) work() *worker {
	c.t.Helper()
	var claim struct {
		Input jsontext.Value `json:"input"`
		Lease struct {
			Fence string `json:"fence"`
		} `json:"lease"`
	}
	c.s.post(c.t, "/v1/runs/"+c.run+"/claim", `{"worker_id":"w","lease_ms":60000}`).into(&claim)
	return &worker{c: c, fence: claim.Lease.Fence, input: claim.Input}
}

// started is work, and reads the frame that tells of it.
func (c *chat) started() *worker {
	c.t.Helper()
	w := c.work()
	c.tells("harness_start", "")
	return w
}

func (w *worker) call(verb, members string) *reply {
	w.c.t.Helper()
	return w.c.s.post(w.c.t, "/v1/runs/"+w.c.run+"/"+verb, fmt.Sprintf(`{"fence":%q%s}`, w.fence, members))
}

func (w *worker) reports(events ...string) {
	w.c.t.Helper()
	got := w.call("events", `,"events":[`+strings.Join(events, ",")+`]`)
	require.Equal(w.c.t, http.StatusAccepted, got.status, "%s", got.text)
}

// raises suspends the run, attached, and returns the handles of what is open of it, by
// request id.
func (w *worker) raises(members ...string) map[string]string {
	w.c.t.Helper()
	got := w.call("suspend", `,"hold":true,`+strings.Join(members, ","))
	require.Equal(w.c.t, http.StatusOK, got.status, "%s", got.text)
	return w.c.open()
}

// open returns the handles of what is open of the run, by request id.
func (c *chat) open() map[string]string {
	c.t.Helper()
	var view api.RunView
	c.s.get(c.t, "/v1/runs/"+c.run).into(&view)
	handles := map[string]string{}
	for i := range view.PendingApprovals {
		handles[view.PendingApprovals[i].ID] = view.PendingApprovals[i].Handle
	}
	for i := range view.PendingQuestions {
		handles[view.PendingQuestions[i].ID] = view.PendingQuestions[i].Handle
	}
	return handles
}

func (w *worker) completes() {
	w.c.t.Helper()
	got := w.call("complete", "")
	require.Equal(w.c.t, http.StatusOK, got.status, "%s", got.text)
}

// settled returns what the attached worker is told of a request.
func (w *worker) settled(requestID string) api.Resolution {
	w.c.t.Helper()
	var got struct {
		Settled []struct {
			Resolution api.Resolution `json:"resolution"`
		} `json:"settled"`
	}
	w.c.s.get(w.c.t, "/v1/runs/"+w.c.run+"/resume?after=0&fence="+w.fence).into(&got)
	for i := range got.Settled {
		if got.Settled[i].Resolution.RequestID == requestID {
			return got.Settled[i].Resolution
		}
	}
	require.Fail(w.c.t, "not settled", "%s", requestID)
	return api.Resolution{}
}

// bash is an approval of a command as JSON; further members follow.
func bash(id, command string, members ...string) string {
	text, _ := json.Marshal(command)
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s","tool_name":"bash","input":{"command":%s}%s}`,
		id, id, text, strings.Join(append([]string{""}, members...), ","))
}

func approvals(list ...string) string { return `"approvals":[` + strings.Join(list, ",") + `]` }

// relays reads the relay of an approval that bash made.
func (c *chat) relays(id, handle, command string) {
	c.t.Helper()
	c.tells("relay", relayMembers(id, handle, command))
}

func relayMembers(id, handle, command string) string {
	text, _ := json.Marshal(command)
	return fmt.Sprintf(`"kind":"permission","id":%q,"toolCallId":"call-%s","tool":"bash","params":{"command":%s}`, handle, id, text)
}

// denies reads the result of a denied call that bash made; without a reason when it is
// empty.
func (c *chat) denies(id, reason string) {
	c.t.Helper()
	output := `{"status":"denied"}`
	if reason != "" {
		output = fmt.Sprintf(`{"status":"denied","reason":%q}`, reason)
	}
	c.tells("tool_result", fmt.Sprintf(`"id":"call-%s","name":"bash","output":%s`, id, output))
}

// raisesOne raises one approval of a command and reads its relay.
func (w *worker) raisesOne(id, command string) (handle string) {
	w.c.t.Helper()
	handle = w.raises(approvals(bash(id, command)))[id]
	require.NotEmpty(w.c.t, handle)
	w.c.relays(id, handle, command)
	return handle
}
