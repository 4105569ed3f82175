package hermes_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// reply is an answer of the service.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	text   string
}

type option func(*http.Request)

func header(name, value string) option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func (s *service) do(t *testing.T, method, path, body string, options ...option) *reply {
	t.Helper()
	var reader io.Reader = http.NoBody
	if body != "" {
		reader = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+path, reader)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	for _, apply := range options {
		apply(request)
	}
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return &reply{t: t, status: response.StatusCode, header: response.Header, text: string(text)}
}

func (s *service) get(t *testing.T, path string, options ...option) *reply {
	t.Helper()
	return s.do(t, http.MethodGet, path, "", options...)
}

func (s *service) post(t *testing.T, path, body string, options ...option) *reply {
	t.Helper()
	return s.do(t, http.MethodPost, path, body, options...)
}

// is checks the status and the whole body, byte for byte.
func (r *reply) is(status int, body string) {
	r.t.Helper()
	require.Equal(r.t, body, r.text)
	require.Equal(r.t, status, r.status)
	require.Equal(r.t, "application/json; charset=utf-8", r.header.Get("Content-Type"))
	require.Equal(r.t, "no-store", r.header.Get("Cache-Control"))
}

// ok checks the status of a call to /v1 and decodes its body.
func (r *reply) ok(into any) {
	r.t.Helper()
	require.Less(r.t, r.status, 300, "%s", r.text)
	if into != nil {
		require.NoError(r.t, json.Unmarshal([]byte(r.text), into))
	}
}

// respond answers an approval; members go behind the session's id.
func (s *service) respond(t *testing.T, session, members string, options ...option) *reply {
	t.Helper()
	return s.post(t, "/api/approval/respond", fmt.Sprintf(`{"session_id":%q,%s}`, session, members), options...)
}

// clarify answers a clarification.
func (s *service) clarify(t *testing.T, session, members string, options ...option) *reply {
	t.Helper()
	return s.post(t, "/api/clarify/respond", fmt.Sprintf(`{"session_id":%q,%s}`, session, members), options...)
}

// The replies of the tables, as they stand on the wire.
func chose(choice string) string {
	return fmt.Sprintf("{\n  \"ok\": true,\n  \"choice\": %q\n}", choice)
}

func cleared(choice string) string {
	return fmt.Sprintf("{\n  \"ok\": true,\n  \"choice\": %q,\n  \"stale_cleared\": true\n}", choice)
}

func other(choice string) string {
	return fmt.Sprintf("{\n  \"ok\": false,\n  \"choice\": %q\n}", choice)
}

func failed(text string) string { return fmt.Sprintf("{\n  \"error\": %q\n}", text) }

func took(response string) string {
	return fmt.Sprintf("{\n  \"ok\": true,\n  \"response\": %q\n}", response)
}

const stale = "{\n  \"ok\": false,\n  \"error\": \"Clarification prompt expired or not found. The agent may have already proceeded.\",\n  \"stale\": true\n}"

const (
	noApproval      = "{\n  \"pending\": null,\n  \"pending_count\": 0\n}"
	noClarification = "{\n  \"pending\": null\n}"
)

// run is a run that waits, as /v1 shows it.
type run struct {
	SessionID        string                    `json:"session_id"`
	RunID            string                    `json:"run_id"`
	Status           api.Status                `json:"status"`
	PendingApprovals []api.ApprovalRequest     `json:"pending_approvals"`
	PendingQuestions []api.UserQuestionRequest `json:"pending_questions"`
	Resume           struct {
		Approvals []struct {
			Request    api.ApprovalRequest `json:"request"`
			Resolution api.Resolution      `json:"resolution"`
		} `json:"approvals"`
		Questions []struct {
			Request    api.UserQuestionRequest `json:"request"`
			Resolution api.AnswerForWorker     `json:"resolution"`
		} `json:"questions"`
	} `json:"resume"`
}

// waiting makes a run that waits for what the suspension's members say, in a session
// of its own.
func (s *service) waiting(t *testing.T, members string) run {
	t.Helper()
	return s.waitingIn(t, runs.NewID("session"), members)
}

func (s *service) waitingIn(t *testing.T, session, members string) run {
	t.Helper()
	var made run
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","suspend":{%s}}`, session, members)).ok(&made)
	return made
}

// attached is a run whose worker stays.
type attached struct {
	run
	fence string
}

func (s *service) attached(t *testing.T) attached {
	t.Helper()
	var made struct {
		Run   run `json:"run"`
		Lease struct {
			Fence string `json:"fence"`
		} `json:"lease"`
	}
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","claim":{"worker_id":"w","lease_ms":60000}}`, runs.NewID("session"))).ok(&made)
	return attached{made.Run, made.Lease.Fence}
}

