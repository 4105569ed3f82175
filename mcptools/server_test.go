package mcptools_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// scene is a service, a person at it, and agents whose servers speak to it.
type scene struct {
	*testing.T
	service *inprocess.Service
	person  *client.Client
}

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	return &scene{T: t, service: service, person: service.Connect(client.WithActor("ada"))}
}

// connect starts a server and returns its client.
func (s *scene) connect(options mcptools.Options) *mcp.ClientSession {
	s.Helper()
	if options.Client == nil {
		options.Client = s.service.Connect()
	}
	if options.For == mcptools.ForAgents && options.SessionID == "" {
		options.SessionID, options.AgentID = "work", "coder"
	}
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := mcptools.NewServer(options).Connect(s.Context(), theirs, nil)
	require.NoError(s, err)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(s.Context(), ours, nil)
	require.NoError(s, err)
	s.Cleanup(func() {
		_ = session.Close()
		_ = served.Wait()
	})
	return session
}

func (s *scene) agent() *mcp.ClientSession {
	s.Helper()
	return s.connect(mcptools.Options{For: mcptools.ForAgents, Directory: "/srv/app"})
}

// text calls a tool and returns its text.
func (s *scene) text(session *mcp.ClientSession, tool, arguments string) (text string, failed bool) {
	s.Helper()
	result, err := session.CallTool(s.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	require.NoError(s, err)
	require.Len(s, result.Content, 1)
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

// told is the union of the tools' answers.
type told struct {
	Status    string                    `json:"status"`
	Message   string                    `json:"message"`
	RunID     string                    `json:"run_id"`
	RequestID string                    `json:"request_id"`
	Input     json.RawMessage           `json:"input"`
	Edited    bool                      `json:"edited"`
	Decided   bool                      `json:"decided"`
	Answers   []string                  `json:"answers"`
	Value     json.RawMessage           `json:"value"`
	RuleText  string                    `json:"rule_text"`
	Approvals []api.PendingApprovalView `json:"approvals"`
	Questions []api.PendingQuestionView `json:"questions"`
}

// told calls a tool that must succeed.
func (s *scene) told(session *mcp.ClientSession, tool, arguments string) (told told) {
	s.Helper()
	text, failed := s.text(session, tool, arguments)
	require.False(s, failed, text)
	require.NoError(s, json.Unmarshal([]byte(text), &told))
	return told
}

// refused calls a tool that must tell the model of an error.
func (s *scene) refused(session *mcp.ClientSession, tool, arguments string) string {
	s.Helper()
	text, failed := s.text(session, tool, arguments)
	require.True(s, failed, text)
	return text
}

// prompt asks for permission in the background.
func (s *scene) prompt(session *mcp.ClientSession, arguments string) (answer func() string) {
	s.Helper()
	done := make(chan string, 1)
	go func() {
		result, err := session.CallTool(s.Context(), &mcp.CallToolParams{Name: "permission_prompt", Arguments: json.RawMessage(arguments)})
		if err != nil {
			done <- err.Error()
			return
		}
		done <- result.Content[0].(*mcp.TextContent).Text
	}()
	return func() string {
		s.Helper()
		select {
		case text := <-done:
			return text
		case <-time.After(time.Minute):
			require.FailNow(s, "no answer to the permission prompt")
			return ""
		}
	}
}

// pending waits until exactly one approval is open.
func (s *scene) pending() api.PendingApprovalView {
	s.Helper()
	var open []api.PendingApprovalView
	require.Eventually(s, func() bool {
		page, err := s.person.ListApprovals(s.Context(), client.PendingListParams{})
		if err == nil {
			open = page.Items
		}
		return len(open) == 1
	}, time.Minute, 5*time.Millisecond)
	return open[0]
}

func (s *scene) nothingPending() {
	s.Helper()
	require.Eventually(s, func() bool {
		page, err := s.person.ListApprovals(s.Context(), client.PendingListParams{})
		return err == nil && len(page.Items) == 0
	}, time.Minute, 5*time.Millisecond)
}

func (s *scene) decide(open api.PendingApprovalView, resolution api.ApprovalResolution) {
	s.Helper()
	resolution.RequestID = open.Request.ID
	_, err := s.person.ResolveRunApprovals(s.Context(), open.RunID, client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{resolution}})
	require.NoError(s, err)
}

const touch = `{"tool_name":"Bash","input":{"command":"touch a"},"tool_use_id":"toolu_1"}`

func TestAPromptIsDecidedOnceAndForAll(t *testing.T) {
	s := newScene(t)
	answer := s.prompt(s.agent(), touch)
	open := s.pending()
	require.Equal(t, "Bash", open.Request.ToolName)
	require.Equal(t, "toolu_1", open.Request.ToolCallID)
	require.Equal(t, "coder", open.AgentID)
	require.Equal(t, "work", open.SessionID)
	s.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"command":"touch b"}`)})
	want := `{"behavior":"allow","updatedInput":{"command":"touch b"}}`
	require.Equal(t, want, answer())

	// The decision was read, so the id is spent: the same call is raised again, and so is another
	// one.
	for _, arguments := range []string{touch, `{"tool_name":"Bash","input":{"command":"rm -rf /"},"tool_use_id":"toolu_1"}`} {
		again := s.prompt(s.agent(), arguments)
		s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not again"})
		require.JSONEq(t, `{"behavior":"deny","message":"Denied by ada: not again"}`, again())
	}
	other := s.prompt(s.connect(mcptools.Options{For: mcptools.ForAgents, SessionID: "other", AgentID: "coder"}), touch)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "not there"})
	require.JSONEq(t, `{"behavior":"deny","message":"Denied by ada: not there"}`, other())

	// Its run is over with the reading.
	run, err := s.person.GetRun(t.Context(), open.RunID)
	require.NoError(t, err)
	require.Equal(t, api.StatusCompleted, run.Status)
}

func TestAPromptWithoutEditIsAllowedWithTheInputOnRecord(t *testing.T) {
	s := newScene(t)
	answer := s.prompt(s.agent(), touch)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorAllow})
	require.Equal(t, `{"behavior":"allow","updatedInput":{"command":"touch a"}}`, answer())
}

func TestWhatIsNotAllowedIsDeniedWithTheReason(t *testing.T) {
	s := newScene(t)
	{ // expired
		agent := s.connect(mcptools.Options{For: mcptools.ForAgents, SessionID: "e", AgentID: "a", ExpiresAfter: time.Millisecond})
		require.JSONEq(t, `{"behavior":"deny","message":"Denied: nobody decided in time"}`, s.prompt(agent, touch)())
	}
	{ // cancelled
		answer := s.prompt(s.agent(), touch)
		_, err := s.person.CancelRun(t.Context(), s.pending().RunID, "stop it")
		require.NoError(t, err)
		require.Contains(t, answer(), `{"behavior":"deny","message":"Withdrawn`)
	}
	{ // by a rule
		_, err := s.person.AddRule(t.Context(), client.AddRuleParams{Effect: api.RuleDeny, ToolName: "Rm", Match: api.RuleMatch{Params: map[string]string{"path": "**"}}, Reason: "never"})
		require.NoError(t, err)
		text := s.prompt(s.agent(), `{"tool_name":"Rm","input":{"path":"/"},"tool_use_id":"r"}`)()
		require.Contains(t, text, `{"behavior":"deny","message":"Denied by the rule: Deny the tool Rm`)
	}
	{ // unreadable
		for _, arguments := range []string{`{"tool_name":7}`, `{"tool_name":"x","input":{"n":1e400}}`, `{"tool_name":"x"}`, `{"input":{}}`, `[]`} {
			require.Contains(t, s.prompt(s.agent(), arguments)(), `"behavior":"deny"`, arguments)
		}
	}
	{ // the service is away
		away, err := client.New("http://127.0.0.1:1", client.WithRetry(client.RetryPolicy{MaxAttempts: 1}))
		require.NoError(t, err)
		text := s.prompt(s.connect(mcptools.Options{Client: away, For: mcptools.ForAgents}), touch)()
		require.Contains(t, text, `{"behavior":"deny","message":"holdpoint could not get a decision, so nothing was allowed: the holdpoint service does not answer`)
	}
	{ // the session has ended
		_, err := s.person.CreateSession(t.Context(), client.CreateSessionParams{SessionID: "over", AgentID: "coder"})
		require.NoError(t, err)
		_, err = s.person.EndSession(t.Context(), "over", "")
		require.NoError(t, err)
		agent := s.connect(mcptools.Options{For: mcptools.ForAgents, SessionID: "over", AgentID: "coder"})
		require.Contains(t, s.prompt(agent, touch)(), `"behavior":"deny"`)
	}
}

