package mcptools_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// Capabilities of the clients in these tests.
var (
	forms     = mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}}
	takesTask = mcp.ClientCapabilities{Extensions: map[string]any{tasks.Extension: map[string]any{}}}
	links     = mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{URL: &mcp.URLElicitationCapabilities{}}}
	formsLink = mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}}
	both      = mcp.ClientCapabilities{Elicitation: forms.Elicitation, Extensions: takesTask.Extensions}
)

// replica is one server of the tools, of which a client may call any.
type replica struct {
	*scene
	options mcptools.Options
	nowMs   atomic.Int64
	// transport wraps the server's end of each connection.
	transport func(mcp.Transport) mcp.Transport
}

// replica returns a server whose caller may decide, unless options say otherwise.
func (s *scene) replica(options mcptools.Options) *replica {
	s.Helper()
	r := &replica{scene: s, options: options, transport: mcptools.Exact}
	r.nowMs.Store(time.Now().UnixMilli())
	r.options.Client = s.service.Connect(client.WithActor("ada"), client.WithVia("mcp"))
	r.options.For, r.options.AgentID = mcptools.ForAgents, "coder"
	r.options.SessionID = cmp.Or(options.SessionID, "work")
	if r.options.Signer == nil {
		r.options.Signer = mcptools.NewKeySigner([]byte("shared"))
	}
	if r.options.MayDecide == nil {
		r.options.MayDecide = func(context.Context) bool { return true }
	}
	r.options.NowMs = r.nowMs.Load
	return r
}

// reply is the answer to a call, of any kind.
type reply struct {
	ResultType    string `json:"resultType"`
	TaskID        string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage"`
	PollMs        int64  `json:"pollIntervalMs"`
	InputRequests map[string]struct {
		Method string `json:"method"`
		Params struct {
			Mode    string          `json:"mode"`
			URL     string          `json:"url"`
			Message string          `json:"message"`
			Schema  json.RawMessage `json:"requestedSchema"`
		} `json:"params"`
	} `json:"inputRequests"`
	RequestState string `json:"requestState"`
	Content      []struct {
		Text string `json:"text"`
	} `json:"content"`
	IsError bool   `json:"isError"`
	Result  *reply `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// only returns the id of the one form.
func (r *reply) only(t *scene) string {
	t.Helper()
	require.Len(t, r.InputRequests, 1)
	for id := range r.InputRequests {
		return id
	}
	return ""
}

// told reads the text of a result.
func (r *reply) told(t *scene) (told told) {
	t.Helper()
	require.Len(t, r.Content, 1)
	require.NoError(t, json.Unmarshal([]byte(r.Content[0].Text), &told), r.Content[0].Text)
	return told
}

// call makes one stateless call to a new server, because every replica is new to its caller.
func (r *replica) call(capabilities mcp.ClientCapabilities, method string, params map[string]any) *reply {
	r.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := mcptools.NewServer(r.options).Connect(r.Context(), r.transport(theirs), nil)
	require.NoError(r, err)
	connection, err := ours.Connect(r.Context())
	require.NoError(r, err)
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": tasks.Revision, "io.modelcontextprotocol/clientCapabilities": capabilities,
		"io.modelcontextprotocol/clientInfo": map[string]string{"name": "t", "version": "1"},
	}
	text, err := json.Marshal(params)
	require.NoError(r, err)
	id, err := jsonrpc.MakeID("1")
	require.NoError(r, err)
	require.NoError(r, connection.Write(r.Context(), &jsonrpc.Request{ID: id, Method: method, Params: text}))
	message, err := connection.Read(r.Context())
	require.NoError(r, err)
	text, err = jsonrpc.EncodeMessage(message)
	require.NoError(r, err)
	require.NoError(r, connection.Close())
	_ = served.Wait()
	var answer struct {
		Result *reply          `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	require.NoError(r, json.Unmarshal(text, &answer), string(text))
	if answer.Result == nil {
		answer.Result = &reply{}
		require.NoError(r, json.Unmarshal(answer.Error, &answer.Result.Error))
	}
	return answer.Result
}

const deploy = `{"tool_name":"deploy","input":{"to":"production"},"reason":"done"}`

// ask calls a tool, with the non-nil members of more added to the call.
func (r *replica) ask(capabilities mcp.ClientCapabilities, tool, arguments string, more map[string]any) *reply {
	r.Helper()
	params := map[string]any{"name": tool, "arguments": json.RawMessage(arguments)}
	for name, value := range more {
		params[name] = value
	}
	return r.call(capabilities, "tools/call", params)
}

func (r *replica) task(capabilities mcp.ClientCapabilities, method, taskID string, more ...map[string]any) *reply {
	r.Helper()
	params := map[string]any{"taskId": taskID}
	if len(more) > 0 {
		params["inputResponses"] = more[0]
	}
	return r.call(capabilities, method, params)
}