// raise asks for more, and returns the run as it is then.
func (s *service) raise(t *testing.T, a attached, members string) run {
	t.Helper()
	var raised struct {
		Run run `json:"run"`
	}
	s.post(t, "/v1/runs/"+a.RunID+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,%s}`, a.fence, members)).ok(&raised)
	return raised.Run
}

// asked is a question that a child's run asks the session of its parent.
type asked struct {
	run
	child string // session
}

func (s *service) askedByChild(t *testing.T) asked {
	t.Helper()
	parent, child := runs.NewID("session"), runs.NewID("session")
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, parent)).ok(nil)
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).ok(nil)
	var claim struct {
		Run   run `json:"run"`
		Lease struct {
			Fence string `json:"fence"`
		} `json:"lease"`
	}
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w"}}`, child)).ok(&claim)
	var made struct {
		Clarification run `json:"clarification"`
	}
	s.post(t, "/v1/runs/"+claim.Run.RunID+"/clarifications", fmt.Sprintf(`{"fence":%q,"request":%s}`, claim.Lease.Fence, free("q1"))).ok(&made)
	return asked{made.Clarification, child}
}

// now returns the run as it is now.
func (s *service) now(t *testing.T, of run) run {
	t.Helper()
	var now run
	s.get(t, "/v1/runs/"+of.RunID).ok(&now)
	return now
}

// handle returns the handle of an open request.
func (r *run) handle(t *testing.T, id string) string {
	t.Helper()
	for _, one := range r.PendingApprovals {
		if one.ID == id {
			return one.Handle
		}
	}
	for _, one := range r.PendingQuestions {
		if one.ID == id {
			return one.Handle
		}
	}
	require.Fail(t, "not open", "%s of %+v", id, r)
	return ""
}

func approval(id string, members ...string) string {
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s","tool_name":"bash","input":{"command":"make %s"}%s}`,
		id, id, id, strings.Join(append([]string{""}, members...), ","))
}

func approvals(ids ...string) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = approval(id)
	}
	return `"approvals":[` + strings.Join(all, ",") + `]`
}

// free is a question without options.
func free(id string, members ...string) string {
	return fmt.Sprintf(`{"id":%q,"tool_call_id":"call-%s"%s,"questions":[{"id":"q","header":"","question":"Why %s?","multi_select":false,"options":[]}]}`,
		id, id, strings.Join(append([]string{""}, members...), ","), id)
}

func questions(list ...string) string { return `"questions":[` + strings.Join(list, ",") + `]` }

func path(route, session string) string { return route + "?session_id=" + url.QueryEscape(session) }

func (s *service) pendingApproval(t *testing.T, session string) *reply {
	t.Helper()
	return s.get(t, path("/api/approval/pending", session))
}

func (s *service) pendingClarification(t *testing.T, session string) *reply {
	t.Helper()
	return s.get(t, path("/api/clarify/pending", session))
}

// head returns the id of the first in the queue, "" when there is none.
func (r *reply) head() string {
	r.t.Helper()
	return headOf(r.t, r.text)
}

func headOf(t *testing.T, text string) string {
	t.Helper()
	var shown struct {
		Pending struct {
			ApprovalID string `json:"approval_id"`
			ClarifyID  string `json:"clarify_id"`
		} `json:"pending"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &shown), "%s", text)
	return shown.Pending.ApprovalID + shown.Pending.ClarifyID
}

// reader reads a stream.
type reader struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Reader
}

// follow opens a stream, which ends with the test.
func (s *service) follow(t *testing.T, route, session string) *reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path(route, session), http.NoBody)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	return &reader{t: t, response: response, lines: bufio.NewReader(response.Body)}
}

// next returns the lines of the next frame, or comment, without the empty one.
func (r *reader) next() string {
	r.t.Helper()
	watchdog := time.AfterFunc(30*time.Second, func() { _ = r.response.Body.Close() })
	defer watchdog.Stop()
	var lines []string
	for {
		line, err := r.lines.ReadString('\n')
		require.NoError(r.t, err, "the stream ended or hangs")
		if line == "\n" {
			return strings.Join(lines, "\n")
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
}

// frame returns the name and the data of the next frame that is no comment.
func (r *reader) frame() (name, data string) {
	r.t.Helper()
	text := r.next()
	for comments := 0; text == ": keepalive"; comments++ {
		require.Less(r.t, comments, 100, "no frame comes")
		text = r.next()
	}
	first, second, two := strings.Cut(text, "\n")
	require.True(r.t, two && strings.HasPrefix(first, "event: ") && strings.HasPrefix(second, "data: "), "%q", text)
	return strings.TrimPrefix(first, "event: "), strings.TrimPrefix(second, "data: ")
}

// shows checks the next frame: its name, the first of the queue, and its length.
func (r *reader) shows(name, id string, count int) {
	r.t.Helper()
	got, data := r.frame()
	var shown struct {
		PendingCount int `json:"pending_count"`
	}
	require.NoError(r.t, json.Unmarshal([]byte(data), &shown), "%s", data)
	require.Equal(r.t, []any{name, id, count}, []any{got, headOf(r.t, data), shown.PendingCount}, "%s", data)
	if count == 0 {
		require.Equal(r.t, `{"pending":null,"pending_count":0}`, data)
	}
}
