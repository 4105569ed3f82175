package relay_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi"
	"github.com/holdpoint/holdpoint/httpapi/dialects/dialecttest"
	"github.com/holdpoint/holdpoint/httpapi/dialects/relay"
	"github.com/holdpoint/holdpoint/runs"
)

func TestChat(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t, `"mode":"agent"`, `"permissions":{"allowlist":[]}`, `"detached":false`, `"extra":{"n":1.50}`)
		w := c.started()
		require.JSONEq(t, `{`+hello+`,"mode":"agent","extra":{"n":1.50}}`, string(w.input))

		w.reports(
			`{"type":"reasoning","id":"r1","content":"hm"}`, `{"type":"text","id":"t1","content":"a\nb"}`,
			`{"type":"tool_call","id":"call-1","name":"bash","input":{"command":"ls"}}`,
			`{"type":"tool_result","id":"call-1","name":"bash","output":{"context":"x","result":[1]}}`,
			`{"type":"usage","inputTokens":7,"outputTokens":9}`, `{"type":"error","message":"oh"}`)
		c.tells("reasoning", `"id":"r1","content":"hm"`)
		c.tells("text", `"id":"t1","content":"a\nb"`)
		c.tells("tool_call", `"id":"call-1","name":"bash","input":{"command":"ls"}`)
		c.tells("tool_result", `"id":"call-1","name":"bash","output":{"context":"x","result":[1]}`)
		c.tells("usage", `"inputTokens":7,"outputTokens":9`)
		c.tells("error", `"message":"oh"`)

		// Both together, in the original's format.
		open := w.raises(approvals(bash("a", "rm -rf ./temp"), bash("b", "ls")))
		shown, always, _ := strings.Cut(c.Frame().Data, `,"always":`)
		require.Equal(t, fmt.Sprintf(`{"type":"relay","runId":%q,"agentId":"default","kind":"permission","id":%q,"toolCallId":"call-a","tool":"bash","params":{"command":"rm -rf ./temp"}`,
			c.run, open["a"]), shown)
		require.Contains(t, always, `"Allow the tool bash with exactly this input: {\"command\":\"rm -rf ./temp\"}, in session `+c.session)
		c.relays("b", open["b"], "ls")
		s.answer(t, c.session, open["b"], `{"approved":true}`).accepted()
		require.Equal(t, api.OutcomeAllowed, c.settles("relay_resolved", open["b"]).Outcome)
		recorded := w.settled("b")
		require.Equal(t, "relay", recorded.Via)
		require.Equal(t, "mara", recorded.ResolvedBy)
		require.Nil(t, recorded.Rule)

		s.answer(t, c.session, open["a"], `{"approved":false,"reason":"too risky"}`).accepted()
		require.Equal(t, "too risky", c.settles("relay_resolved", open["a"]).Reason)
		c.denies("a", "too risky")
		require.Equal(t, api.BehaviorDeny, w.settled("a").Behavior)

		w.completes()
		c.tells("harness_end", "")
		c.Ends()
	})
}

func TestBodiesOfChat(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		for _, body := range []string{``, `{`, `{} {}`, `{"model":1,"model":2}`, `{"model":"\ud800","messages":[1]}`, "\xff", `nope`} {
			s.post(t, "/chat", body).refused(http.StatusBadRequest, invalidJSON)
		}
		for _, body := range []string{
			`{}`, `null`, `[]`, `"x"`, `7`, `{"model":"m"}`, `{"messages":[]}`, `{"model":"","messages":[1]}`, `{"model":null,"messages":[1]}`,
			`{"model":"m","messages":null}`, `{"model":"m","messages":false}`, `{"model":0,"messages":[]}`, `{"model":-0.0,"messages":[]}`, `{"model":"m","messages":""}`,
		} {
			s.post(t, "/chat", body).refused(http.StatusBadRequest, chatIncomplete)
		}
		for _, detached := range []string{`"yes"`, `1`, `{}`} {
			s.post(t, "/chat", `{`+hello+`,"detached":`+detached+`}`).refused(http.StatusBadRequest, "detached must be true or false")
		}
		deep := s.post(t, "/chat", `{`+hello+`,"context":`+strings.Repeat("[", 80)+strings.Repeat("]", 80)+`}`)
		require.Equal(t, http.StatusBadRequest, deep.Status)
		require.Contains(t, deep.Text, "nests deeper than 64 levels")
		large := s.post(t, "/chat", `{`+hello+`,"context":"`+strings.Repeat("x", 1<<20)+`"}`)
		require.Equal(t, http.StatusRequestEntityTooLarge, large.Status)
		require.Contains(t, large.Text, `{"error":"the body must have at most`)
		require.Equal(t, http.StatusMethodNotAllowed, s.get(t, "/chat").Status)

		var sessions []any
		s.get(t, "/v1/sessions").Into(&sessions)
		require.Empty(t, sessions, "what is refused makes nothing")
		s.chat(t, `"detached":null`, `"permissions":null`)
	})
}