func accept(content map[string]any) map[string]any {
	return map[string]any{"action": "accept", "content": content}
}

func TestACallParksAsATask(t *testing.T) {
	s := newScene(t)
	r, other := s.replica(mcptools.Options{}), s.replica(mcptools.Options{})
	task := r.ask(takesTask, "request_approval", deploy, nil)
	require.Equal(t, "task", task.ResultType)
	require.Equal(t, "working", task.Status)
	require.Empty(t, task.InputRequests)
	require.Empty(t, task.RequestState)
	open := s.pending()

	require.Equal(t, "working", other.task(takesTask, "tasks/get", task.TaskID).Status)
	other.nowMs.Add(24 * time.Hour.Milliseconds())
	parked := other.task(takesTask, "tasks/get", task.TaskID)
	require.Equal(t, "complete", parked.ResultType)
	require.Equal(t, "Waiting for a person.", parked.StatusMessage)
	require.Greater(t, parked.PollMs, task.PollMs)
	s.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"to":"staging"}`)})
	for range 2 {
		done := other.task(takesTask, "tasks/get", task.TaskID)
		require.Equal(t, "completed", done.Status)
		require.Equal(t, "allowed", done.Result.told(s).Status)
		require.JSONEq(t, `{"to":"staging"}`, string(done.Result.told(s).Input))
	}
	// A finished task cannot be cancelled; trying is not an error.
	require.Nil(t, r.task(takesTask, "tasks/cancel", task.TaskID).Error)
	require.Equal(t, "completed", r.task(takesTask, "tasks/get", task.TaskID).Status)

	// The result for a coding agent, with the decision.
	task = r.ask(takesTask, "permission_prompt", touch, nil)
	require.Equal(t, task.TaskID, other.ask(takesTask, "permission_prompt", touch, nil).TaskID)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "no"})
	require.JSONEq(t, `{"behavior":"deny","message":"Denied by ada: no"}`, r.task(takesTask, "tasks/get", task.TaskID).Result.Content[0].Text)
	// A decision that was read is spent. An unread decision is returned without a task.
	require.NotEqual(t, task.TaskID, r.ask(takesTask, "permission_prompt", touch, nil).TaskID)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "no"})
	require.Equal(t, "complete", other.ask(takesTask, "permission_prompt", touch, nil).ResultType)

	task = r.ask(takesTask, "request_approval", deploy, nil)
	s.pending()
	for range 2 {
		ack := other.task(takesTask, "tasks/cancel", task.TaskID)
		require.Nil(t, ack.Error)
		require.Equal(t, "complete", ack.ResultType)
	}
	s.nothingPending()
	cancelled := r.task(takesTask, "tasks/get", task.TaskID)
	require.Equal(t, "cancelled", cancelled.Status)
	require.Nil(t, cancelled.Result)
	require.Contains(t, cancelled.StatusMessage, "so it was not allowed")

	// A worker that fails the run has failed the task, even after a decision.
	task = r.ask(takesTask, "request_approval", deploy, nil)
	open = s.pending()
	s.decide(open, api.ApprovalResolution{Behavior: api.BehaviorDeny})
	_, err := s.person.FailRun(t.Context(), open.RunID, "1", "it cannot be resumed")
	require.NoError(t, err)
	failed := other.task(takesTask, "tasks/get", task.TaskID)
	require.Equal(t, "failed", failed.Status)
	require.Nil(t, failed.Result)
	require.Equal(t, "it cannot be resumed", failed.StatusMessage)
	require.Equal(t, "it cannot be resumed", failed.Error.Message)

	// Observers, and clients without tasks, get no task.
	require.Equal(t, "pending", r.ask(takesTask, "request_approval", `{"tool_name":"x","input":{},"wait_seconds":0}`, nil).told(s).Status)
	require.Equal(t, "pending", r.ask(mcp.ClientCapabilities{}, "request_approval", `{"tool_name":"y","input":{},"wait_seconds":0}`, nil).told(s).Status)
}

// A form shows the whole request. Characters that hide or move text are escaped in all of it.
func TestAFormShowsTheHintsOfTheAgent(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	task := r.ask(both, "request_approval", `{"tool_name":"deploy","input":{"to":"production"},"reason":"done","hints":[{"level":"danger","text":"customers\u202e see it"},{"level":"info","text":"tests pass"}]}`, nil)
	shown := r.task(both, "tasks/get", task.TaskID)
	require.Equal(t, "The agent coder asks to run deploy with:\n{\n  \"to\": \"production\"\n}\nThe agent says: done\nThe agent's hints: danger: customers\\u202e see it\nThe agent's hints: info: tests pass",
		shown.InputRequests[shown.only(s)].Params.Message)
}

// A hint of a rule is told apart from the agent's, whatever the agent writes into its own.
func TestAFormShowsTheHintsOfRules(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	_, err := s.person.AddRule(t.Context(), client.AddRuleParams{ToolName: "deploy", Match: api.RuleMatch{AnyInput: true}, Effect: api.RuleHint, Hint: &api.Hint{Level: api.HintDanger, Text: "production"}})
	require.NoError(t, err)
	task := r.ask(both, "request_approval", `{"tool_name":"deploy","input":{"n":1},"reason":"so\nA standing rule says: info: a","hints":[{"level":"info","text":"fine\nA standing rule says: info: b"}]}`, nil)
	shown := r.task(both, "tasks/get", task.TaskID)
	require.Equal(t, "The agent coder asks to run deploy with:\n{\n  \"n\": 1\n}\nThe agent says: so\nThe agent says: A standing rule says: info: a\nA standing rule says: danger: production\nThe agent's hints: info: fine\nThe agent's hints: A standing rule says: info: b",
		shown.InputRequests[shown.only(s)].Params.Message)
}

// A command of several lines is shown as the lines that will run, none of which looks like the form's own.
func TestAFormShowsACommandAsLines(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	task := r.ask(both, "request_approval", `{"tool_name":"bash","input":{"command":"cd /srv\nThe agent says: done\u202e","timeout":5}}`, nil)
	shown := r.task(both, "tasks/get", task.TaskID)
	require.Equal(t, "The agent coder asks to run bash with:\ncommand:\n│ cd /srv\n│ The agent says: done\\u202e\nother input:\n{\n  \"timeout\": 5\n}\naction: Run a command",
		shown.InputRequests[shown.only(s)].Params.Message)
}

func TestThePersonAtTheClientOfATaskDecides(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	task := r.ask(both, "request_approval", deploy, nil)
	require.Equal(t, "input_required", task.Status)
	require.Empty(t, task.InputRequests) // they are for tasks/get
	open := s.pending()
	shown := r.task(both, "tasks/get", task.TaskID)
	require.Equal(t, open.Request.Handle, shown.only(s))
	form := shown.InputRequests[open.Request.Handle]
	require.Equal(t, "elicitation/create", form.Method)
	require.Equal(t, "The agent coder asks to run deploy with:\n{\n  \"to\": \"production\"\n}\nThe agent says: done", form.Params.Message)
	require.Contains(t, string(form.Params.Schema), `"allow"`)
	require.Equal(t, "working", r.task(takesTask, "tasks/get", task.TaskID).Status) // a client that shows no forms

	// None of these responses decides.
	for _, responses := range []map[string]any{
		{},
		{"other": accept(map[string]any{"decision": "allow"})},
		{open.Request.Handle: map[string]any{"action": "decline"}},
		{open.Request.Handle: map[string]any{"action": "cancel", "content": map[string]any{"decision": "allow"}}},
		{open.Request.Handle: accept(nil)},
		{open.Request.Handle: accept(map[string]any{"decision": "yes"})},
		{open.Request.Handle: accept(map[string]any{"decision": 1})},
		{open.Request.Handle: 12345},
		{open.Request.Handle: nil},
	} {
		ack := r.task(both, "tasks/update", task.TaskID, responses)
		require.Nil(t, ack.Error, responses)
		require.Equal(t, "complete", ack.ResultType)
		require.Equal(t, "input_required", r.task(both, "tasks/get", task.TaskID).Status)
	}
	require.Nil(t, r.task(takesTask, "tasks/update", task.TaskID, map[string]any{open.Request.Handle: accept(map[string]any{"decision": "allow"})}).Error)
	require.Equal(t, "input_required", r.task(both, "tasks/get", task.TaskID).Status)
	require.NotNil(t, r.call(both, "tasks/update", map[string]any{"taskId": task.TaskID}).Error)

	for _, decision := range []string{"allow", "deny"} { // the second is too late
		ack := r.task(both, "tasks/update", task.TaskID, map[string]any{open.Request.Handle: accept(map[string]any{"decision": decision, "reason": "go on"}), "more": 1})
		require.Nil(t, ack.Error)
		done := r.task(both, "tasks/get", task.TaskID)
		require.Equal(t, "completed", done.Status)
		require.Equal(t, "allowed", done.Result.told(s).Status)
		require.Equal(t, "go on", done.Result.told(s).Message)
	}
	decisions, err := s.person.ListDecisions(t.Context(), client.DecisionListParams{})
	require.NoError(t, err)
	require.Len(t, decisions.Items, 1)
	require.Equal(t, "ada", decisions.Items[0].Resolution.ResolvedBy)
	require.Equal(t, "api:mcp", decisions.Items[0].Resolution.Via)

	// A role that may not decide is shown no form, and its answer to one is ignored.
	agent := s.replica(mcptools.Options{MayDecide: func(context.Context) bool { return false }})
	task = agent.ask(both, "request_approval", deploy, nil)
	require.Equal(t, "working", task.Status)
	open = s.pending()
	require.Nil(t, agent.task(both, "tasks/update", task.TaskID, map[string]any{open.Request.Handle: accept(map[string]any{"decision": "allow"})}).Error)
	require.Equal(t, "working", agent.task(both, "tasks/get", task.TaskID).Status)
}

func TestATaskIsItsPrincipalsAlone(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{Principal: "agent:a"})
	task := r.ask(takesTask, "request_approval", deploy, nil)
	open := s.pending()
	require.NotEmpty(t, open.RunID)
	other := s.replica(mcptools.Options{Principal: "agent:b"})
	stranger := s.replica(mcptools.Options{Principal: "agent:a", Signer: mcptools.NewKeySigner([]byte("another"))})
	state := s.replica(mcptools.Options{SessionID: "other"}).ask(forms, "request_approval", deploy, nil).RequestState
	require.NotEmpty(t, state)
	for name, row := range map[string]struct {
		by *replica
		id string
	}{
		"another's": {other, task.TaskID}, "another service's": {stranger, task.TaskID}, "a run": {r, open.RunID}, "empty": {r, ""},
		"longer": {r, task.TaskID + "A"}, "shorter": {r, task.TaskID[:len(task.TaskID)-1]}, "a state": {r, state},
		"huge": {r, strings.Repeat("A", 1<<20)}, "unsigned": {r, strings.Split(task.TaskID, ".")[0] + "."},
	} {
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			refused := row.by.task(takesTask, method, row.id, map[string]any{})
			require.NotNil(t, refused.Error, name)
			require.Equal(t, -32602, refused.Error.Code, name)
			require.Equal(t, "no such task", refused.Error.Message, name)
		}
	}
	require.Equal(t, "working", r.task(takesTask, "tasks/get", task.TaskID).Status)
	// Where it cannot be found out, the task is not gone.
	blind := s.replica(mcptools.Options{Principal: "agent:a", Signer: outage{}})
	require.Equal(t, -32603, blind.task(takesTask, "tasks/get", task.TaskID).Error.Code)
	proxy := httptest.NewServer(http.NotFoundHandler()) // without a backend
	t.Cleanup(proxy.Close)
	behind := s.replica(mcptools.Options{Principal: "agent:a"})
	unrouted, err := client.New(proxy.URL)
	require.NoError(t, err)
	t.Cleanup(unrouted.Close)
	behind.options.Client = unrouted
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		require.NotEqual(t, -32602, behind.task(takesTask, method, task.TaskID, map[string]any{}).Error.Code, method)
	}
	require.NotEqual(t, -32602, blind.ask(forms, "request_approval", deploy, map[string]any{"requestState": state}).Error.Code)
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		refused := r.task(forms, method, task.TaskID, map[string]any{})
		require.Equal(t, -32021, refused.Error.Code)
		require.JSONEq(t, `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`, string(refused.Error.Data))
	}
}

// outage is a signer whose keys cannot be read.
type outage struct{}

func (outage) Sign(string, []byte) (string, error) { return "", errors.New("the keys cannot be read") }

func (outage) Verify(context.Context, string, string) ([]byte, error) {
	return nil, errors.New("the keys cannot be read")
}

func TestThePersonAtAClientWithFormsDecides(t *testing.T) {
	s := newScene(t)
	r, other := s.replica(mcptools.Options{Principal: "user:a"}), s.replica(mcptools.Options{Principal: "user:a"})
	first := r.ask(forms, "request_approval", deploy, nil)
	require.Equal(t, "input_required", first.ResultType)
	id := first.only(s)
	require.Equal(t, id, s.pending().Request.Handle)
	again := func(response any, arguments string) map[string]any {
		return map[string]any{"requestState": first.RequestState, "inputResponses": map[string]any{id: response}}
	}
	allow := accept(map[string]any{"decision": "allow"})

	// States of another call, another principal, or older than a week.
	late := s.replica(mcptools.Options{Principal: "user:a"})
	late.nowMs.Add(7 * 24 * time.Hour.Milliseconds())
	for name, row := range map[string]struct {
		by        *replica
		arguments string
		state     string
		tool      string
	}{
		"another principal": {s.replica(mcptools.Options{Principal: "user:b"}), deploy, first.RequestState, "request_approval"},
		"other arguments":   {r, `{"tool_name":"deploy","input":{"to":"mars"},"reason":"done"}`, first.RequestState, "request_approval"},
		"another tool":      {r, deploy, first.RequestState, "permission_prompt"},
		"too late":          {late, deploy, first.RequestState, "request_approval"},
		"forged":            {r, deploy, first.RequestState + "-TAMPERED", "request_approval"},
		"a task":            {r, deploy, s.replica(mcptools.Options{Principal: "user:a", SessionID: "asks"}).ask(takesTask, "ask_user", `{"question":"?"}`, nil).TaskID, "request_approval"},
		"none at all":       {r, deploy, "e30.e30", "request_approval"},
	} {
		refused := row.by.ask(forms, row.tool, row.arguments, map[string]any{"requestState": row.state, "inputResponses": map[string]any{id: allow}})
		require.NotNil(t, refused.Error, name)
		require.Equal(t, -32602, refused.Error.Code, name)
		require.Contains(t, refused.Error.Message, "requestState", name)
	}

	// Without a state, answers are ignored: another request is raised.
	blind := s.replica(mcptools.Options{SessionID: "blind"}).ask(forms, "request_approval", `{"tool_name":"blind","input":{}}`, map[string]any{"inputResponses": map[string]any{id: allow}})
	require.Equal(t, "input_required", blind.ResultType)

	// After an answer without a decision the form is shown again. The arguments may be formatted
	// differently.
	require.Equal(t, "input_required", other.ask(forms, "request_approval", deploy, again(accept(nil), deploy)).ResultType)
	spelled := ` {"reason":"done", "input":{"to":"production"}, "tool_name":"deploy"}`
	done := other.ask(forms, "request_approval", spelled, again(allow, spelled))
	require.Equal(t, "complete", done.ResultType)
	require.Equal(t, "allowed", done.told(s).Status)
	// A second time, and with another decision, the first one stands.
	require.Equal(t, "allowed", r.ask(forms, "request_approval", deploy, again(accept(map[string]any{"decision": "deny"}), deploy)).told(s).Status)
}

func TestAFormThatIsDismissedLeavesTheRequestToOthers(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	const brief = `{"tool_name":"deploy","input":{},"wait_seconds":1}`
	for _, action := range []string{"decline", "cancel"} {
		first := r.ask(forms, "request_approval", brief, nil)
		id := first.only(s)
		done := r.ask(forms, "request_approval", brief, map[string]any{"requestState": first.RequestState, "inputResponses": map[string]any{id: map[string]any{"action": action}}})
		require.Equal(t, "pending", done.told(s).Status)
		open := s.pending()
		require.Equal(t, id, open.Request.Handle)
		run, err := s.person.GetRun(t.Context(), open.RunID)
		require.NoError(t, err)
		require.Equal(t, "agent-call:polled", run.Lease.WorkerID, "the request stays open for days when its client has gone")
		// check_decision asks again.
		check := `{"run_id":"` + open.RunID + `"}`
		shown := r.ask(forms, "check_decision", check, nil)
		require.Equal(t, id, shown.only(s))
		done = r.ask(forms, "check_decision", check, map[string]any{"requestState": shown.RequestState, "inputResponses": map[string]any{id: accept(map[string]any{"decision": "deny", "reason": "later"})}})
		require.Equal(t, "Denied by ada: later", done.told(s).Message)
	}
}

func TestFormsOfQuestions(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	for _, row := range []struct {
		arguments string
		schema    string
		wrong     map[string]any
		content   map[string]any
		answers   []string
	}{
		{
			`{"question":"Where to?"}`, `{"type":"object","properties":{"text":{"type":"string","title":"Answer","description":"In your own words."}}}`,
			map[string]any{"text": ""},
			map[string]any{"text": "home"},
			[]string{"home"},
		},
		{
			`{"question":"Which?","options":["b","a"]}`, `{"type":"object","properties":{"option":{"type":"string","title":"Option","enum":["b","a"]},"text":{"type":"string","title":"Answer","description":"In your own words."}}}`,
			map[string]any{"option": "c"},
			map[string]any{"option": "a", "text": "please"},
			[]string{"a", "please"},
		},
		{
			`{"question":"Which?","options":["b","a","c"],"multi_select":true}`, `{"type":"object","properties":{"options":{"type":"array","title":"Options","items":{"type":"string","enum":["b","a","c"]}},"text":{"type":"string","title":"Answer","description":"In your own words."}}}`,
			map[string]any{"options": []string{"a", "d"}},
			map[string]any{"options": []string{"c", "b"}},
			[]string{"c", "b"},
		},
		{
			`{"question":"Which?","options":["b","a"],"allow_freeform":false}`, `{"type":"object","properties":{"option":{"type":"string","title":"Option","enum":["b","a"]}}}`,
			map[string]any{"option": "a", "text": "mine"},
			map[string]any{"option": "a"},
			[]string{"a"},
		},
	} {
		first := r.ask(forms, "ask_user", row.arguments, nil)
		id := first.only(s)
		require.JSONEq(t, row.schema, string(first.InputRequests[id].Params.Schema))
		say := func(content map[string]any) *reply {
			return r.ask(forms, "ask_user", row.arguments, map[string]any{"requestState": first.RequestState, "inputResponses": map[string]any{id: accept(content)}})
		}
		require.Equal(t, "input_required", say(row.wrong).ResultType)
		done := say(row.content).told(s)
		require.Equal(t, "answered", done.Status)
		require.ElementsMatch(t, row.answers, done.Answers)
	}
}

// TestNumbersOfFormsAreRecordedAsTyped: with their digits where the text of the form is known, and
// otherwise not at all when a double may be another number.
func TestNumbersOfFormsAreRecordedAsTyped(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	question := func() (asked api.UserQuestionRequest, arguments string) {
		raised, err := (&ask.Asker{Client: s.person}).Raise(t.Context(), ask.Call{Question: &api.UserQuestionRequest{
			Payload:        api.JSON(`{"message":"Which?"}`),
			ResponseSchema: api.JSON(`{"type":"object","properties":{"n":{"type":"integer"},"x":{"type":"number"}}}`),
		}})
		require.NoError(t, err)
		run, err := s.person.GetRun(t.Context(), raised.RunID)
		require.NoError(t, err)
		return run.PendingQuestions[0], `{"run_id":"` + raised.RunID + `","wait_seconds":1}`
	}
	recorded := func(asked api.UserQuestionRequest) string {
		view, err := s.person.GetRequest(t.Context(), asked.Handle)
		require.NoError(t, err)
		if view.Resolution == nil {
			return ""
		}
		return string(view.Resolution.Value)
	}
	const exact = `{"x":1.0,"n":9007199254740993}`
	asked, arguments := question()
	first := r.ask(forms, "check_decision", arguments, nil)
	say := func(content string) *reply {
		return r.ask(forms, "check_decision", arguments, map[string]any{
			"requestState": first.RequestState, "inputResponses": map[string]any{asked.Handle: map[string]any{"action": "accept", "content": json.RawMessage(content)}},
		})
	}
	// A transport that keeps no text.
	r.transport = func(plain mcp.Transport) mcp.Transport { return plain }
	for _, rounded := range []string{exact, `{"n":-9007199254740993}`, `{"x":1e300}`} {
		require.Equal(t, asked.Handle, first.only(s))
		refused := say(rounded)
		require.Contains(t, refused.Content[0].Text, "more digits", rounded)
		require.Empty(t, recorded(asked), rounded)
	}
	say(`{"n":7,"x":0.5}`)
	require.JSONEq(t, `{"n":7,"x":0.5}`, recorded(asked))

	r.transport = mcptools.Exact
	for _, content := range []string{exact, `{"x":0.1234567890123456789}`, `{"n":-9007199254740993,"x":1.50}`, `{"x":1e300}`, `{"x":0.50000000000000000001}`} {
		asked, arguments = question()
		first = r.ask(forms, "check_decision", arguments, nil)
		say(content)
		require.Equal(t, content, recorded(asked))
	}
	// A text that says something else than the form counts for nothing.
	asked, arguments = question()
	first, r.transport = r.ask(forms, "check_decision", arguments, nil), func(plain mcp.Transport) mcp.Transport { return plain }
	r.ask(forms, "check_decision", arguments, map[string]any{
		"requestState": first.RequestState, "inputResponses": map[string]any{asked.Handle: map[string]any{
			"action": "accept", "content": map[string]any{"n": 7}, "_meta": map[string]any{"holdpoint.dev/content-text": `{"n":8}`},
		}},
	})
	require.JSONEq(t, `{"n":7}`, recorded(asked))

	r.transport = mcptools.Exact
	asked, arguments = question()
	task := r.ask(both, "check_decision", arguments, nil)
	require.NotEmpty(t, task.TaskID)
	require.Nil(t, r.task(both, "tasks/update", task.TaskID, map[string]any{asked.Handle: map[string]any{"action": "accept", "content": json.RawMessage(exact)}}).Error)
	require.Equal(t, exact, recorded(asked))
}

// TestNobodyDecidesAboutWhatIsNotShown: content that does not fit a form, or would be invisible in
// it.
func TestNobodyDecidesAboutWhatIsNotShown(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	large := r.ask(both, "request_approval", `{"tool_name":"x","input":{"text":"`+strings.Repeat("long ", 4000)+`"}}`, nil)
	require.Equal(t, "working", large.Status)
	require.Nil(t, r.task(both, "tasks/cancel", large.TaskID).Error)
	hidden := r.ask(forms, "request_approval", `{"tool_name":"x","input":{"command":"ls \u202etxt.exe\u200b\u3164\udb40\udd00"},"description":"from \u0430pple.com","reason":"fine\u00a0\u2066"}`, nil)
	require.False(t, hidden.IsError, hidden.Content)
	message := hidden.InputRequests[hidden.only(s)].Params.Message
	for _, written := range []string{`ls \u202etxt.exe\u200b\u3164\u{e0100}`, `fine\u00a0\u2066`, `from \u0430pple.com`} {
		require.Contains(t, message, written)
	}
	questions := s.replica(mcptools.Options{SessionID: "questions"})
	same := questions.ask(both, "ask_user", `{"question":"Which?","options":["a","a"]}`, nil)
	require.Equal(t, "working", same.Status, "which one was meant could not be told")
	page, err := s.person.ListQuestions(t.Context(), client.PendingListParams{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1) // it was asked
}

// linked returns a server whose caller may decide only if it says so, and that has addresses of requests.
func (s *scene) linked(session string, decides bool) *replica {
	return s.replica(mcptools.Options{
		SessionID: session, MayDecide: func(context.Context) bool { return decides },
		Link: func(handle string) string { return "https://holdpoint.example/?prompt=" + handle },
	})
}

// TestAPersonAtTheClientIsHandedALink: to a request that the client may not decide, or cannot show whole.
// The client's response decides nothing.
func TestAPersonAtTheClientIsHandedALink(t *testing.T) {
	s := newScene(t)
	const large = `{"tool_name":"deploy","wait_seconds":1,"input":{"text":"%s"}}`
	for name, one := range map[string]struct {
		replica      *replica
		capabilities mcp.ClientCapabilities
		arguments    string
	}{
		"may not decide":      {s.linked("a", false), formsLink, `{"tool_name":"deploy","input":{},"wait_seconds":1}`},
		"shows no forms":      {s.linked("b", true), links, `{"tool_name":"deploy","input":{},"wait_seconds":1}`},
		"cannot be shown":     {s.linked("c", true), formsLink, fmt.Sprintf(large, strings.Repeat("long ", 4000))},
		"and makes it a task": {s.linked("d", false), mcp.ClientCapabilities{Elicitation: links.Elicitation, Extensions: takesTask.Extensions}, `{"tool_name":"deploy","input":{}}`},
	} {
		first := one.replica.ask(one.capabilities, "request_approval", one.arguments, nil)
		open := s.pending()
		if first.TaskID != "" {
			first.InputRequests = one.replica.task(one.capabilities, "tasks/get", first.TaskID).InputRequests
		}
		shown := first.InputRequests[first.only(s)]
		require.Equal(t, "elicitation/create", shown.Method, name)
		require.Equal(t, "url", shown.Params.Mode, name)
		require.Equal(t, "https://holdpoint.example/?prompt="+open.Request.Handle, shown.Params.URL, name)
		require.Equal(t, "The agent coder asks to run deploy. See the request and decide in the browser.", shown.Params.Message, name)

		opened := map[string]any{open.Request.Handle: accept(map[string]any{"decision": "allow"})}
		if first.TaskID != "" {
			require.Nil(t, one.replica.task(one.capabilities, "tasks/update", first.TaskID, opened).Error, name)
		} else {
			again := one.replica.ask(one.capabilities, "request_approval", one.arguments, map[string]any{"requestState": first.RequestState, "inputResponses": opened})
			require.Equal(t, "pending", again.told(s).Status, "%s: opening the link decides nothing, and it is not handed out twice", name)
		}
		s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny})
	}

	// Whole forms are preferred, and a server without addresses has no links.
	first := s.linked("e", true).ask(formsLink, "request_approval", deploy, nil)
	require.Equal(t, "form", first.InputRequests[first.only(s)].Params.Mode)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny})
	unlinked := s.linked("f", false)
	unlinked.options.Link = nil
	require.Equal(t, "pending", unlinked.ask(links, "request_approval", `{"tool_name":"deploy","input":{},"wait_seconds":1}`, nil).told(s).Status)
}

// TestAClientOfAnEarlierRevisionIsToldWhenALinkIsDone: it may close what it has opened.
func TestAClientOfAnEarlierRevisionIsToldWhenALinkIsDone(t *testing.T) {
	t.Run("after it was opened", func(t *testing.T) { linkIsDone(t, func(context.Context) {}) })
	t.Run("before the client has said that it was opened", func(t *testing.T) { linkIsDone(t, func(ctx context.Context) { <-ctx.Done() }) })
}

// linkIsDone decides a request behind a link. The client says that the link was opened when opening returns.
func linkIsDone(t *testing.T, opening func(context.Context)) {
	t.Helper()
	s := newScene(t)
	r := s.linked("work", false)
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := mcptools.NewServer(r.options).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	done := make(chan string, 1)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "old"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: links.Elicitation},
		ElicitationHandler: func(ctx context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			require.Equal(t, "https://holdpoint.example/?prompt="+request.Params.ElicitationID, request.Params.URL)
			go s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorAllow})
			opening(ctx)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
		ElicitationCompleteHandler: func(_ context.Context, told *mcp.ElicitationCompleteNotificationRequest) {
			done <- told.Params.ElicitationID
		},
	}).Connect(t.Context(), ours, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = session.Close()
		_ = served.Wait()
	})
	require.Equal(t, "allowed", s.told(session, "request_approval", deploy).Status)
	select {
	case handle := <-done:
		require.NotEmpty(t, handle)
	case <-time.After(time.Minute):
		require.Fail(t, "the client was not told")
	}
}

// TestWhatIsNotDeclaredIsNotAnswered: no empty list of prompts or resources.
func TestWhatIsNotDeclaredIsNotAnswered(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	for _, method := range []string{"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "completion/complete"} {
		refused := r.call(forms, method, map[string]any{"name": "x", "uri": "test://x"})
		require.NotNil(t, refused.Error, method)
		require.Equal(t, int64(jsonrpc.CodeMethodNotFound), int64(refused.Error.Code), method)
	}
	require.Nil(t, r.call(forms, "tools/list", map[string]any{}).Error)
}

// TestARefusedDecisionIsToldAndChangesNothing: the service says no, whatever this process believed.
func TestARefusedDecisionIsToldAndChangesNothing(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Closed: true})
	token := func(role api.Role) client.Option {
		made, _, err := service.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: string(role), Role: role}, "user:test", "")
		require.NoError(t, err)
		return client.WithToken(made.Secret)
	}
	s := &scene{T: t, service: service, person: service.Connect(token(api.RoleOperator))}
	r := s.replica(mcptools.Options{})
	r.options.Client = service.Connect(token(api.RoleAgent))
	first := r.ask(forms, "request_approval", deploy, nil)
	said := map[string]any{first.only(s): accept(map[string]any{"decision": "allow"})}
	refused := r.ask(forms, "request_approval", deploy, map[string]any{"requestState": first.RequestState, "inputResponses": said})
	require.True(t, refused.IsError)
	require.Contains(t, refused.Content[0].Text, "nothing was decided: forbidden")
	require.Contains(t, refused.Content[0].Text, "call check_decision with the run_id "+s.pending().RunID)

	task := r.ask(both, "check_decision", `{"run_id":"`+s.pending().RunID+`"}`, nil)
	refused = r.task(both, "tasks/update", task.TaskID, said)
	require.Equal(t, -32602, refused.Error.Code)
	require.Contains(t, refused.Error.Message, "nothing was decided: forbidden")
	require.Equal(t, "input_required", r.task(both, "tasks/get", task.TaskID).Status)
	s.pending()

	gone := r.ask(both, "check_decision", `{"run_id":"nobody"}`, nil)
	require.True(t, gone.IsError)
	require.Contains(t, gone.Content[0].Text, "run_not_found")
}

// TestAClientOfAnEarlierRevisionIsAskedWhileItsCallIsHeld: the first decision counts.
func TestAClientOfAnEarlierRevisionIsAskedWhileItsCallIsHeld(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{})
	connect := func(answer func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientSession {
		ours, theirs := mcp.NewInMemoryTransports()
		served, err := mcptools.NewServer(r.options).Connect(t.Context(), mcptools.Exact(theirs), nil)
		require.NoError(t, err)
		session, err := mcp.NewClient(&mcp.Implementation{Name: "old"}, &mcp.ClientOptions{ElicitationHandler: answer}).
			Connect(t.Context(), ours, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		require.NoError(t, err)
		t.Cleanup(func() {
			_ = session.Close()
			_ = served.Wait()
		})
		return session
	}
	says := connect(func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		require.Contains(t, request.Params.Message, "production")
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
	})
	require.Equal(t, "allowed", s.told(says, "request_approval", deploy).Status)

	// Numbers keep their digits.
	raised, err := (&ask.Asker{Client: s.person}).Raise(t.Context(), ask.Call{Question: &api.UserQuestionRequest{
		Payload: api.JSON(`{"message":"How much?"}`), ResponseSchema: api.JSON(`{"type":"object","properties":{"n":{"type":"integer"},"x":{"type":"number"}}}`),
	}})
	require.NoError(t, err)
	question, err := s.person.GetRun(t.Context(), raised.RunID)
	require.NoError(t, err)
	exactly := connect(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": int64(9007199254740993), "x": 0.5}}, nil
	})
	checked := s.told(exactly, "check_decision", `{"run_id":"`+raised.RunID+`","wait_seconds":60}`)
	require.Equal(t, "answered", checked.Status)
	require.Equal(t, `{"n":9007199254740993,"x":0.5}`, string(checked.Value), "the read spends the decision")
	view, err := s.person.GetRequest(t.Context(), question.PendingQuestions[0].Handle)
	require.NoError(t, err)
	require.Equal(t, `{"n":9007199254740993,"x":0.5}`, string(view.Resolution.Value))

	// The dialog ends when someone else decides.
	ended := make(chan struct{})
	waits := connect(func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		go s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "no"})
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	require.Equal(t, "Denied by ada: no", s.told(waits, "request_approval", deploy).Message)
	<-ended

	// A client without a user declines automatically. The request stays open.
	declines := connect(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "decline"}, nil
	})
	require.Equal(t, "pending", s.told(declines, "request_approval", `{"tool_name":"x","input":{},"wait_seconds":1}`).Status)
	s.pending()
}