// TestADecisionAboutSomethingElseIsNoPermission creates a run like a call's, but its metadata and
// its request differ.
func TestADecisionAboutSomethingElseIsNoPermission(t *testing.T) {
	s := newScene(t)
	worker := s.service.Connect()
	asker := ask.Asker{Client: worker, AgentID: "coder"}
	wipe := ask.Call{SessionID: "elsewhere", Key: "toolu_1", Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{"command":"wipe"}`)}}
	raised, err := asker.Raise(t.Context(), wipe)
	require.NoError(t, err)
	model, err := worker.GetRun(t.Context(), raised.RunID)
	require.NoError(t, err)
	harmless := api.ApprovalRequest{ID: "approval", ToolCallID: "toolu_1", ToolName: "Bash", Input: api.JSON(`{"command":"ls"}`)}
	_, err = worker.CreateRun(t.Context(), client.CreateRunParams{
		SessionID: "work", RunID: "forged", AgentID: "coder", Kind: api.KindCall, Metadata: model.Metadata,
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{harmless}},
	})
	require.NoError(t, err)
	_, err = s.person.ResolveRunApprovals(t.Context(), "forged", client.ResolveApprovalsParams{Resolutions: []api.ApprovalResolution{{RequestID: "approval", Behavior: api.BehaviorAllow}}})
	require.NoError(t, err)
	_, err = asker.Await(t.Context(), "forged", 0)
	require.ErrorIs(t, err, ask.ErrForeign)
}

// TestCallsOfOneSessionAreOpenAtTheSameTime: in any order, even while a worker holds a run of the session.
func TestCallsOfOneSessionAreOpenAtTheSameTime(t *testing.T) {
	s := newScene(t)
	_, err := s.service.Connect().CreateRun(t.Context(), client.CreateRunParams{SessionID: "work", RunID: "busy", AgentID: "coder", Claim: &api.ClaimOptions{WorkerID: "w"}})
	require.NoError(t, err)
	agent := s.agent()
	answers := map[string]func() string{}
	for _, command := range []string{"one", "two", "three"} {
		answers[command] = s.prompt(agent, `{"tool_name":"Bash","input":{"command":"`+command+`"},"tool_use_id":"`+command+`"}`)
	}
	open := map[string]api.PendingApprovalView{}
	require.Eventually(t, func() bool {
		page, err := s.person.ListApprovals(t.Context(), client.PendingListParams{SessionID: "work"})
		if err == nil {
			for _, one := range page.Items {
				open[one.Request.ToolCallID] = one
			}
		}
		return len(open) == 3
	}, time.Minute, 5*time.Millisecond)
	for _, command := range []string{"three", "one", "two"} {
		s.decide(open[command], api.ApprovalResolution{Behavior: api.BehaviorAllow})
		require.Equal(t, `{"behavior":"allow","updatedInput":{"command":"`+command+`"}}`, answers[command]())
	}
}

// TestADecisionIsHandedOutOnce: of two processes that wait for one call, one gets the allow, and
// the other raises the call again. A decision that was not read is returned to a repeated call.
func TestADecisionIsHandedOutOnce(t *testing.T) {
	s := newScene(t)
	first, second := s.prompt(s.agent(), touch), s.prompt(s.agent(), touch)
	told := make(chan string, 2)
	for _, answer := range []func() string{first, second} {
		go func() { told <- answer() }()
	}
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorAllow})
	require.Contains(t, <-told, `"behavior":"allow"`)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "once"})
	require.Contains(t, <-told, `Denied by ada: once`)

	dead := ask.Asker{Client: s.service.Connect(), AgentID: "coder"}
	call := ask.Call{SessionID: "work", Key: "k", Approval: &api.ApprovalRequest{ToolName: "Bash", Input: api.JSON(`{}`)}}
	raised, err := dead.Raise(t.Context(), call)
	require.NoError(t, err)
	require.False(t, raised.Joined)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorAllow})
	again, err := dead.Raise(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, raised.RunID, again.RunID)
	decided, err := dead.Await(t.Context(), again.RunID, 0)
	require.NoError(t, err)
	_, _, allowed := decided.Allowed()
	require.True(t, allowed)
	require.False(t, decided.Spent)
	late, err := dead.Await(t.Context(), again.RunID, 0)
	require.NoError(t, err)
	require.True(t, late.Spent)

	// However often a gateway uses an id again, the call that is open is found.
	seen := map[string]bool{raised.RunID: true}
	for range 9 {
		next, err := dead.Raise(t.Context(), call)
		require.NoError(t, err)
		require.False(t, next.Joined)
		require.False(t, seen[next.RunID])
		seen[next.RunID] = true
		joined, err := dead.Raise(t.Context(), call)
		require.NoError(t, err)
		require.Equal(t, ask.Raised{RunID: next.RunID, Joined: true}, *joined)
		s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny})
		_, err = dead.Await(t.Context(), next.RunID, 0)
		require.NoError(t, err)
	}
}

// TestAnAgentsQuestionIsAQuestion: the answer is returned in the input, and a declined question is
// a denial.
func TestAnAgentsQuestionIsAQuestion(t *testing.T) {
	s := newScene(t)
	const asked = `{"tool_name":"AskUserQuestion","tool_use_id":"toolu_q","input":{"questions":[
		{"question":"Which library?","header":"Library","multiSelect":false,"options":[{"label":"date-fns","description":"small"},{"label":"luxon","description":"zones","preview":"DateTime.now()"}]},
		{"question":"Which checks?","header":"Checks","multiSelect":true,"options":[{"label":"lint","description":""},{"label":"test","description":""}]}]}}`
	pendingQuestion := func() api.PendingQuestionView {
		var open []api.PendingQuestionView
		require.Eventually(t, func() bool {
			page, err := s.person.ListQuestions(t.Context(), client.PendingListParams{SessionID: "work"})
			if err == nil {
				open = page.Items
			}
			return len(open) == 1
		}, time.Minute, 5*time.Millisecond)
		return open[0]
	}
	answer := s.prompt(s.agent(), asked)
	open := pendingQuestion()
	require.Equal(t, "DateTime.now()", open.Request.Questions[0].Options[1].Preview)
	require.True(t, open.Request.Questions[1].MultiSelect)
	_, err := s.person.AnswerRunQuestion(t.Context(), open.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: open.Request.ID, Answers: []api.UserQuestionAnswer{
			{QuestionID: "q1", FreeformAnswer: "none"}, {QuestionID: "q2", SelectedOptionIDs: []string{"o1", "o2"}},
		},
	}})
	require.NoError(t, err)
	var told struct {
		Behavior string `json:"behavior"`
		Input    struct {
			Questions []any             `json:"questions"`
			Answers   map[string]string `json:"answers"`
		} `json:"updatedInput"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer()), &told))
	require.Equal(t, "allow", told.Behavior)
	require.Len(t, told.Input.Questions, 2)
	require.Equal(t, map[string]string{"Which library?": "none", "Which checks?": "lint, test"}, told.Input.Answers)

	answer = s.prompt(s.agent(), asked)
	open = pendingQuestion()
	_, err = s.person.AnswerRunQuestion(t.Context(), open.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: open.Request.ID, Declined: true, Justification: "ask later",
	}})
	require.NoError(t, err)
	require.JSONEq(t, `{"behavior":"deny","message":"The question was declined by ada: ask later"}`, answer())

	for _, input := range []string{
		`{}`, `{"questions":[]}`, `{"questions":"x"}`, `{"questions":[{"question":" "}]}`, `{"questions":[{"question":"Same?"},{"question":"Same?"}]}`,
		`{"questions":[{"question":"Which?","options":[{"label":"x"},{"label":""}]}]}`, `{"question":"Which?","choices":["x",""]}`,
	} {
		require.Contains(t, s.prompt(s.agent(), `{"tool_name":"AskUserQuestion","input":`+input+`}`)(), `"behavior":"deny"`, input)
	}
}

