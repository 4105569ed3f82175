package kheish_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Wrap(m)) }

// cli makes the same calls as Kheish's command line and decodes the replies with its types.
type cli struct {
	*dialecttest.Service
	t *testing.T
}

// call returns a reply that fits T, or the code of the problem that it is.
func call[T any](c *cli, method, path, body string, options ...dialecttest.Option) (value any, code string) {
	c.t.Helper()
	reply := c.Do(c.t, method, "/kheish"+path, body, options...)
	if reply.Status >= 300 {
		require.NoError(c.t, fits(reply.Body, reflect.TypeFor[problem](), "problem"), reply.Text)
		return nil, reply.TextAt("code")
	}
	require.NoError(c.t, fits(reply.Body, reflect.TypeFor[T](), reflect.TypeFor[T]().Name()), "%s %s: %s", method, path, reply.Text)
	return reply.Body, ""
}

func get[T any](c *cli, path string) (any, string) {
	c.t.Helper()
	return call[T](c, http.MethodGet, path, "")
}

func post[T any](c *cli, path, body string, key string) (any, string) {
	c.t.Helper()
	if key == "" {
		return call[T](c, http.MethodPost, path, body)
	}
	return call[T](c, http.MethodPost, path, body, dialecttest.Header("Idempotency-Key", key))
}

func text(value any, path ...any) string {
	found, _ := dialecttest.At(value, path...).(string)
	return found
}

func list(value any, path ...any) []any {
	found, _ := dialecttest.At(value, path...).([]any)
	return found
}

// pending is an approval with its session and run, as "approvals list" prints it.
type pending struct{ session, run, request string }

func (c *cli) approvalsList(session string) []pending {
	c.t.Helper()
	sessions := []string{session}
	if session == "" {
		sessions = nil
		all, code := get[[]sessionSummary](c, "/v1/sessions")
		require.Empty(c.t, code)
		for _, one := range all.([]any) {
			sessions = append(sessions, text(one, "session_id"))
		}
	}
	var found []pending
	for _, id := range sessions {
		runs, code := get[[]runView](c, "/v1/runs?session_id="+id)
		require.Empty(c.t, code)
		i := slices.IndexFunc(runs.([]any), func(run any) bool { return text(run, "status") == "waiting_for_approval" })
		if i < 0 {
			continue
		}
		view, code := get[sessionView](c, "/v1/sessions/"+id)
		require.Empty(c.t, code)
		for _, request := range list(view, "snapshot", "pending_approvals") {
			found = append(found, pending{id, text(runs, i, "run_id"), text(request, "id")})
		}
	}
	return found
}

// resolve is "approvals allow" and "deny", and "sessions approve" and "deny".
func (c *cli) resolve(session, request, members, key string) (any, string) {
	c.t.Helper()
	path := "/v1/sessions/" + session + "/approval-runs"
	for _, one := range c.approvalsList(session) {
		if one.request == request {
			path = "/v1/runs/" + one.run + "/approvals"
		}
	}
	return post[runView](c, path, `{"resolutions":[{"request_id":"`+request+`",`+members+`}]}`, key)
}

// resolveAll is "approvals allow-all" and "deny-all".
func (c *cli) resolveAll(members, key string) (resolved int, runs []string, code string) {
	c.t.Helper()
	batches := map[string][]string{}
	for _, one := range c.approvalsList("") {
		batches[one.run] = append(batches[one.run], `{"request_id":"`+one.request+`",`+members+`}`)
		resolved++
	}
	for run, resolutions := range batches {
		view, code := post[runView](c, "/v1/runs/"+run+"/approvals", `{"resolutions":[`+strings.Join(resolutions, ",")+`]}`, key)
		if code != "" {
			return resolved, runs, code
		}
		runs = append(runs, text(view, "run_id"))
	}
	return resolved, runs, ""
}

// waiting creates a session whose run waits.
func (c *cli) waiting(session, suspend string) (run string) {
	c.t.Helper()
	return c.Post(c.t, "/v1/runs", `{"session_id":"`+session+`","input":"go","suspend":`+suspend+`}`).Want(http.StatusAccepted).TextAt("run_id")
}