func TestRunsThatDoNotComplete(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		t.Run("failed", func(t *testing.T) {
			c := s.chat(t)
			w := c.started()
			handle := w.raisesOne("a", "ls")
			require.Equal(t, http.StatusOK, w.call("fail", `,"error":"no model"`).Status)
			require.Equal(t, api.OutcomeExpired, c.settles("relay_resolved", handle).Outcome)
			c.denies("a", "expired")
			c.tells("error", `"message":"no model"`)
			c.tells("harness_end", "")
			c.Ends()
			s.answer(t, c.session, handle, `{"approved":true}`).refused(http.StatusNotFound, noSession)
		})
		t.Run("cancelled", func(t *testing.T) {
			c := s.chat(t)
			handle := c.started().raisesOne("a", "ls")
			s.post(t, "/v1/runs/"+c.run+"/cancel", `{"reason":"enough"}`).Into(new(any))
			require.Equal(t, api.OutcomeCancelled, c.settles("relay_resolved", handle).Outcome)
			c.denies("a", "enough")
			c.tells("error", `"message":"the run was cancelled: enough"`)
			c.tells("harness_end", "")
			c.Ends()
			s.answer(t, c.session, handle, `{"approved":true}`).refused(http.StatusNotFound, noSession)
		})
		t.Run("interrupted", func(t *testing.T) {
			c := s.chat(t)
			c.started()
			s.post(t, "/v1/sessions/"+c.session+"/interrupt", ``).Into(new(any))
			c.tells("error", `"message":"the run was interrupted"`)
			c.tells("harness_end", "")
			c.Ends()
		})
		t.Run("a session that ends before the run began", func(t *testing.T) {
			c := s.chat(t)
			s.post(t, "/v1/sessions/"+c.session+"/end", ``).Into(new(any))
			c.tells("error", `"message":"the run was cancelled"`)
			c.Ends()
			s.answer(t, c.session, "nothing", `{"approved":true}`).refused(http.StatusNotFound, noSession)
		})
	})
}

func TestEventsOfWorkers(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		t.Run("members are completed and passed through", func(t *testing.T) {
			c := s.chat(t)
			w := c.started()
			w.reports(`{"type":"delta","text":"a"}`, `{"type":"text","content":"b","lang":"en"}`, `{"type":"reasoning","text":"c"}`,
				`{"type":"delta","delta":"d"}`, `{"type":"tool_call","tool_call_id":"x","tool_name":"bash","arguments":{}}`,
				`{"type":"delta","content":"e"}`, `{"type":"tool_result","id":"x"}`, `{"type":"usage","input_tokens":3,"cost": [ 1 ]}`,
				`{"type":"output","content":"done"}`, `{"type":"plan","steps":[ 1,
				2 ]}`)
			first := fmt.Sprintf(`"id":"%s/4"`, c.run)
			c.tells("text", first+`,"content":"a"`)
			c.tells("text", first+`,"content":"b","lang":"en"`)
			c.tells("reasoning", fmt.Sprintf(`"id":"%s/6","content":"c"`, c.run))
			c.tells("text", fmt.Sprintf(`"id":"%s/7","content":"d"`, c.run))
			c.tells("tool_call", `"id":"x","name":"bash","input":{}`)
			c.tells("text", fmt.Sprintf(`"id":"%s/9","content":"e"`, c.run))
			c.tells("tool_result", `"id":"x","name":"","output":null`)
			c.tells("usage", `"inputTokens":3,"outputTokens":0,"cost":[1]`)
			output := c.Frame()
			require.Equal(t, "output", output.Event)
			require.Contains(t, output.Data, `"content":"done"`)
			c.tells("plan", `"steps":[1,2]`)
		})
		t.Run("what only the service says", func(t *testing.T) {
			c := s.chat(t)
			w := c.started()
			w.reports(`{"type":"connected","sessionId":"x"}`, `{"type":"relay","id":"x"}`, `{"type":"relay_resolved"}`, `{"type":"question"}`,
				`{"type":"question_resolved"}`, `{"type":"harness_start"}`, `{"type":"harness_end"}`,
				`{"type":"harness_end","parentId":"x"}`, `{"type":"harness_start","parent_id":"x","agentId":"helper"}`,
				`{"type":"harness_end","parentId":"x","runId":"`+c.run+`"}`, `{"type":"text","id":"1","content":"x"}`)
			c.tells("text", `"id":"1","content":"x"`)
		})
		t.Run("the result of a denied call is told once", func(t *testing.T) {
			c := s.chat(t)
			w := c.started()
			handle := w.raisesOne("a", "ls")
			s.answer(t, c.session, handle, `null`).accepted()
			c.settles("relay_resolved", handle)
			c.denies("a", "")
			w.reports(`{"type":"tool_result","id":"call-a","name":"bash","output":"denied"}`, `{"type":"tool_result","id":"call-a","name":"bash","output":"2"}`)
			c.tells("tool_result", `"id":"call-a","name":"bash","output":"2"`)
		})
		t.Run("agents inside of the run", func(t *testing.T) {
			c := s.chat(t)
			w := c.started()
			w.reports(`{"type":"harness_start","runId":"sub","agentId":"helper","parentId":"call-1"}`,
				`{"type":"delta","run_id":"sub","agent_id":"helper","parent_id":"call-1","text":"a"}`, `{"type":"delta","text":"b"}`,
				`{"type":"delta","runId":"sub","agentId":"helper","parentId":"call-1","text":"c"}`)
			c.tellsOf("sub", "helper", "call-1", "harness_start", "")
			c.tellsOf("sub", "helper", "call-1", "text", fmt.Sprintf(`"id":"%s/5","content":"a"`, c.run))
			c.tells("text", fmt.Sprintf(`"id":"%s/6","content":"b"`, c.run))
			c.tellsOf("sub", "helper", "call-1", "text", fmt.Sprintf(`"id":"%s/5","content":"c"`, c.run))
			open := w.raises(approvals(bash("a", "ls", `"metadata":{"run_id":"sub","agent_id":"helper","parent_id":"call-1"}`), bash("b", "ls")))
			c.tellsOf("sub", "helper", "call-1", "relay", relayMembers("a", open["a"], "ls"))
			c.relays("b", open["b"], "ls")
			s.answer(t, c.session, open["a"], `false`).accepted()
			c.settles("relay_resolved", open["a"])
			c.tellsOf("sub", "helper", "call-1", "tool_result", `"id":"call-a","name":"bash","output":{"status":"denied"}`)
			w.reports(`{"type":"harness_end","runId":"sub","agentId":"helper","parentId":"call-1"}`)
			c.tellsOf("sub", "helper", "call-1", "harness_end", "")
		})
	})
}