// TestAPlanIsShownAsText: as much of it as a description takes.
func TestAPlanIsShownAsText(t *testing.T) {
	t.Parallel()
	shown := func(input, file string) string {
		call, err := mcptools.CallOf(ask.Call{Approval: &api.ApprovalRequest{ToolName: "ExitPlanMode", Input: api.JSON(input), Description: "In /srv"}}, file)
		require.NoError(t, err)
		return call.Approval.Description
	}
	require.Equal(t, "In /srv\n\n# Plan\n1. ls", shown(`{"plan":"# Plan\n1. ls"}`, ""))
	require.Equal(t, "In /srv\n\nof the file", shown(`{"plan_filename":"plan"}`, "of the file"))
	require.Equal(t, "In /srv", shown(`{}`, ""))
	long := shown(`{"plan":"`+strings.Repeat("ä", api.MaxTextLength)+`"}`, "")
	require.LessOrEqual(t, len(long), api.MaxTextLength)
	require.True(t, utf8.ValidString(long))
	require.Contains(t, long, "The plan goes on in the input.")
	long = shown(`{"planFilePath":"/plan"}`, strings.Repeat("x", api.MaxTextLength+1))
	require.LessOrEqual(t, len(long), api.MaxTextLength)
	require.Contains(t, long, "The plan goes on in its file. This request does not show the rest.")
}