const (
	twoApprovals = `{"approvals":[{"id":"a1","tool_call_id":"c1","tool_name":"bash","input":{"command":"ls"}},
		{"id":"a2","tool_call_id":"c2","tool_name":"bash","input":null,"scope":"tool","reason":"shell"}]}`
	oneQuestion = `{"questions":[{"id":"q1","tool_call_id":"c1","questions":[{"id":"route","question":"Which?",
		"options":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}]}]}`
)

func serveCLI(t *testing.T) *cli {
	t.Helper()
	s := dialecttest.Serve(t, dialecttest.SQLite(t), nil, func(o *httpapi.Options) { o.KeepAlive = 20 * time.Millisecond })
	return &cli{s, t}
}

func TestApprovalsCommands(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	require.Empty(t, c.approvalsList(""))
	first, second := c.waiting("one", twoApprovals), c.waiting("two", twoApprovals)
	c.waiting("asks", oneQuestion)
	c.waiting("over", oneQuestion)
	c.Post(t, "/v1/sessions/over/end", "").Want(http.StatusOK)
	require.ElementsMatch(t, []pending{{"one", first, "a1"}, {"one", first, "a2"}, {"two", second, "a1"}, {"two", second, "a2"}}, c.approvalsList(""),
		"sessions that wait for an answer or are over are in the list")

	run, code := c.resolve("one", "a1", `"behavior":"allow","updated_input":{"command":"ls -l"},"justification":"fine"`, "k1")
	require.Empty(t, code)
	require.Equal(t, "waiting_for_approval", text(run, "status"))
	_, code = c.resolve("one", "a1", `"behavior":"allow"`, "")
	require.Equal(t, "approval_request_not_pending", code)
	_, code = c.resolve("one", "nobody", `"behavior":"allow"`, "")
	require.Equal(t, "approval_request_not_pending", code)
	_, code = c.resolve("nobody", "a1", `"behavior":"allow"`, "")
	require.Equal(t, "session_not_found", code)
	run, code = c.resolve("one", "a2", `"behavior":"deny","reason":"no"`, "")
	require.Empty(t, code)
	require.Equal(t, "running", text(run, "status"))

	// Decided meanwhile: a late decision on the session's route returns the recorded one.
	late := c.Post(t, "/kheish/v1/sessions/one/approval-runs", `{"resolutions":[{"request_id":"a1","behavior":"allow"}]}`)
	require.Equal(t, http.StatusConflict, late.Status)
	require.Equal(t, "allowed", late.At("recorded_decision", "outcome"))

	resolved, runs, code := c.resolveAll(`"behavior":"allow"`, "k2")
	require.Empty(t, code)
	require.Equal(t, 2, resolved)
	require.Equal(t, []string{second}, runs)
	require.Empty(t, c.approvalsList(""))
}

func TestQuestionsCommands(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	run, other := c.waiting("one", oneQuestion), c.waiting("two", oneQuestion)
	for _, path := range []string{"/v1/questions", "/v1/questions?session_id=one", "/v1/sessions/one/questions"} {
		found, code := get[[]pendingQuestion](c, path)
		require.Empty(t, code)
		require.Equal(t, run, text(found, 0, "run_id"))
	}
	paged, code := get[page[pendingQuestion]](c, "/v1/questions?page=true&limit=1")
	require.Empty(t, code)
	require.NotEmpty(t, text(paged, "pagination", "next_cursor"))

	_, code = get[runView](c, "/v1/runs/"+run)
	require.Empty(t, code)
	answered := `{"resolution":{"request_id":"q1","answers":[{"question_id":"route","selected_option_ids":["a"]}],"declined":false}}`
	_, code = post[runView](c, "/v1/runs/"+run+"/questions", strings.Replace(answered, `"a"`, `"c"`, 1), "")
	require.Equal(t, "question_option_not_found", code)
	for range 2 {
		view, code := post[runView](c, "/v1/runs/"+run+"/questions", answered, "k1")
		require.Empty(t, code)
		require.Equal(t, "running", text(view, "status"))
	}
	_, code = post[runView](c, "/v1/runs/"+run+"/questions", answered, "")
	require.Equal(t, "question_state_conflict", code)

	cancel := "/v1/runs/" + other + "/questions/q1/cancel"
	_, code = post[runView](c, "/v1/runs/"+other+"/questions/nothing/cancel", `{}`, "")
	require.Equal(t, "question_request_mismatch", code)
	for range 2 {
		view, code := post[runView](c, cancel, `{"justification":"not now"}`, "k2")
		require.Empty(t, code)
		require.Equal(t, "cancelled", text(view, "status"))
	}
	_, code = post[runView](c, cancel, `{}`, "")
	require.Equal(t, "question_state_conflict", code)
}

