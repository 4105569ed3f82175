package kheish_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/kheish"
)

// The command line reads a list once. Waiting sessions and runs are in it, however many others there are.
func TestWhatWaitsComesFirst(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	for i := range api.MaxUnpaged + 1 {
		c.Post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":"a-%04d"}`, i)).Want(http.StatusCreated)
	}
	run := c.waiting("waits", twoApprovals)
	c.waiting("waits-too", oneQuestion)
	require.NotContains(t, c.Get(t, "/v1/sessions").Text, `"waits"`)
	list := c.Get(t, "/kheish/v1/sessions").Want(http.StatusOK)
	require.Equal(t, "waits", list.At(0, "session_id"))
	require.Equal(t, "waits-too", list.At(1, "session_id"))
	require.Equal(t, api.MaxUnpaged+2, list.Count())
	require.Regexp(t, `^</kheish/v1/sessions\?`, list.Header.Get("Link"))
	next := strings.TrimPrefix(strings.Split(list.Header.Get("Link"), ">")[0], "<")
	require.Equal(t, "a-1000", c.Get(t, next).Want(http.StatusOK).At("items", 0, "session_id"))
	require.Equal(t, []pending{{"waits", run, "a1"}, {"waits", run, "a2"}}, c.approvalsList(""))

	for i := range api.MaxUnpaged + 1 {
		made := c.Post(t, "/v1/runs", fmt.Sprintf(`{"session_id":"many","run_id":"old-%04d","input":1}`, i)).Want(http.StatusAccepted)
		c.Post(t, "/v1/runs/"+made.TextAt("run_id")+"/cancel", "").Want(http.StatusOK)
	}
	newest := c.waiting("many", twoApprovals)
	resolved, runs, code := c.resolveAll(`"behavior":"allow"`, "")
	require.Empty(t, code)
	require.Equal(t, 4, resolved)
	require.ElementsMatch(t, []string{run, newest}, runs)

	made := c.Post(t, "/kheish/v1/runs", `{"session_id":"made","input":1}`).Want(http.StatusAccepted)
	require.Equal(t, "/kheish/v1/runs/"+made.TextAt("run_id"), made.Header.Get("Location"))
}

// The clients look for approvals in runs that wait for approval.
func TestAnApprovalBesideAQuestion(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	run := c.waiting("both", strings.TrimSuffix(twoApprovals, "}")+","+strings.TrimPrefix(oneQuestion, "{"))
	require.Equal(t, "waiting_for_user_question", c.Get(t, "/v1/runs/"+run).At("status"))
	require.Len(t, c.approvalsList(""), 2)
	for _, path := range []string{"/v1/runs/" + run, "/v1/sessions/both"} {
		require.Equal(t, "waiting_for_approval", c.Get(t, "/kheish"+path).At("status"), path)
	}
	require.Equal(t, "waiting_for_approval", c.Get(t, "/kheish/v1/sessions").At(0, "status"))
	_, _, code := c.resolveAll(`"behavior":"allow"`, "")
	require.Empty(t, code)
	require.Equal(t, "waiting_for_user_question", c.Get(t, "/kheish/v1/runs/"+run).At("status"))
}

// A list by status has what is shown with that status, and takes the statuses that are shown.
func TestListsByShownStatus(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	approvals := c.waiting("a", twoApprovals)
	both := c.waiting("b", strings.TrimSuffix(twoApprovals, "}")+","+strings.TrimPrefix(oneQuestion, "{"))
	question := c.waiting("q", oneQuestion)
	c.Post(t, "/v1/sessions", `{"session_id":"over"}`).Want(http.StatusCreated)
	c.Post(t, "/v1/sessions/over/end", "{}").Want(http.StatusOK)
	listed := func(path, key, status string) (ids []string) {
		list := c.Get(t, "/kheish/v1/"+path+"?status="+status).Want(http.StatusOK)
		for i := range list.Count() {
			ids = append(ids, list.TextAt(i, key))
			require.Equal(t, status, list.At(i, "status"))
		}
		return ids
	}
	require.Equal(t, []string{approvals, both}, listed("runs", "run_id", "waiting_for_approval"))
	require.Equal(t, []string{question}, listed("runs", "run_id", "waiting_for_user_question"))
	require.Empty(t, listed("runs", "run_id", "completed"))
	require.Equal(t, []string{"a", "b"}, listed("sessions", "session_id", "waiting_for_approval"))
	require.Equal(t, []string{"q"}, listed("sessions", "session_id", "waiting_for_user_input"))
	require.Equal(t, []string{"over"}, listed("sessions", "session_id", "completed"))

	first := c.Get(t, "/kheish/v1/sessions?status=waiting_for_user_input&page=true&limit=1").Want(http.StatusOK)
	cursor := first.TextAt("pagination", "next_cursor")
	second := c.Get(t, "/kheish/v1/sessions?status=waiting_for_user_input&limit=1&cursor="+cursor).Want(http.StatusOK)
	require.Equal(t, []string{"b", "q"}, []string{first.TextAt("items", 0, "session_id"), second.TextAt("items", 0, "session_id")})
	c.Get(t, "/kheish/v1/sessions?status=asleep").Want(http.StatusBadRequest)
}