func TestACancelledCallIsWithdrawnAndOneOfALostConnectionIsNot(t *testing.T) {
	s := newScene(t)
	cancelling, cancel := context.WithCancel(t.Context())
	agent := s.agent()
	done := make(chan error, 1)
	go func() {
		_, err := agent.CallTool(cancelling, &mcp.CallToolParams{Name: "permission_prompt", Arguments: json.RawMessage(touch)})
		done <- err
	}()
	open := s.pending()
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	s.nothingPending()
	run, err := s.person.GetRun(t.Context(), open.RunID)
	require.NoError(t, err)
	require.Equal(t, api.StatusCancelled, run.Status)

	// The client disconnects: its request stays open for a client that asks again.
	leave := s.calling(s.service.Connect(), "permission_prompt", `{"tool_name":"Bash","input":{},"tool_use_id":"toolu_2"}`)
	s.pending()
	leave()
	left := s.pending()
	s.decide(left, api.ApprovalResolution{Behavior: api.BehaviorAllow})
	// Its lease would run out only after 15 s.
	_, err = s.person.Heartbeat(t.Context(), left.RunID, client.HeartbeatParams{Fence: "1", LeaseMs: api.MinLeaseMs})
	require.NoError(t, err)
	require.JSONEq(t, `{"behavior":"allow","updatedInput":{}}`, s.prompt(s.agent(), `{"tool_name":"Bash","input":{},"tool_use_id":"toolu_2"}`)())
}