func TestRunsAndSessionsCommands(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	_, code := post[sessionView](c, "/v1/sessions", `{"session_id":"one","thread_id":null,"persona_id":null}`, "")
	require.Empty(t, code)
	_, code = get[runtimeSettings](c, "/v1/runtime")
	require.Empty(t, code)
	can, code := get[capabilities](c, "/v1/capabilities")
	require.Empty(t, code)
	require.Equal(t, true, dialecttest.At(can, "session_run_idempotency"))
	input := `{"source_plugin":null,"source_kind":null,"actor_id":null,"content":"hello","generation":null,"metadata":null,"reply_address":null}`
	made, code := post[runView](c, "/v1/sessions/one/runs", input, "k1")
	require.Empty(t, code)
	again, code := post[runView](c, "/v1/sessions/one/runs", input, "k1")
	require.Empty(t, code)
	require.Equal(t, text(made, "run_id"), text(again, "run_id"))
	run := text(made, "run_id")
	_, code = post[runView](c, "/v1/sessions/one/runs", strings.Replace(input, "hello", "other", 1), "k1")
	require.Equal(t, "idempotency_conflict", code)

	// A worker of /v1 uses its whole contract, including features unknown to the clients.
	fence := c.Post(t, "/v1/runs/"+run+"/claim", `{"worker_id":"w"}`).Want(http.StatusOK).TextAt("lease", "fence")
	c.Post(t, "/v1/runs/"+run+"/events", `{"fence":"`+fence+`","events":[{"type":"delta","text":"h"},
		{"type":"output","content":"hi","parts":[{"a":1.50}]}]}`).Want(http.StatusAccepted)
	fence = c.Post(t, "/v1/runs/"+run+"/suspend", `{"fence":"`+fence+`","questions":[{"id":"q1","tool_call_id":"c","questions":[{"id":"a","question":"A?"},{"id":"b","question":"B?"}]}]}`).
		Want(http.StatusOK).TextAt("run", "status")
	require.Equal(t, "waiting_for_user_question", fence)

	for _, path := range []string{"/v1/runs", "/v1/runs?session_id=one"} {
		_, code = get[[]runView](c, path)
		require.Empty(t, code)
	}
	_, code = get[page[runView]](c, "/v1/runs?page=true&limit=1")
	require.Empty(t, code)
	paged, code := get[page[sessionSummary]](c, "/v1/sessions?page=true&limit=1")
	require.Empty(t, code)
	require.Equal(t, "waiting_for_user_input", text(paged, "items", 0, "status"))
	shown, code := get[runView](c, "/v1/runs/"+run)
	require.Empty(t, code)
	require.Equal(t, "hi", text(shown, "outputs", 0, "content"))
	_, code = get[runView](c, "/v1/runs/nothing")
	require.Equal(t, "run_not_found", code)
	_, code = get[sessionView](c, "/v1/sessions/nothing")
	require.Equal(t, "session_not_found", code)

	events, code := get[[]runEventEntry](c, "/v1/runs/"+run+"/events")
	require.Empty(t, code)
	log, code := get[sessionEventLog](c, "/v1/sessions/one/events")
	require.Empty(t, code)
	require.Equal(t, events, dialecttest.At(log, "run_events"))
	require.Equal(t, "hi", text(log, "daemon_outputs", 0, "content"))
	require.Equal(t, []string{"accepted", "queued", "started", "output", "waiting_for_user_question"}, typesOf(events))
	require.Contains(t, c.Get(t, "/v1/runs/"+run+"/events").Text, `"delta"`, "the log of /v1 has all")
	_, code = get[[]runEventEntry](c, "/v1/runs/nothing/events")
	require.Equal(t, "run_not_found", code)
	_, code = get[sessionEventLog](c, "/v1/sessions/nothing/events")
	require.Equal(t, "session_not_found", code)

	stopped, code := post[interrupted](c, "/v1/sessions/one/interrupt", "", "")
	require.Empty(t, code)
	require.Equal(t, true, dialecttest.At(stopped, "interrupted"))
	other := c.waiting("one", twoApprovals)
	cancelled, code := post[runView](c, "/v1/runs/"+other+"/cancel", "", "")
	require.Empty(t, code)
	require.Equal(t, "cancelled", text(cancelled, "status"))
	_, code = post[sessionView](c, "/v1/sessions/one/end", `{"reason":"done"}`, "")
	require.Empty(t, code)
	_, code = get[sessionView](c, "/v1/sessions/one/goal")
	require.Equal(t, "route_not_found", code)
}