// The calls of hooks, ask, exec and MCP clients are runs of a kind that the clients do not know. One of
// them made a whole list unreadable.
func TestCallsAreShown(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	call := func(session, suspend string) (run string) {
		body := `{"session_id":"` + session + `","kind":"call","input":{"run_id":"r","kind":"call"},"suspend":` + suspend + `}`
		return c.Post(t, "/v1/runs", body).Want(http.StatusAccepted).TextAt("run_id")
	}
	run := call("hook", twoApprovals)
	require.Equal(t, []pending{{"hook", run, "a1"}, {"hook", run, "a2"}}, c.approvalsList(""))
	for _, path := range []string{"/v1/questions", "/v1/sessions/asks/questions"} {
		asking := call("asks", strings.Replace(oneQuestion, `"id":"q1"`, `"id":"q1","kind":"call"`, 1))
		found, code := get[[]pendingQuestion](c, path)
		require.Empty(t, code)
		require.Equal(t, "input", text(found, 0, "run_kind"))
		require.Equal(t, "call", text(found, 0, "request", "kind"), "the kind of the question is the worker's")
		c.Post(t, "/v1/runs/"+asking+"/cancel", "").Want(http.StatusOK)
	}

	stream := c.Follow(t, http.MethodGet, "/kheish/v1/runs/"+run+"/stream", "")
	c.until(stream, "run_updated", func(data any) bool { return text(data, "run", "kind") == "input" })
	_, _, code := c.resolveAll(`"behavior":"allow"`, "")
	require.Empty(t, code)
	c.until(stream, "run_updated", func(data any) bool { return text(data, "run", "status") == "running" })
	fence := c.Post(t, "/v1/runs/"+run+"/claim", `{"worker_id":"w"}`).Want(http.StatusOK).TextAt("lease", "fence")
	c.Post(t, "/v1/runs/"+run+"/complete", `{"fence":"`+fence+`","output":{"run_id":"r","kind":"call"}}`).Want(http.StatusOK)
	view, code := get[runView](c, "/v1/runs/"+run)
	require.Empty(t, code)
	require.Equal(t, "input", text(view, "kind"))
	require.Equal(t, "call", text(view, "output", "kind"), "the worker's output is as it is")
}

// A call is shown as an input, so a list of inputs has it.
func TestAListOfInputsHasCalls(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	run := c.waiting("s", twoApprovals)
	call := c.Post(t, "/v1/runs", `{"session_id":"s","kind":"call","input":1,"suspend":`+oneQuestion+`}`).Want(http.StatusAccepted).TextAt("run_id")
	for _, filter := range []string{"", "&session_id=s", "&priority_active=true"} {
		path := "/v1/runs?kind=input" + filter
		require.Equal(t, 1, c.Get(t, path).Want(http.StatusOK).Count(), "/v1 says call")
		found, code := get[[]runView](c, path)
		require.Empty(t, code)
		require.Equal(t, []string{run, call}, []string{text(found, 0, "run_id"), text(found, 1, "run_id")})

		first := c.Get(t, "/kheish"+path+"&page=true&limit=1").Want(http.StatusOK)
		require.EqualValues(t, 2, first.At("pagination", "total_count"))
		second := c.Get(t, "/kheish"+path+"&limit=1&cursor="+first.TextAt("pagination", "next_cursor")).Want(http.StatusOK)
		require.Equal(t, []string{run, call}, []string{first.TextAt("items", 0, "run_id"), second.TextAt("items", 0, "run_id")})
		require.Equal(t, "input", second.At("items", 0, "kind"))
	}
}

