package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
)

const hello = `"model":"m","messages":[{"role":"user","content":"hello"}]`

// chat is the client's end of a stream.
type chat struct {
	*dialecttest.Stream
	s *service

	session, run string
	// always is the scope of "always" as shown by the last relay.
	always string
}

// chat starts one with further members in its body, and reads the first frame.
func (s *service) chat(t *testing.T, members ...string) *chat {
	t.Helper()
	c := &chat{s: s, Stream: s.Follow(t, http.MethodPost, "/chat", "{"+strings.Join(append([]string{hello}, members...), ",")+"}")}
	require.Equal(t, "text/event-stream", c.Response.Header.Get("Content-Type"))
	first := c.Frame()
	require.Equal(t, "connected", first.Event)
	var connected struct{ Type, SessionID string }
	require.NoError(t, json.Unmarshal([]byte(first.Data), &connected, json.MatchCaseInsensitiveNames(true)))
	c.session = connected.SessionID
	require.JSONEq(t, fmt.Sprintf(`{"type":"connected","sessionId":%q}`, c.session), first.Data)
	var view struct {
		Metadata struct {
			Relay struct {
				RunID string `json:"run_id"`
			} `json:"relay"`
		} `json:"metadata"`
	}
	s.get(t, "/v1/sessions/"+c.session).Into(&view)
	c.run = view.Metadata.Relay.RunID
	return c
}

// tells reads the next frame. It must have this name, its type, the run and the agent of the chat,
// these members and no others.
func (c *chat) tells(name, members string) {
	c.T.Helper()
	c.tellsOf(c.run, "default", "", name, members)
}

// tellsOf is tells for a frame of another agent.
func (c *chat) tellsOf(run, agent, parent, name, members string) {
	c.T.Helper()
	want := fmt.Sprintf(`{"type":%q,"runId":%q,"agentId":%q`, name, run, agent)
	if parent != "" {
		want += fmt.Sprintf(`,"parentId":%q`, parent)
	}
	if members != "" {
		want += "," + members
	}
	got := c.Frame()
	require.Equal(c.T, name, got.Event, "%s", got.Data)
	data := got.Data
	if name == "relay" {
		// The text contains the rule's expiry. Only some tests check it.
		before, always, found := strings.Cut(data, `,"always":`)
		require.True(c.T, found)
		require.NoError(c.T, json.Unmarshal([]byte(strings.TrimSuffix(always, "}")), &c.always))
		data = before + "}"
	}
	require.JSONEq(c.T, want+"}", data)
}

// settles reads the frame that reports a settled prompt and returns the resolution.
func (c *chat) settles(name, handle string) api.Resolution {
	c.T.Helper()
	got := c.Frame()
	require.Equal(c.T, name, got.Event, "%s", got.Data)
	var body struct {
		Type       string         `json:"type"`
		RunID      string         `json:"runId"`
		AgentID    string         `json:"agentId"`
		ParentID   string         `json:"parentId"`
		RelayID    string         `json:"relayId"`
		ID         string         `json:"id"`
		Resolution api.Resolution `json:"resolution"`
	}
	require.NoError(c.T, json.Unmarshal([]byte(got.Data), &body, json.RejectUnknownMembers(true)))
	require.Equal(c.T, handle, body.ID)
	// Clients know their own relay_resolved: it names the relay by relayId, and "approved"
	// grants the tool. No other member is in it, as the check for unknown ones says.
	if name == "relay_resolved" {
		require.Equal(c.T, handle, body.RelayID)
	} else {
		require.Empty(c.T, body.RelayID)
	}
	return body.Resolution
}

// worker runs the chat's run by hand, over /v1.
type worker struct {
	c     *chat
	fence string
	// input is the input of the run.
	input jsontext.Value
}

// work claims the run.
func (c *chat) work() *worker {
	c.T.Helper()
	var claim struct {
		Input jsontext.Value `json:"input"`
		Lease struct {
			Fence string `json:"fence"`
		} `json:"lease"`
	}
	c.s.post(c.T, "/v1/runs/"+c.run+"/claim", `{"worker_id":"w","lease_ms":60000}`).Into(&claim)
	return &worker{c: c, fence: claim.Lease.Fence, input: claim.Input}
}

// started is work, and reads the frame that announces it.
func (c *chat) started() *worker {
	c.T.Helper()
	w := c.work()
	c.tells("harness_start", "")
	return w
}

func (w *worker) call(verb, members string) *reply {
	w.c.T.Helper()
	return w.c.s.post(w.c.T, "/v1/runs/"+w.c.run+"/"+verb, fmt.Sprintf(`{"fence":%q%s}`, w.fence, members))
}

func (w *worker) reports(events ...string) {
	w.c.T.Helper()
	got := w.call("events", `,"events":[`+strings.Join(events, ",")+`]`)
	require.Equal(w.c.T, http.StatusAccepted, got.Status, "%s", got.Text)
}

// raises suspends the attached run and returns the open handles by request id.
func (w *worker) raises(members ...string) map[string]string {
	w.c.T.Helper()
	got := w.call("suspend", `,"hold":true,`+strings.Join(members, ","))
	require.Equal(w.c.T, http.StatusOK, got.Status, "%s", got.Text)
	return w.c.open()
}

// open returns the run's open handles by request id.
func (c *chat) open() map[string]string {
	c.T.Helper()
	var view api.RunView
	c.s.get(c.T, "/v1/runs/"+c.run).Into(&view)
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
	w.c.T.Helper()
	got := w.call("complete", "")
	require.Equal(w.c.T, http.StatusOK, got.Status, "%s", got.Text)
}

// settled returns the decision that the attached worker gets.
func (w *worker) settled(requestID string) api.Resolution {
	w.c.T.Helper()
	var got struct {
		Settled []struct {
			Resolution api.Resolution `json:"resolution"`
		} `json:"settled"`
	}
	w.c.s.get(w.c.T, "/v1/runs/"+w.c.run+"/resume?after=0&fence="+w.fence).Into(&got)
	for i := range got.Settled {
		if got.Settled[i].Resolution.RequestID == requestID {
			return got.Settled[i].Resolution
		}
	}
	require.Fail(w.c.T, "not settled", "%s", requestID)
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
	c.T.Helper()
	c.tells("relay", relayMembers(id, handle, command))
}

func relayMembers(id, handle, command string) string {
	text, _ := json.Marshal(command)
	return fmt.Sprintf(`"kind":"permission","id":%q,"toolCallId":"call-%s","tool":"bash","params":{"command":%s}`, handle, id, text)
}

// denies reads the result of a denied call that bash made; without a reason when it is
// empty.
func (c *chat) denies(id, reason string) {
	c.T.Helper()
	output := `{"status":"denied"}`
	if reason != "" {
		output = fmt.Sprintf(`{"status":"denied","reason":%q}`, reason)
	}
	c.tells("tool_result", fmt.Sprintf(`"id":"call-%s","name":"bash","output":%s`, id, output))
}

// raisesOne raises one approval of a command and reads its relay.
func (w *worker) raisesOne(id, command string) (handle string) {
	w.c.T.Helper()
	handle = w.raises(approvals(bash(id, command)))[id]
	require.NotEmpty(w.c.T, handle)
	w.c.relays(id, handle, command)
	return handle
}
