package overhttp_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/mcptools/overhttp"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/runs/watch"
	"github.com/holdpoint/holdpoint/store/read"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

func TestMain(m *testing.M) {
	read.Timeout = time.Minute
	goleak.VerifyTestMain(m)
}

// service is a service that asks for tokens.
type service struct {
	*testing.T
	url     string
	secrets map[api.Role]string
	drain   func()
}

func serve(t *testing.T, mode auth.Mode, change ...func(*overhttp.Options)) *service {
	t.Helper()
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	require.NoError(t, err)
	hub := watch.NewHub()
	unsubscribe := store.Subscribe(hub.Publish)
	keyring := auth.NewKeyring(auth.Options{
		Tokens: store, Mode: mode, NewID: runs.NewID, Logger: slog.New(slog.DiscardHandler), NowMs: nowMs,
	})
	options := overhttp.Options{Version: "test", Signing: keys(t, store), NowMs: nowMs}
	for _, change := range change {
		change(&options)
	}
	served := httpapi.New(httpapi.Options{
		Store: store, Hub: hub, Claims: claims.New(store, claims.Options{}), Keyring: keyring,
		Faces: []kit.Mount{overhttp.New(options)},
	})
	server := httptest.NewServer(served.Handler())
	s := &service{T: t, url: server.URL, secrets: map[api.Role]string{}, drain: served.Drain}
	t.Cleanup(func() {
		served.Drain()
		server.Close()
		unsubscribe()
		require.NoError(t, store.Close())
	})
	if mode == auth.None {
		return s
	}
	for _, role := range auth.Roles {
		made, _, err := keyring.Create(t.Context(), &api.CreateTokenBody{Name: string(role), Role: role}, "user:test", "")
		require.NoError(t, err)
		s.secrets[role] = made.Secret
	}
	return s
}

func nowMs() int64 { return 1_750_000_000_000 }

// keys returns the keys of another replica. Replicas know each other's keys through the store.
func keys(t *testing.T, store signing.Keeper) *signing.Keys {
	t.Helper()
	private, err := signing.Generate()
	require.NoError(t, err)
	made, err := signing.New([]ed25519.PrivateKey{private}, store, nowMs)
	require.NoError(t, err)
	require.NoError(t, made.Publish(t.Context()))
	return made
}