// calling has a client call a tool, and returns what disconnects it.
func (s *scene) calling(c *client.Client, tool, arguments string) (leave func()) {
	s.Helper()
	var leaving atomic.Bool
	server := mcptools.NewServer(mcptools.Options{Client: c, For: mcptools.ForAgents, SessionID: "work", AgentID: "coder", Directory: "/srv/app", Leaving: leaving.Load})
	stdin, theirs := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Run(s.Context(), &mcp.IOTransport{Reader: stdin, Writer: discard{}}) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`,
	} {
		_, err := io.WriteString(theirs, line+"\n")
		require.NoError(s, err)
	}
	return func() {
		s.Helper()
		leaving.Store(true)
		require.NoError(s, theirs.Close())
		<-served
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

func TestAModelAsksAndChecksLater(t *testing.T) {
	s := newScene(t)
	agent := s.agent()
	const deploy = `{"tool_name":"deploy","input":{"to":"production"},"reason":"done","description":"Deploy","key":"d1","wait_seconds":0}`
	for _, input := range []string{``, `,"input":null`, `,"input":"ls"`, `,"input":[]`} {
		require.Contains(t, s.refused(agent, "request_approval", `{"tool_name":"deploy","wait_seconds":0`+input+`}`), "input must be an object")
	}
	told := s.told(agent, "request_approval", deploy)
	require.Equal(t, "pending", told.Status)
	require.Contains(t, told.Message, "not a permission")
	require.Equal(t, told.RunID, s.told(agent, "request_approval", deploy).RunID)
	require.Equal(t, "pending", s.told(agent, "check_decision", `{"run_id":"`+told.RunID+`","wait_seconds":0}`).Status)
	open := s.pending()
	require.Equal(t, "Deploy", open.Request.Description)
	require.Equal(t, "/srv/app", open.Request.Directory)
	s.decide(open, api.ApprovalResolution{Behavior: api.BehaviorAllow, UpdatedInput: api.JSON(`{"to":"staging"}`), Justification: "first there"})
	// Another process, later.
	checked := s.told(s.agent(), "check_decision", `{"run_id":"`+told.RunID+`"}`)
	require.Equal(t, "allowed", checked.Status)
	require.True(t, checked.Edited)
	require.JSONEq(t, `{"to":"staging"}`, string(checked.Input))
	require.Equal(t, "first there", checked.Message)

	denied := s.told(agent, "request_approval", `{"tool_name":"deploy","input":{},"wait_seconds":0}`)
	s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorDeny, Reason: "no"})
	checked = s.told(agent, "check_decision", `{"run_id":"`+denied.RunID+`"}`)
	require.Equal(t, "denied", checked.Status)
	require.Nil(t, checked.Input)
	require.Equal(t, "Denied by ada: no", checked.Message)

	asked := s.told(agent, "ask_user", `{"question":"Where to?","options":["staging","production"],"wait_seconds":0}`)
	page, err := s.person.ListQuestions(t.Context(), client.PendingListParams{})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	question := page.Items[0].Request
	_, err = s.person.AnswerRunQuestion(t.Context(), asked.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: question.ID, Answers: []api.UserQuestionAnswer{{
			QuestionID: "answer", SelectedOptionIDs: []string{question.Questions[0].Options[1].ID}, FreeformAnswer: "at noon",
		}},
	}})
	require.NoError(t, err)
	checked = s.told(agent, "check_decision", `{"run_id":"`+asked.RunID+`"}`)
	require.Equal(t, "answered", checked.Status)
	require.Equal(t, []string{"production", "at noon"}, checked.Answers)

	asked = s.told(agent, "ask_user", `{"question":"Well?","wait_seconds":0}`)
	_, err = s.person.AnswerRunQuestion(t.Context(), asked.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: asked.RequestID, Declined: true, Justification: "ask later",
	}})
	require.NoError(t, err)
	checked = s.told(agent, "check_decision", `{"run_id":"`+asked.RunID+`"}`)
	require.Equal(t, "declined", checked.Status)
	require.Empty(t, checked.Answers)
	require.Equal(t, "ask later", checked.Message)

	require.Contains(t, s.refused(agent, "check_decision", `{"run_id":"nobody"}`), "run_not_found")
	require.Contains(t, s.refused(agent, "request_approval", `{"tool_name":"x","input":{},"inputs":1}`), "inputs")
	require.Contains(t, s.refused(agent, "request_approval", `{"tool_name":"x","input":{},"wait_seconds":-1}`), "wait_seconds")
	_, err = s.person.CreateRun(t.Context(), client.CreateRunParams{RunID: "foreign"})
	require.NoError(t, err)
	require.Contains(t, s.refused(agent, "check_decision", `{"run_id":"foreign","wait_seconds":0}`), "not made by an agent's call")
}

// An allow or an answer that was taken back before the agent read it, by a cancelled or failed run or an interrupted session,
// permits nothing, however often it is read.
func TestADecisionThatWasTakenBackPermitsNothing(t *testing.T) {
	t.Parallel()
	takeBack := map[string]func(s *scene, runID string) error{
		"cancelled": func(s *scene, runID string) error {
			_, err := s.person.CancelRun(t.Context(), runID, "wrong host")
			return err
		},
		"interrupted": func(s *scene, runID string) error {
			run, err := s.person.GetRun(t.Context(), runID)
			if err == nil {
				_, err = s.person.InterruptSession(t.Context(), run.SessionID, "wrong host")
			}
			return err
		},
		"failed": func(s *scene, runID string) error {
			_, err := s.person.FailRun(t.Context(), runID, "1", "it cannot be resumed")
			return err
		},
	}
	for status, taken := range takeBack {
		t.Run(status, func(t *testing.T) {
			s := newScene(t)
			agent := s.agent()
			asked := s.told(agent, "request_approval", `{"tool_name":"deploy","input":{"to":"production"},"key":"k","wait_seconds":0}`)
			s.decide(s.pending(), api.ApprovalResolution{Behavior: api.BehaviorAllow})
			require.NoError(t, taken(s, asked.RunID))
			for range 2 {
				read := s.told(agent, "check_decision", `{"run_id":"`+asked.RunID+`"}`)
				require.Equal(t, status, read.Status)
				require.Nil(t, read.Input)
				require.Contains(t, read.Message, "so it was not allowed")
			}

			question := s.told(agent, "ask_user", `{"question":"Where to?","wait_seconds":0}`)
			_, err := s.person.AnswerRunQuestion(t.Context(), question.RunID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
				RequestID: question.RequestID, Answers: []api.UserQuestionAnswer{{QuestionID: "answer", FreeformAnswer: "production"}},
			}})
			require.NoError(t, err)
			require.NoError(t, taken(s, question.RunID))
			read := s.told(agent, "check_decision", `{"run_id":"`+question.RunID+`"}`)
			require.Equal(t, status, read.Status)
			require.Empty(t, read.Answers)
		})
	}
}

func TestAgentsAreNotOfferedTheToolsOfPeople(t *testing.T) {
	s := newScene(t)
	offered := map[mcptools.For][]string{}
	for _, audience := range []mcptools.For{mcptools.ForAgents, mcptools.ForPeople, mcptools.ForBoth} {
		list, err := s.connect(mcptools.Options{For: audience}).ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "private", list.CacheScope)
		for _, tool := range list.Tools {
			offered[audience] = append(offered[audience], tool.Name)
		}
	}
	agents := []string{"ask_user", "check_decision", "permission_prompt", "request_approval"}
	people := []string{"answer", "cancel", "list_pending", "resolve"}
	require.ElementsMatch(t, agents, offered[mcptools.ForAgents])
	require.ElementsMatch(t, people, offered[mcptools.ForPeople])
	require.ElementsMatch(t, append(agents, people...), offered[mcptools.ForBoth])
	_, err := s.agent().CallTool(t.Context(), &mcp.CallToolParams{Name: "resolve", Arguments: json.RawMessage(`{}`)})
	require.ErrorContains(t, err, "resolve")
}

// TestInputsKeepTheirText: nothing is rounded or reordered between the agent, the person and the answer.
func TestInputsKeepTheirText(t *testing.T) {
	const (
		input = `{"id":9007199254740993,"x":1.0,"2":1,"1":2,"big":1e300}`
		edit  = `{"id":-123456789012345678901,"x":2.0e0,"10":[1.50],"9":0.1234567890123456789}`
	)
	s := newScene(t)
	assistant := s.connect(mcptools.Options{For: mcptools.ForPeople})
	for updated, want := range map[string]string{"": input, `,"updated_input":` + edit: edit} {
		answer := s.prompt(s.agent(), `{"tool_name":"send","input":`+input+`,"tool_use_id":"toolu_1"}`)
		open := s.pending()
		require.Equal(t, input, string(open.Request.Input))
		text, failed := s.text(assistant, "list_pending", `{}`)
		require.False(t, failed, text)
		require.Contains(t, text, input)
		require.True(t, s.told(assistant, "resolve", `{"run_id":"`+open.RunID+`","request_id":"`+open.Request.ID+
			`","behavior":"allow","input_digest":"`+open.Request.InputDigest+`"`+updated+`}`).Decided)
		require.Equal(t, `{"behavior":"allow","updatedInput":`+want+`}`, answer())
	}
}