func typesOf(events any) []string {
	var types []string
	for i := range events.([]any) {
		types = append(types, text(events, i, "event", "type"))
	}
	return types
}

// A log of several pages of /v1 is one reply.
func TestLongLogs(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	claim := c.Post(t, "/v1/runs", `{"session_id":"one","input":1,"claim":{"worker_id":"w"}}`).Want(http.StatusAccepted)
	run, fence := claim.TextAt("run", "run_id"), claim.TextAt("lease", "fence")
	batch := strings.Repeat(`{"type":"output","content":"x"},{"type":"delta"},`, 100)
	for range 12 {
		c.Post(t, "/v1/runs/"+run+"/events", `{"fence":"`+fence+`","events":[`+strings.TrimSuffix(batch, ",")+`]}`).Want(http.StatusAccepted)
	}
	events, code := get[[]runEventEntry](c, "/v1/runs/"+run+"/events")
	require.Empty(t, code)
	require.Len(t, events, 1200+2)
	limited, code := get[[]runEventEntry](c, "/v1/runs/"+run+"/events?limit=3")
	require.Empty(t, code)
	require.Len(t, limited, 3)
}

// These clients do not know trimmed logs: they get the remaining events, unless they named an event
// themselves.
func TestALogThatIsShortenedWhileItIsRead(t *testing.T) {
	t.Parallel()
	store := dialecttest.NewShortening(t, dialecttest.SQLite(t))
	s := dialecttest.Serve(t, store, nil)
	c := &cli{s, t}
	old := c.Post(t, "/v1/runs", `{"session_id":"one","input":1}`).Want(http.StatusAccepted).TextAt("run_id")
	c.Post(t, "/v1/runs/"+old+"/cancel", "").Want(http.StatusOK)
	kept := c.Post(t, "/v1/runs", `{"session_id":"one","input":2}`).Want(http.StatusAccepted).TextAt("run_id")
	log, code := get[sessionEventLog](c, "/v1/sessions/one/events")
	require.Empty(t, code)
	list := dialecttest.At(log, "run_events")
	require.Equal(t, []string{"accepted", "queued"}, typesOf(list)[:2])
	for i := range list.([]any) {
		require.Equal(t, kept, text(list, i, "run_id"), "nothing of the run that went meanwhile")
	}
	_, code = get[sessionEventLog](c, "/v1/sessions/one/events?after=1")
	require.Equal(t, "event_cursor_reset", code)
}