func TestTypedQuestionsAreShownAndAnswered(t *testing.T) {
	t.Parallel()
	c := serveCLI(t)
	for i, test := range []struct{ schema, payload, shown, answer, value string }{
		{`{"enum":["postgres","mysql"]}`, `{"question":"Which?"}`, `postgres`, `"selected_option_ids":["mysql"]`, `"mysql"`},
		{`{"enum":[1,"1",2.50]}`, `{}`, `"1"`, `"selected_option_ids":["1"]`, `1`},
		{`{"enum":[1,"1",2.50]}`, `{}`, `2.50`, `"selected_option_ids":["\"1\""]`, `"1"`},
		{`{"type":"integer"}`, `"How many?"`, ``, `"freeform_answer":"7"`, `7`},
		{`{"type":"string"}`, `{}`, ``, `"freeform_answer":"7"`, `"7"`},
		{`{"type":"string"}`, `{"options":[{"label":"Blue","value":"b"},"red"]}`, `b`, `"selected_option_ids":["b"],"freeform_answer":null`, `"b"`},
		{`{"type":"array","items":{"enum":["x","y"]},"minItems":1}`, `{}`, `x`, `"selected_option_ids":["x"]`, `["x"]`},
		{`{"type":"array","items":{"enum":["x","y"]}}`, `{}`, `y`, `"selected_option_ids":["x","y"]`, `["x","y"]`},
		{`{"type":"string"}`, `{"options":[{"id":"pg","label":"Postgres"}]}`, `pg`, `"selected_option_ids":["pg"]`, `"pg"`},
		{`{"enum":["pg"]}`, `{"options":[{"id":"pg","label":"Postgres"}]}`, `pg`, `"selected_option_ids":["pg"]`, `"pg"`},
		{`{"enum":["Postgres"]}`, `{"options":[{"id":"pg","label":"Postgres"}]}`, `Postgres`, `"selected_option_ids":["Postgres"]`, `"Postgres"`},
		{``, `{"options":["1","two",3]}`, `"1"`, `"selected_option_ids":["\"1\""]`, `"1"`},
		{``, `{"options":["1","two",3]}`, `3`, `"selected_option_ids":["3"]`, `3`},
		{`{}`, `{"options":["true","null"]}`, `"true"`, `"selected_option_ids":["\"true\""]`, `"true"`},
		{``, `"Which?"`, ``, `"freeform_answer":"x"`, `"x"`},
		{`{"type":"object"}`, `{}`, ``, `"freeform_answer":"{\"a\": 9007199254740991}"`, `{"a":9007199254740991}`},
	} {
		session := fmt.Sprintf("s%d", i)
		schema := test.schema
		if schema != "" {
			schema = `,"response_schema":` + schema
		}
		run := c.waiting(session, `{"questions":[{"id":"q","kind":"ask","payload":`+test.payload+schema+`}]}`)
		asked, code := get[[]pendingQuestion](c, "/v1/sessions/"+session+"/questions")
		require.Empty(t, code)
		require.Equal(t, "value", text(asked, 0, "request", "questions", 0, "id"))
		require.NotEmpty(t, text(asked, 0, "request", "questions", 0, "question"))
		if test.shown != "" {
			var ids []string
			for j := range list(asked, 0, "request", "questions", 0, "options") {
				ids = append(ids, text(asked, 0, "request", "questions", 0, "options", j, "id"))
			}
			require.Contains(t, ids, test.shown)
		}
		all, code := get[[]pendingQuestion](c, "/v1/questions?session_id="+session)
		require.Empty(t, code)
		require.Equal(t, list(asked, 0, "request", "questions"), list(all, 0, "request", "questions"))
		for _, path := range []string{"/v1/runs/" + run, "/v1/sessions/" + session} {
			require.Contains(t, c.Get(t, "/kheish"+path).Want(http.StatusOK).Text, `"id":"value"`)
		}
		answer := `{"resolution":{"request_id":"q","answers":[{"question_id":"value",` + test.answer + `}],"declined":false}}`
		for range 2 { // the same call again with its key
			_, code = post[runView](c, "/v1/runs/"+run+"/questions", answer, "k")
			require.Empty(t, code, test.answer)
		}
		_, code = post[runView](c, "/v1/runs/"+run+"/questions", answer, "")
		require.Equal(t, "question_state_conflict", code)
		require.Contains(t, c.Get(t, "/v1/runs/"+run).Text, `"value":`+test.value+`,`, test.answer)
	}
	run := c.waiting("unfit", `{"questions":[{"id":"q","response_schema":{"type":"integer"}}]}`)
	_, code := post[runView](c, "/v1/runs/"+run+"/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"value","freeform_answer":"seven"}]}}`, "")
	require.Equal(t, "invalid_request", code)
	require.Equal(t, "waiting_for_user_question", c.Get(t, "/v1/runs/"+run).At("status"))

	// A refused answer is not a value: an id that is not text was the empty text, and a text next
	// to an option was dropped.
	run = c.waiting("other", `{"questions":[{"id":"q","response_schema":{"type":"string"}}]}`)
	for _, answer := range []string{
		`"selected_option_ids":[7]`, `"selected_option_ids":[null]`, `"selected_option_ids":"a"`, `"freeform_answer":7`,
		`"selected_option_ids":["a"],"freeform_answer":"but not on Friday"`, `"selected_option_ids":["a"],"freeform":"b"`,
	} {
		_, code = post[runView](c, "/v1/runs/"+run+"/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"value",`+answer+`}]}}`, "")
		require.Contains(t, []string{"invalid_request", "question_answer_empty"}, code, answer)
		require.Equal(t, "waiting_for_user_question", c.Get(t, "/v1/runs/"+run).At("status"), answer)
	}
}

// "--wait" reads a run until it is over, and ends at the first 503.
func TestAnOutageDoesNotEndTheWait(t *testing.T) {
	t.Parallel()
	for outage, want := range map[int]int{0: 200, 5: 200, 15: 200, 1000: 503} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			handler := kheish.Face(nil).Over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if calls++; calls <= outage {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_, _ = w.Write([]byte(`{"run_id":"r"}`))
			}))
			reply := httptest.NewRecorder()
			handler.ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/kheish/v1/runs/r", nil))
			require.Equal(t, want, reply.Code)
			require.Equal(t, min(outage+1, 16), calls)
		})
	}
	draining := make(chan struct{})
	close(draining)
	calls := 0
	reply := httptest.NewRecorder()
	kheish.Face(draining).Over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	})).ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/kheish/v1/runs/r", nil))
	require.Equal(t, 1, calls)
}