const question = `{"id":"q","tool_call_id":"call-q","questions":[{"id":"which","header":"Which","question":"Which?","multi_select":false,"options":[{"id":"a","label":"A"}]}]}`

// Questions cannot be answered here, but they show why the run waits.
func TestQuestionsAreShown(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		w := c.started()
		open := w.raises(approvals(bash("a", "ls")), `"questions":[`+question+`]`)
		asked := c.Frame()
		require.Equal(t, "question", asked.Event)
		require.Contains(t, asked.Data, fmt.Sprintf(`{"type":"question","runId":%q,"agentId":"default","id":%q,"request":{"id":"q","handle":%q,`, c.run, open["q"], open["q"]))
		c.relays("a", open["a"], "ls")
		s.answer(t, c.session, open["q"], `{"approved":true}`).refused(http.StatusNotFound, noRelay)
		s.post(t, "/v1/runs/"+c.run+"/questions", `{"resolution":{"request_id":"q","answers":[{"question_id":"which","selected_option_ids":["a"]}]}}`).Into(new(any))
		require.Equal(t, api.OutcomeAnswered, c.settles("question_resolved", open["q"]).Outcome)
		s.answer(t, c.session, open["a"], `{"approved":true}`).accepted()
	})
}

// A session of another agent whose parent is the chat's asks there.
func TestQuestionsOfChildrenAreShown(t *testing.T) {
	onEngines(t, relay.Options{}, func(t *testing.T, s *service) {
		c := s.chat(t)
		c.started()
		child := runs.NewID("child")
		s.post(t, "/v1/sessions", fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, child, c.session)).Into(new(any))
		var claim api.Claim
		s.post(t, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"input":1,"claim":{"worker_id":"w","lease_ms":60000}}`, child)).Into(&claim)
		var asked struct {
			Clarification struct {
				RunID string `json:"run_id"`
			} `json:"clarification"`
		}
		s.post(t, "/v1/runs/"+claim.Run.RunID+"/clarifications", fmt.Sprintf(`{"fence":%q,"request":%s}`, claim.Lease.Fence, question)).Into(&asked)
		shown := c.Frame()
		require.Equal(t, "question", shown.Event)
		require.Contains(t, shown.Data, fmt.Sprintf(`"runId":%q`, asked.Clarification.RunID))
		_, after, _ := strings.Cut(shown.Data, `"id":"`)
		handle, _, _ := strings.Cut(after, `"`)
		s.post(t, "/v1/runs/"+asked.Clarification.RunID+"/questions", `{"resolution":{"request_id":"q","declined":true}}`).Into(new(any))
		require.Equal(t, api.OutcomeDeclined, c.settles("question_resolved", handle).Outcome)
	})
}

func TestASilentStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t), relay.Options{}, func(o *httpapi.Options) { o.KeepAlive = 40 * time.Millisecond })
	c := s.chat(t)
	for range 3 {
		require.Equal(t, ": keepalive", c.Next().Text)
	}
	c.work()
	require.Equal(t, "harness_start", c.Frame().Event)
}

func TestTheAgentIsTheConfiguredOne(t *testing.T) {
	t.Parallel()
	s := serve(t, dialecttest.SQLite(t), relay.Options{DefaultAgentID: "coder"})
	c := s.chat(t, `"agent_id":"other"`)
	c.work()
	c.tellsOf(c.run, "coder", "", "harness_start", "")
	var view api.RunView
	s.get(t, "/v1/runs/"+c.run).Into(&view)
	require.Equal(t, api.RunRequestSummary{SourcePlugin: "relay", SourceKind: "chat", ActorID: "user:local", TextPreview: view.Request.TextPreview}, view.Request)
}