// frame reads the next frame of a stream as the command line reads it, and returns its id and data.
func (c *cli) frame(s *dialecttest.Stream) (name, id string, data any) {
	c.t.Helper()
	frame := s.Frame()
	require.NoError(c.t, json.Unmarshal([]byte(frame.Data), &data), frame.Text)
	require.NoError(c.t, fits(data, reflect.TypeFor[daemonEvent](), "event"), frame.Text)
	require.Equal(c.t, frame.Event, text(data, "type"))
	require.Empty(c.t, strings.Trim(frame.ID, "0123456789"))
	return frame.Event, frame.ID, data
}

// until reads frames up to one of a name that fits.
func (c *cli) until(s *dialecttest.Stream, name string, fit func(data any) bool) (id string, data any) {
	c.t.Helper()
	for range 200 {
		if got, id, data := c.frame(s); got == name && fit(data) {
			return id, data
		}
	}
	require.Fail(c.t, "no "+name)
	return "", nil
}

func TestStreams(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	run := c.waiting("one", twoApprovals)
	session := c.Follow(t, http.MethodGet, "/kheish/v1/sessions/one/stream", "")
	runs := c.Follow(t, http.MethodGet, "/kheish/v1/runs/"+run+"/stream", "")
	name, id, _ := c.frame(session)
	require.Equal(t, "session_snapshot", name)
	is := func(status string) func(any) bool {
		return func(data any) bool { return text(data, "run", "status") == status }
	}
	c.until(runs, "run_updated", is("waiting_for_approval"))
	c.until(runs, "heartbeat", func(any) bool { return true })
	_, _, code := c.resolveAll(`"behavior":"allow"`, "")
	require.Empty(t, code)
	fence := c.Post(t, "/v1/runs/"+run+"/claim", `{"worker_id":"w"}`).Want(http.StatusOK).TextAt("lease", "fence")
	c.Post(t, "/v1/runs/"+run+"/events", `{"fence":"`+fence+`","events":[{"type":"delta"},{"type":"output","content":"hi","parts":[{"a":1}]}]}`).Want(http.StatusAccepted)
	for _, stream := range []*dialecttest.Stream{session, runs} {
		// Changes that happen together may be reported together, with the views of runs last.
		updated, output := false, false
		for range 200 {
			name, _, data := c.frame(stream)
			updated = updated || name == "run_updated" && is("running")(data)
			output = output || name == "output" && text(data, "output", "content") == "hi"
			if updated && output {
				break
			}
		}
		require.True(t, updated && output, "updated %t, output %t", updated, output)
	}
	c.Post(t, "/v1/sessions/one/interrupt", "").Want(http.StatusOK)
	c.until(session, "interrupted", func(any) bool { return true })
	c.until(session, "run_updated", is("interrupted"))
	c.until(runs, "run_updated", is("interrupted"))
	_, err := runs.Read()
	require.Error(t, err, "a run's stream ends with the run")

	again := c.Follow(t, http.MethodGet, "/kheish/v1/sessions/one/stream?cursor="+id, "")
	c.until(again, "output", func(any) bool { return true })
	ahead := c.Follow(t, http.MethodGet, "/kheish/v1/sessions/one/stream?cursor=99999", "")
	name, _, data := c.frame(ahead)
	require.Equal(t, "stream_gap", name)
	require.Equal(t, "restart_epoch", text(data, "reason"))
	c.Get(t, "/kheish/v1/runs/nothing/stream").Want(http.StatusNotFound)
}

// Permissions are checked for the path of /v1.
func TestNobodyGetsMore(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	c.waiting("one", twoApprovals)
	for _, path := range []string{"/v1/sessions", "/v1/runtime", "/v1/sessions/one/events", "/v1/sessions/one/stream", "/v1/approvals"} {
		reply := c.Get(t, "/kheish"+path, dialecttest.Header("Origin", "https://elsewhere.example"))
		require.Equal(t, http.StatusForbidden, reply.Status, path)
		require.NotContains(t, reply.Text, "bash")
	}
	c.Get(t, "/kheish/livez").Want(http.StatusNotFound)
	c.Get(t, "/kheishv1/sessions").Want(http.StatusNotFound)
	c.Do(t, http.MethodDelete, "/kheish/v1/sessions", "").Want(http.StatusMethodNotAllowed)
}