// withToken adds the credential of a role.
type withToken struct{ secret string }

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if w.secret != "" {
		r.Header.Set("Authorization", "Bearer "+w.secret)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func (s *service) connect(role api.Role, query string) *mcp.ClientSession {
	s.Helper()
	transport := &mcp.StreamableClientTransport{
		Endpoint: s.url + "/mcp" + query, HTTPClient: &http.Client{Transport: withToken{s.secrets[role]}}, DisableStandaloneSSE: true, MaxRetries: -1,
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(s.Context(), transport, nil)
	require.NoError(s, err)
	s.Cleanup(func() {
		_ = session.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return session
}

func (s *service) person() *client.Client {
	s.Helper()
	var options []client.Option
	if secret := s.secrets[api.RoleOperator]; secret != "" {
		options = append(options, client.WithToken(secret))
	}
	person, err := client.New(s.url, options...)
	require.NoError(s, err)
	s.Cleanup(person.Close)
	return person
}

func text(ctx context.Context, session *mcp.ClientSession, tool, arguments string) string {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error()
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// pending waits for the open approval as an assistant sees it.
func (s *service) pending(assistant *mcp.ClientSession) api.PendingApprovalView {
	s.Helper()
	var listed struct {
		Approvals []api.PendingApprovalView `json:"approvals"`
	}
	require.Eventually(s, func() bool {
		return json.Unmarshal([]byte(text(s.Context(), assistant, "list_pending", `{}`)), &listed) == nil && len(listed.Approvals) == 1
	}, time.Minute, 5*time.Millisecond)
	return listed.Approvals[0]
}

const prompt = `{"tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_1"}`

func resolution(open api.PendingApprovalView) string {
	return `{"run_id":"` + open.RunID + `","request_id":"` + open.Request.ID + `","behavior":"allow","input_digest":"` + open.Request.InputDigest +
		`","updated_input":{"command":"ls -l"}}`
}

func TestAnAgentAsksAndAnAssistantDecidesEachWithItsRole(t *testing.T) {
	s := serve(t, auth.Required)
	agent, assistant := s.connect(api.RoleAgent, "?session=work&agent=coder"), s.connect(api.RoleOperator, "")
	offered := func(session *mcp.ClientSession) (names []string) {
		list, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	require.ElementsMatch(t, []string{"ask_user", "check_decision", "permission_prompt", "request_approval"}, offered(agent))
	require.ElementsMatch(t, []string{"answer", "cancel", "list_pending", "resolve"}, offered(assistant))

	answered := make(chan string, 1)
	go func() { answered <- text(t.Context(), agent, "permission_prompt", prompt) }()
	open := s.pending(assistant)
	require.Equal(t, "work", open.SessionID)
	require.Equal(t, "coder", open.AgentID)
	require.Contains(t, text(t.Context(), agent, "resolve", resolution(open)), "resolve") // an unknown tool
	require.Contains(t, text(t.Context(), assistant, "resolve", resolution(open)), `"decided":true`)
	want := `{"behavior":"allow","updatedInput":{"command":"ls -l"}}`
	require.Equal(t, want, <-answered)
	// A decision that was read is spent: the same call is raised again.
	go func() { answered <- text(t.Context(), agent, "permission_prompt", prompt) }()
	again := s.pending(assistant)
	require.NotEqual(t, open.RunID, again.RunID)
	require.Contains(t, text(t.Context(), assistant, "resolve", resolution(again)), `"decided":true`)
	require.Equal(t, want, <-answered)
	decisions, err := s.person().ListDecisions(t.Context(), client.DecisionListParams{})
	require.NoError(t, err)
	require.Equal(t, "user:operator", decisions.Items[0].Resolution.ResolvedBy)
	require.Equal(t, "api:mcp", decisions.Items[0].Resolution.Via)

	// Without a session, a call's id is not enough; keys are scoped to the caller.
	nameless := s.connect(api.RoleAgent, "")
	require.Contains(t, text(t.Context(), nameless, "permission_prompt", prompt), `{"behavior":"deny","message":"holdpoint was given no session`)
	const keyed = `{"tool_name":"x","input":{},"key":"k","wait_seconds":0}`
	first := text(t.Context(), nameless, "request_approval", keyed)
	require.Contains(t, first, `"status":"pending"`)
	require.Equal(t, first, text(t.Context(), s.connect(api.RoleAgent, ""), "request_approval", keyed))
	require.NotEqual(t, first, text(t.Context(), s.connect(api.RoleAdmin, ""), "request_approval", keyed))
}

// With exclude_requester=true, every tool's requests need someone else's allow. Without it the
// requester may allow, if its role may decide.
func TestWhoAskedIsExcludedByTheQuery(t *testing.T) {
	s := serve(t, auth.Required)
	admin, err := client.New(s.url, client.WithToken(s.secrets[api.RoleAdmin]))
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	for query, excluded := range map[string]bool{"": false, "&exclude_requester=false": false, "&exclude_requester=true": true} {
		both := s.connect(api.RoleAdmin, fmt.Sprintf("?for=both&session=eyes-%d%s", len(query), query))
		for tool, arguments := range map[string]string{
			"request_approval":  `{"tool_name":"deploy","input":{},"key":"k","wait_seconds":0}`,
			"permission_prompt": prompt,
		} {
			answered := make(chan string, 1)
			go func() { answered <- text(t.Context(), both, tool, arguments) }()
			open := s.pending(s.connect(api.RoleOperator, ""))
			require.Equal(t, excluded, open.Request.ExcludeRequester, "%s %s", query, tool)
			allow := client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: open.Request.ID, Behavior: api.BehaviorAllow}}}
			_, err := admin.ResolveRunApprovals(t.Context(), open.RunID, allow)
			if excluded {
				var refused *client.Error
				require.ErrorAs(t, err, &refused)
				require.Equal(t, api.CodeRequesterExcluded, refused.Code)
				_, err = s.person().ResolveRunApprovals(t.Context(), open.RunID, allow)
			}
			require.NoError(t, err)
			require.Contains(t, <-answered, map[string]string{"request_approval": `"status":"`, "permission_prompt": `"behavior":"allow"`}[tool])
		}
	}
}

// The query says who is notified of the requests of every tool. What the service refuses raises nothing.
func TestWhoIsNotifiedIsInTheQuery(t *testing.T) {
	s := serve(t, auth.Required)
	agent := s.connect(api.RoleAgent, "?session=work&notify=user:ada&notify=group:oncall")
	refused := s.connect(api.RoleAgent, "?session=work&escalation=nope")
	want := []api.EscalationStep{{Notify: []string{"user:ada", "group:oncall"}}}
	answered := make(chan string, 1)
	go func() { answered <- text(t.Context(), agent, "permission_prompt", prompt) }()
	open := s.pending(s.connect(api.RoleOperator, ""))
	require.Equal(t, want, open.Request.Escalation.Steps)
	_, err := s.person().CancelRun(t.Context(), open.RunID, "")
	require.NoError(t, err)
	<-answered
	require.Contains(t, text(t.Context(), agent, "request_approval", `{"tool_name":"deploy","input":{},"wait_seconds":0}`), `"status":"pending"`)
	require.Equal(t, want, s.pending(s.connect(api.RoleOperator, "")).Request.Escalation.Steps)
	require.Contains(t, text(t.Context(), agent, "ask_user", `{"question":"Where to?","wait_seconds":0}`), `"status":"pending"`)
	questions, err := s.person().ListQuestions(t.Context(), client.PendingListParams{})
	require.NoError(t, err)
	require.Equal(t, want, questions.Items[0].Request.Escalation.Steps)

	for tool, arguments := range map[string]string{
		"permission_prompt": `{"tool_name":"Bash","input":{},"tool_use_id":"other"}`,
		"request_approval":  `{"tool_name":"other","input":{}}`,
		"ask_user":          `{"question":"Where to, then?"}`,
	} {
		require.Contains(t, text(t.Context(), refused, tool, arguments), "this service has no such escalation", tool)
	}
}

// TestACallIsCutShort: the caller disconnects or the service stops. The request stays open, and no
// call is held.
func TestACallIsCutShort(t *testing.T) {
	s := serve(t, auth.Required)
	agent, assistant := s.connect(api.RoleAgent, "?session=work"), s.connect(api.RoleOperator, "")
	ctx, leave := context.WithCancel(t.Context())
	answered := make(chan string, 1)
	go func() { answered <- text(ctx, agent, "permission_prompt", prompt) }()
	open := s.pending(assistant)
	leave()
	<-answered
	require.Equal(t, open.Request.Handle, s.pending(assistant).Request.Handle)

	// Asked again, it is the same request.
	require.Contains(t, text(t.Context(), assistant, "resolve", resolution(open)), `"decided":true`)
	// Its lease would run out only after 15 s.
	holder, err := client.New(s.url, client.WithToken(s.secrets[api.RoleAgent]))
	require.NoError(t, err)
	t.Cleanup(holder.Close)
	_, err = holder.Heartbeat(t.Context(), open.RunID, client.HeartbeatParams{Fence: "1", LeaseMs: api.MinLeaseMs})
	require.NoError(t, err)
	require.Contains(t, text(t.Context(), agent, "permission_prompt", prompt), `"allow"`)

	person := s.person()
	go func() {
		answered <- text(t.Context(), agent, "permission_prompt", `{"tool_name":"Bash","input":{},"tool_use_id":"toolu_2"}`)
	}()
	open = s.pending(assistant)
	s.drain()
	require.NotContains(t, <-answered, `"allow"`)
	run, err := person.GetRun(t.Context(), open.RunID)
	require.NoError(t, err)
	require.Equal(t, api.StatusWaitingForApproval, run.Status)
}

func TestCallsThatAreRefused(t *testing.T) {
	s := serve(t, auth.Required)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	call := func(role api.Role, method, query, body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+"/mcp"+query, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		response, err := (&http.Client{Transport: withToken{s.secrets[role]}}).Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		var text strings.Builder
		require.NoError(t, response.Write(&text))
		return response.StatusCode, text.String()
	}
	for _, row := range []struct {
		role        api.Role
		method      string
		query, body string
		status      int
	}{
		{api.RoleAgent, "POST", "", list, 200},
		{"", "POST", "", list, 401},
		{api.RoleObserver, "POST", "", list, 403},
		{api.RoleAgent, "POST", "?for=people", list, 403},
		{api.RoleAgent, "POST", "?for=both", list, 403},
		{api.RoleOperator, "POST", "?for=agents", list, 403},
		{api.RoleAdmin, "POST", "?for=both", list, 200},
		{api.RoleAdmin, "POST", "?for=all", list, 400},
		{api.RoleAgent, "POST", "?session=a%20b", list, 400},
		{api.RoleAgent, "POST", "?session=", list, 400},
		{api.RoleAgent, "POST", "?exclude-requester=true", list, 400},
		{api.RoleAgent, "POST", "?session=a&session=b", list, 400},
		{api.RoleAdmin, "POST", "?for=both&for=agents", list, 400},
		{api.RoleAgent, "POST", "?agent=a&agent=a", list, 400},
		{api.RoleAgent, "POST", "?agent=", list, 400},
		{api.RoleAdmin, "POST", "?for=", list, 400},
		{api.RoleAgent, "POST", "?agent=..", list, 400},
		{api.RoleAgent, "POST", "?exclude_requester=false", list, 200},
		{api.RoleAgent, "POST", "?exclude_requester=", list, 400},
		{api.RoleAgent, "POST", "?exclude_requester=yes", list, 400},
		{api.RoleAgent, "POST", "?exclude_requester=true&exclude_requester=false", list, 400},
		{api.RoleAgent, "POST", "?elicitation=false", list, 200},
		{api.RoleAgent, "POST", "?elicitation=", list, 400},
		{api.RoleAgent, "POST", "?elicitation=no", list, 400},
		{api.RoleAgent, "POST", "?escalation=usual", list, 200},
		{api.RoleAgent, "POST", "?escalation=", list, 400},
		{api.RoleAgent, "POST", "?escalation=usual&escalation=other", list, 400},
		{api.RoleAgent, "POST", "?notify=user:ada&notify=group:oncall", list, 200},
		{api.RoleAgent, "POST", "?notify=user:ada&notify=", list, 400},
		{api.RoleAgent, "POST", "?notify=user:ada&escalation=usual", list, 400},
		{api.RoleAgent, "GET", "", "", 405},
		{api.RoleAgent, "DELETE", "", "", 405},
		{api.RoleAgent, "POST", "", "", 400},
		{api.RoleAgent, "POST", "", "{", 400},
		{api.RoleAgent, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, 400},
		{api.RoleAgent, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_decision","name":"ask_user","arguments":{"question":"?","wait_seconds":0}}}`, 400},
		{api.RoleAgent, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"` + strings.Repeat(" ", 2<<20) + `}}`, 413},
	} {
		status, text := call(row.role, row.method, row.query, row.body)
		require.Equal(t, row.status, status, "%s %s %s %.40s: %s", row.role, row.method, row.query, row.body, text)
	}
}

func TestAnOpenServiceOffersAgentsNothingToDecideWith(t *testing.T) {
	s := serve(t, auth.None)
	require.Contains(t, text(t.Context(), s.connect("", ""), "list_pending", `{}`), "list_pending") // an unknown tool
	require.Contains(t, text(t.Context(), s.connect("", "?for=people"), "list_pending", `{}`), `"approvals":[]`)
}

// rpc makes one call of revision 2026-07-28 and returns the status and the message.
func (s *service) rpc(role api.Role, query, method, name, params string) (status int, message string) {
	s.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`
	return s.post(role, query, method, name, body)
}

// post makes a call with the headers of revision 2026-07-28.
func (s *service) post(role api.Role, query, method, name, body string) (status int, message string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+"/mcp"+query, strings.NewReader(body))
	require.NoError(s, err)
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(header, value)
	}
	response, err := (&http.Client{Transport: withToken{s.secrets[role]}}).Do(r)
	require.NoError(s, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s, err)
	return response.StatusCode, string(text)
}

// TestNumbersOfFormsKeepTheirDigitsOverHTTP: the text of a form is recorded, and not what a double makes
// of it.
func TestNumbersOfFormsKeepTheirDigitsOverHTTP(t *testing.T) {
	s := serve(t, auth.Required)
	admin, err := client.New(s.url, client.WithToken(s.secrets[api.RoleAdmin]))
	require.NoError(t, err)
	t.Cleanup(admin.Close)
	raised, err := (&ask.Asker{Client: admin}).Raise(t.Context(), ask.Call{Question: &api.UserQuestionRequest{
		Payload: api.JSON(`{"message":"How much?"}`), ResponseSchema: api.JSON(`{"type":"object","properties":{"n":{"type":"integer"},"x":{"type":"number"}}}`),
	}})
	require.NoError(t, err)
	run, err := admin.GetRun(t.Context(), raised.RunID)
	require.NoError(t, err)
	question := run.PendingQuestions[0]
	call := func(members string) string {
		status, text := s.post(api.RoleAdmin, "", "tools/call", "check_decision", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"check_decision",`+
			`"arguments":{"run_id":"`+run.RunID+`","wait_seconds":1},`+members+`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`)
		require.Equal(t, 200, status, text)
		return text
	}
	var asked struct {
		Result struct {
			RequestState string `json:"requestState"`
		} `json:"result"`
	}
	require.NoError(t, json.Unmarshal([]byte(call("")), &asked))
	const exact = `{"n":9007199254740993,"x":0.1234567890123456789}`
	told := call(`"requestState":"` + asked.Result.RequestState + `","inputResponses":{"` + question.Handle + `":{"action":"accept","content":` + exact + `}},`)
	view, err := admin.GetRequest(t.Context(), question.Handle)
	require.NoError(t, err)
	require.NotNil(t, view.Resolution, "%s %s", asked, told)
	require.Equal(t, exact, string(view.Resolution.Value))
}

// TestATaskOverHTTP: the role says whether the person at the client decides, the principal whose
// task it is.
func TestATaskOverHTTP(t *testing.T) {
	s := serve(t, auth.Required)
	status, discovered := s.rpc(api.RoleAgent, "", "server/discover", "", "")
	require.Equal(t, 200, status)
	require.Contains(t, discovered, `"extensions":{"io.modelcontextprotocol/tasks":{}}`)
	_, discovered = s.rpc(api.RoleOperator, "", "server/discover", "", "")
	require.NotContains(t, discovered, "modelcontextprotocol/tasks")

	const approval = `"name":"request_approval","arguments":{"tool_name":"deploy","input":{}},`
	start := func(role api.Role, session string) (id, status string) {
		var made struct {
			Result struct {
				TaskID string `json:"taskId"`
				Status string `json:"status"`
			} `json:"result"`
		}
		code, text := s.rpc(role, "?session="+session, "tools/call", "request_approval", approval)
		require.Equal(t, 200, code, text)
		require.NoError(t, json.Unmarshal([]byte(text), &made))
		return made.Result.TaskID, made.Result.Status
	}
	mine, working := start(api.RoleAgent, "a")
	require.Equal(t, "working", working)
	theirs, asking := start(api.RoleAdmin, "b")
	require.Equal(t, "input_required", asking)
	// A client that declares forms and shows none is not asked.
	for value, status := range map[string]string{"true": "input_required", "false": "working"} {
		_, asking = start(api.RoleAdmin, "c-"+value+"&elicitation="+value)
		require.Equal(t, status, asking)
	}
	get := func(role api.Role, id string) (int, string) {
		return s.rpc(role, "", "tasks/get", id, `"taskId":"`+id+`",`)
	}
	status, text := get(api.RoleAdmin, theirs)
	require.Equal(t, 200, status)
	require.Contains(t, text, `"elicitation/create"`)
	for role, id := range map[api.Role]string{api.RoleAdmin: mine, api.RoleAgent: theirs} {
		status, text = get(role, id)
		require.Equal(t, 400, status)
		require.Contains(t, text, `"code":-32602,"message":"no such task"`)
	}

	// The header by which calls are routed must be the task's.
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		for _, name := range []string{"", theirs} {
			status, text = s.rpc(api.RoleAgent, "", method, name, `"taskId":"`+mine+`","inputResponses":{},`)
			require.Equal(t, 400, status)
			require.Contains(t, text, `-32020`)
			require.Contains(t, text, `"id":7`)
		}
	}
	status, _ = s.rpc(api.RoleAgent, "", "tasks/get", mine, `"taskId":"`+mine+`","x":"`+strings.Repeat("x", 2<<20)+`",`)
	require.Equal(t, 413, status)
	status, text = s.rpc(api.RoleAgent, "", "tasks/list", "", "")
	require.Equal(t, 404, status)
	require.Contains(t, text, "-32601")

	for range 2 {
		status, text = s.rpc(api.RoleAgent, "", "tasks/cancel", mine, `"taskId":"`+mine+`",`)
		require.Equal(t, 200, status, text)
	}
	_, text = get(api.RoleAgent, mine)
	require.Contains(t, text, `"status":"cancelled"`)
}