func TestAnAssistantDecidesWhatItsPersonSaw(t *testing.T) {
	s := newScene(t)
	assistant := s.connect(mcptools.Options{For: mcptools.ForPeople, Client: s.service.Connect(client.WithActor("grace"), client.WithVia("mcp"))})
	answer := s.prompt(s.agent(), touch)
	s.pending()
	listed := s.told(assistant, "list_pending", `{}`)
	require.Len(t, listed.Approvals, 1)
	open := listed.Approvals[0]
	ids := `"run_id":"` + open.RunID + `","request_id":"` + open.Request.ID + `"`
	require.Contains(t, s.refused(assistant, "resolve", `{`+ids+`,"behavior":"allow"}`), "input_digest")
	require.Contains(t, s.refused(assistant, "resolve", `{`+ids+`,"behavior":"allow","input_digest":"sha256:`+
		`0000000000000000000000000000000000000000000000000000000000000000"}`), "approval_changed")

	// A rule is written only when its text has been seen.
	decision := `{` + ids + `,"behavior":"allow","input_digest":"` + open.Request.InputDigest + `","remember":"always"`
	require.Contains(t, s.refused(assistant, "resolve", decision+`,"remember_as":"tool"}`), "cannot create such a rule")
	inSession := strings.Replace(decision, "always", "session", 1)
	require.Contains(t, s.told(assistant, "resolve", inSession+`,"remember_as":"tool"}`).RuleText, "every call of the tool Bash")
	require.Contains(t, s.told(assistant, "resolve", inSession+`,"remember_as":"command"}`).RuleText, "command is exactly")
	shown := s.told(assistant, "resolve", decision+`}`)
	require.False(t, shown.Decided)
	require.Contains(t, shown.RuleText, "Allow the tool Bash with exactly this input")
	require.Contains(t, shown.RuleText, `, in the directory "/srv/app", in every session`)
	require.False(t, s.told(assistant, "resolve", decision+`,"rule_text":"Allow nothing"}`).Decided)
	rule, err := json.Marshal(shown.RuleText)
	require.NoError(t, err)
	require.True(t, s.told(assistant, "resolve", decision+`,"rule_text":`+string(rule)+`}`).Decided)
	require.Contains(t, answer(), `"allow"`)
	decisions, err := s.person.ListDecisions(t.Context(), client.DecisionListParams{})
	require.NoError(t, err)
	require.Equal(t, "grace", decisions.Items[0].Resolution.ResolvedBy)
	untilThen := func(text string) string { before, _, _ := strings.Cut(text, ", until "); return before }
	require.Equal(t, untilThen(shown.RuleText), untilThen(decisions.Items[0].Resolution.Rule.Text), "but for the second in which it is written")
	require.Equal(t, "api:mcp", decisions.Items[0].Resolution.Via)
	require.Contains(t, s.refused(assistant, "resolve", `{`+ids+`,"behavior":"deny","input_digest":"`+open.Request.InputDigest+`"}`), "allowed by grace")
	// The rule allows the same call in the next session without asking.
	next := s.connect(mcptools.Options{For: mcptools.ForAgents, SessionID: "next", AgentID: "coder", Directory: "/srv/app"})
	require.Contains(t, s.prompt(next, touch)(), `"allow"`)

	asked := s.told(s.agent(), "ask_user", `{"question":"Where to?","wait_seconds":0}`)
	question := s.told(assistant, "list_pending", `{"session_id":"work"}`).Questions[0]
	require.True(t, s.told(assistant, "answer", `{"run_id":"`+asked.RunID+`","request_id":"`+question.Request.ID+
		`","answers":[{"question_id":"answer","freeform_answer":"home"}]}`).Decided)
	require.Equal(t, []string{"home"}, s.told(s.agent(), "check_decision", `{"run_id":"`+asked.RunID+`"}`).Answers)

	asked = s.told(s.agent(), "ask_user", `{"question":"And then?","wait_seconds":0}`)
	require.True(t, s.told(assistant, "cancel", `{"run_id":"`+asked.RunID+`","request_id":"`+asked.RequestID+`"}`).Decided)
	require.Equal(t, "cancelled", s.told(s.agent(), "check_decision", `{"run_id":"`+asked.RunID+`"}`).Status)
	pending := s.told(s.agent(), "request_approval", `{"tool_name":"x","input":{},"wait_seconds":0}`)
	for _, nothing := range []string{`""`, `null`, `7`, `["x"]`} {
		require.Contains(t, s.refused(assistant, "cancel", `{"run_id":"`+pending.RunID+`","request_id":`+nothing+`}`), "leave it out to cancel the whole run")
	}
	require.Equal(t, "pending", s.told(s.agent(), "check_decision", `{"run_id":"`+pending.RunID+`","wait_seconds":0}`).Status)
	require.True(t, s.told(assistant, "cancel", `{"run_id":"`+pending.RunID+`","reason":"no"}`).Decided)
	require.Equal(t, "cancelled", s.told(s.agent(), "check_decision", `{"run_id":"`+pending.RunID+`"}`).Status)
}

