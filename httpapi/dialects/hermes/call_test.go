package hermes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/runs"
)

// reply is a reply of the dialect, or of /v1.
type reply struct{ *dialecttest.Reply }

func (s *service) get(t *testing.T, path string, options ...dialecttest.Option) *reply {
	t.Helper()
	return &reply{s.Get(t, path, options...)}
}

func (s *service) post(t *testing.T, path, body string, options ...dialecttest.Option) *reply {
	t.Helper()
	return &reply{s.Post(t, path, body, options...)}
}

// is checks the status, the headers that every reply has, and the whole body.
func (r *reply) is(status int, body string) {
	r.T.Helper()
	r.Is(status, body)
	require.Equal(r.T, "application/json; charset=utf-8", r.Header.Get("Content-Type"))
	require.Equal(r.T, "no-store", r.Header.Get("Cache-Control"))
}

// respond answers an approval; members go behind the session's id.
func (s *service) respond(t *testing.T, session, members string, options ...dialecttest.Option) *reply {
	t.Helper()
	return s.post(t, "/api/approval/respond", fmt.Sprintf(`{"session_id":%q,%s}`, session, members), options...)
}

// clarify answers a clarification.
func (s *service) clarify(t *testing.T, session, members string, options ...dialecttest.Option) *reply {
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

// waiting creates a run in its own session that waits for the suspension's members.
func (s *service) waiting(t *testing.T, members string) run {
	t.Helper()
	return s.waitingIn(t, runs.NewID("session"), members)
}

func (s *service) waitingIn(t *testing.T, session, members string) run {
	t.Helper()
	var made run
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","suspend":{%s}}`, session, members)).Into(&made)
	return made
}

// attached is a run whose worker stays attached.
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
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":"go","claim":{"worker_id":"w","lease_ms":60000}}`, runs.NewID("session"))).Into(&made)
	return attached{made.Run, made.Lease.Fence}
}

// raise raises more requests and returns the run.
func (s *service) raise(t *testing.T, a attached, members string) run {
	t.Helper()
	var raised struct {
		Run run `json:"run"`
	}
	s.post(t, "/v1/runs/"+a.RunID+"/suspend", fmt.Sprintf(`{"fence":%q,"hold":true,%s}`, a.fence, members)).Into(&raised)
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
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q}`, parent)).Into(nil)
	s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, parent)).Into(nil)
	var claim struct {
		Run   run `json:"run"`
		Lease struct {
			Fence string `json:"fence"`
		} `json:"lease"`
	}
	s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w"}}`, child)).Into(&claim)
	var made struct {
		Clarification run `json:"clarification"`
	}
	s.post(t, "/v1/runs/"+claim.Run.RunID+"/clarifications", fmt.Sprintf(`{"fence":%q,"request":%s}`, claim.Lease.Fence, free("q1"))).Into(&made)
	return asked{made.Clarification, child}
}

// now returns the run's current state.
func (s *service) now(t *testing.T, of run) run {
	t.Helper()
	var now run
	s.get(t, "/v1/runs/"+of.RunID).Into(&now)
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
	r.T.Helper()
	return headOf(r.T, r.Text)
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
type reader struct{ *dialecttest.Stream }

// follow opens a stream, which ends with the test.
func (s *service) follow(t *testing.T, route, session string) *reader {
	t.Helper()
	return &reader{s.Follow(t, http.MethodGet, path(route, session), "")}
}

// next returns the lines of the next frame, or comment, without the empty one.
func (r *reader) next() string {
	r.T.Helper()
	return r.Next().Text
}

// shows checks the next frame: its name, the first of the queue, and its length.
func (r *reader) shows(name, id string, count int) {
	r.T.Helper()
	frame := r.Frame()
	got, data := frame.Event, frame.Data
	require.Equal(r.T, "event: "+got+"\ndata: "+data, frame.Text)
	var shown struct {
		PendingCount int `json:"pending_count"`
	}
	require.NoError(r.T, json.Unmarshal([]byte(data), &shown), "%s", data)
	require.Equal(r.T, []any{name, id, count}, []any{got, headOf(r.T, data), shown.PendingCount}, "%s", data)
	if count == 0 {
		require.Equal(r.T, `{"pending":null,"pending_count":0}`, data)
	}
}