// TestOptionsWithDescriptions: an option is a label or an object, and the person sees the description.
func TestOptionsWithDescriptions(t *testing.T) {
	s := newScene(t)
	s.told(s.agent(), "ask_user", `{"question":"Where to?","options":["staging",{"label":"production","description":"customers see it"}],"wait_seconds":0}`)
	page, err := s.person.ListQuestions(t.Context(), client.PendingListParams{})
	require.NoError(t, err)
	options := page.Items[0].Request.Questions[0].Options
	require.Equal(t, []string{"staging", "production"}, []string{options[0].Label, options[1].Label})
	require.Equal(t, []string{"", "customers see it"}, []string{options[0].Description, options[1].Description})
	for _, bad := range []string{`[{"description":"x"}]`, `[""]`, `["x"," "]`, `[{"label":""}]`, `[{"label":"x","lable":"y"}]`, `[7]`} {
		result, err := s.agent().CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_user", Arguments: json.RawMessage(`{"question":"?","wait_seconds":0,"options":` + bad + `}`)})
		require.True(t, err != nil || result.IsError, bad)
	}
}

// An agent's hints and its origin reach the person.
func TestHintsAndOriginReachThePerson(t *testing.T) {
	s := newScene(t)
	r := s.replica(mcptools.Options{SessionID: "labelled", Session: &api.SessionAbout{Origin: &api.SessionOrigin{Project: "shop", Host: "ada"}}})
	asked := r.ask(takesTask, "request_approval", `{"tool_name":"deploy","input":{"to":"production"},"hints":[{"level":"danger","text":"customers see it"}]}`, nil)
	require.Equal(t, "working", asked.Status)
	page, err := s.person.ListApprovals(t.Context(), client.PendingListParams{SessionID: "labelled"})
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, []api.Hint{{Level: api.HintDanger, Text: "customers see it"}}, page.Items[0].Request.Hints)
	require.Equal(t, &api.SessionOrigin{Project: "shop", Host: "ada"}, page.Items[0].Session.Origin)
	require.Nil(t, r.task(takesTask, "tasks/cancel", asked.TaskID).Error)
}
