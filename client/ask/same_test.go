package ask_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/test/inprocess"
)

// The asker's escalation is for the calls without one of their own.
func TestWhoIsNotifiedOfACall(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	notify := func(who string) *api.Escalation {
		return &api.Escalation{Steps: []api.EscalationStep{{Notify: []string{who}}}}
	}
	asker := &ask.Asker{Client: service.Connect(), AgentID: "coder", Escalation: notify("user:ada")}
	question := &api.UserQuestionRequest{Questions: []api.UserQuestion{{ID: "q", Question: "Where to?", AllowFreeform: new(true)}}}
	for name, test := range map[string]struct {
		call ask.Call
		who  string
	}{
		"approval":       {ask.Call{Approval: &api.ApprovalRequest{ToolName: "deploy", Input: api.JSON(`{}`)}}, "user:ada"},
		"question":       {ask.Call{Question: question}, "user:ada"},
		"one of its own": {ask.Call{Approval: &api.ApprovalRequest{ToolName: "deploy", Input: api.JSON(`{}`), Escalation: notify("user:ben")}}, "user:ben"},
	} {
		raised, err := asker.Raise(t.Context(), test.call)
		require.NoError(t, err, name)
		run, err := asker.Client.GetRun(t.Context(), raised.RunID)
		require.NoError(t, err, name)
		var escalation *api.Escalation
		for _, request := range run.PendingApprovals {
			escalation = request.Escalation
		}
		for _, request := range run.PendingQuestions {
			escalation = request.Escalation
		}
		require.Equal(t, notify(test.who).Steps, escalation.Steps, name)
	}
	require.Nil(t, question.Escalation, "the caller's request is not changed")
}

// The same key finds the open call only while a person would decide the same: what an option stands for and shows, what
// a typed question asks, who may allow, and where the call would run, are part of that.
func TestADifferentCallWithTheSameKeyAsksAgain(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{Closed: true})
	made, _, err := service.Keyring.Create(t.Context(), &api.CreateTokenBody{Name: "coder", Role: api.RoleAgent}, "user:test", "")
	require.NoError(t, err)
	asker := &ask.Asker{Client: service.Connect(client.WithToken(made.Secret)), AgentID: "coder"}
	where := func(a, b string) ask.Call {
		return ask.Call{SessionID: "s", Key: "k", Question: &api.UserQuestionRequest{Questions: []api.UserQuestion{{
			ID: "q", Question: "Where to?", Options: []api.QuestionOption{{ID: "1", Label: "A", Description: a}, {ID: "2", Label: "B", Description: b}},
		}}}}
	}
	deploy := func(excluded bool) ask.Call {
		return ask.Call{SessionID: "s", Key: "k", Approval: &api.ApprovalRequest{ToolName: "deploy", Input: api.JSON(`{}`), ExcludeRequester: excluded}}
	}
	raise := func(call ask.Call) *ask.Raised {
		raised, err := asker.Raise(t.Context(), call)
		require.NoError(t, err)
		return raised
	}
	first := raise(where("staging", "production"))
	require.Equal(t, &ask.Raised{RunID: first.RunID, Joined: true}, raise(where("staging", "production")))
	for _, other := range []ask.Call{where("production", "staging"), where("", "production"), where("", "")} {
		require.NotEqual(t, first.RunID, raise(other).RunID)
	}
	typed := func(kind, payload, schema string) ask.Call {
		question := &api.UserQuestionRequest{Kind: kind, Payload: api.JSON(payload)}
		if schema != "" {
			question.ResponseSchema = api.JSON(schema)
		}
		return ask.Call{SessionID: "s", Key: "k", Question: question}
	}
	const refund = `{"question":"Refund 5?"}`
	five := raise(typed("", refund, `{"type":"boolean"}`))
	require.Equal(t, &ask.Raised{RunID: five.RunID, Joined: true}, raise(typed("", ` `+refund, `{ "type": "boolean" }`)))
	for _, other := range []ask.Call{typed("", `{"question":"Refund 5000?"}`, `{"type":"boolean"}`), typed("", refund, `{"type":"integer"}`), typed("refund", refund, `{"type":"boolean"}`)} {
		require.NotEqual(t, five.RunID, raise(other).RunID)
	}
	anything := raise(typed("refund", `null`, ""))
	require.Equal(t, &ask.Raised{RunID: anything.RunID, Joined: true}, raise(typed("refund", `null`, `true`)))
	previewed := func(a, b string) ask.Call {
		call := where("", "")
		call.Question.Questions[0].Options[0].Preview, call.Question.Questions[0].Options[1].Preview = a, b
		return call
	}
	plain, first := raise(where("", "")), raise(previewed("one", "two"))
	require.NotEqual(t, plain.RunID, first.RunID)
	require.Equal(t, &ask.Raised{RunID: first.RunID, Joined: true}, raise(previewed("one", "two")))
	for _, other := range []ask.Call{previewed("two", "one"), previewed("one", ""), previewed("", "one")} {
		require.NotContains(t, []string{plain.RunID, first.RunID}, raise(other).RunID)
	}
	require.NotEqual(t, raise(deploy(false)).RunID, raise(deploy(true)).RunID)
	in := func(directory string) ask.Call {
		call := deploy(false)
		call.Approval.Directory = directory
		return call
	}
	here := raise(in("/a"))
	require.Equal(t, &ask.Raised{RunID: here.RunID, Joined: true}, raise(in("/a")))
	for _, other := range []ask.Call{in("/b"), in("")} {
		require.NotEqual(t, here.RunID, raise(other).RunID)
	}
}

// An earlier build left the directory out of the digest. Its decisions are read by their run, but not by a call of
// another directory, or of none.
func TestACallOfAnEarlierBuildKeepsItsDirectory(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	asker := &ask.Asker{Client: service.Connect(client.WithActor("ann")), AgentID: "coder"}
	digest, err := client.InputDigest(map[string]any{"tool_name": "deploy", "input": api.JSON(`{}`)})
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(strings.Join([]string{"approval", "s", "k", digest, "0"}, "\x00")))
	earlier := "call-" + hex.EncodeToString(sum[:16])
	_, err = asker.Client.CreateRun(t.Context(), client.CreateRunParams{
		SessionID: "s", RunID: earlier, Kind: api.KindCall, AgentID: "coder",
		Metadata: map[string]string{"made_by": "holdpoint agent call", "digest": digest, "asker": "earlier"},
		Suspend: &api.Suspension{SuspensionID: "earlier", Approvals: []api.ApprovalRequest{
			{ID: "r", ToolCallID: "r", ToolName: "deploy", Input: api.JSON(`{}`), Directory: "/a"},
		}},
	})
	require.NoError(t, err)
	for _, decided := range []bool{false, true} {
		if decided {
			allow(t, asker.Client, earlier)
		}
		for _, directory := range []string{"", "/b"} {
			raised, err := asker.Raise(t.Context(), ask.Call{SessionID: "s", Key: "k", Approval: &api.ApprovalRequest{
				ToolName: "deploy", Input: api.JSON(`{}`), Directory: directory,
			}})
			require.NoError(t, err)
			require.NotEqual(t, earlier, raised.RunID)
			require.Equal(t, decided, raised.Joined, "each directory has one run")
		}
	}
	answer, err := asker.Await(t.Context(), earlier, 0)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeAllowed, answer.Outcome)
	require.Equal(t, "/a", answer.Approval.Directory)
}

// An earlier build left the kind, the payload and the schema out of a question's digest. Its answers are read by their
// run, but not by a call with another payload, or with none.
func TestAQuestionOfAnEarlierBuildKeepsItsPayload(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	asker := &ask.Asker{Client: service.Connect(client.WithActor("ann")), AgentID: "coder"}
	structured := []api.UserQuestion{{ID: "q", Question: "Refund?"}}
	for key, row := range map[string]struct {
		digested []any
		asked    api.UserQuestionRequest
		answer   api.UserQuestionResolution
	}{
		"structured": {
			[]any{map[string]any{"question": "Refund?", "options": []any(nil), "multi_select": false, "allow_freeform": true}},
			api.UserQuestionRequest{Questions: structured},
			api.UserQuestionResolution{Answers: []api.UserQuestionAnswer{{QuestionID: "q", FreeformAnswer: "yes"}}},
		},
		"typed": {[]any{}, api.UserQuestionRequest{ResponseSchema: api.JSON(`true`)}, api.UserQuestionResolution{Value: api.JSON(`true`)}},
	} {
		digest, err := client.InputDigest(map[string]any{"questions": row.digested, "metadata": api.JSON(nil)})
		require.NoError(t, err, key)
		sum := sha256.Sum256([]byte(strings.Join([]string{"question", "s", key, digest, "0"}, "\x00")))
		earlier := "call-" + hex.EncodeToString(sum[:16])
		with := func(payload string) api.UserQuestionRequest {
			asked := row.asked
			if payload != "" {
				asked.Payload = api.JSON(payload)
			}
			return asked
		}
		asked := with(`{"amount":5000}`)
		asked.ID, asked.ToolCallID = "r", "r"
		_, err = asker.Client.CreateRun(t.Context(), client.CreateRunParams{
			SessionID: "s", RunID: earlier, Kind: api.KindCall, AgentID: "coder",
			Metadata: map[string]string{"made_by": "holdpoint agent call", "digest": digest, "asker": "earlier"},
			Suspend:  &api.Suspension{SuspensionID: "earlier", Questions: []api.UserQuestionRequest{asked}},
		})
		require.NoError(t, err, key)
		for _, decided := range []bool{false, true} {
			if decided {
				row.answer.RequestID = "r"
				_, err := asker.Client.AnswerRunQuestion(t.Context(), earlier, client.AnswerQuestionParams{Resolution: row.answer})
				require.NoError(t, err, key)
			}
			for _, payload := range []string{"", `{"amount":5}`, `{"amount":5000}`} {
				question := with(payload)
				raised, err := asker.Raise(t.Context(), ask.Call{SessionID: "s", Key: key, Question: &question})
				require.NoError(t, err, key)
				require.NotEqual(t, earlier, raised.RunID, key)
				require.Equal(t, decided, raised.Joined, "each payload has one run")
			}
		}
		answer, err := asker.Await(t.Context(), earlier, 0)
		require.NoError(t, err, key)
		require.Equal(t, api.OutcomeAnswered, answer.Outcome, key)
		require.Equal(t, `{"amount":5000}`, string(answer.Question.Payload), key)
	}
}

// An earlier build left the previews of options out of a question's digest, one before it the payload, too. Its answers
// are read by their run, but not by a call with other previews, or with none.
func TestAQuestionOfAnEarlierBuildKeepsItsPreviews(t *testing.T) {
	t.Parallel()
	service := inprocess.Start(t, inprocess.Memory, inprocess.Options{})
	asker := &ask.Asker{Client: service.Connect(client.WithActor("ann")), AgentID: "coder"}
	digested := []any{map[string]any{"question": "Which?", "options": []any{"A"}, "multi_select": false, "allow_freeform": true}}
	for key, row := range map[string]struct {
		digest  map[string]any
		payload string
	}{
		"no payload":         {map[string]any{"questions": digested, "metadata": api.JSON(nil)}, ""},
		"a payload":          {map[string]any{"questions": digested, "metadata": api.JSON(nil), "payload": api.JSON(`{"amount":5}`)}, `{"amount":5}`},
		"a payload left out": {map[string]any{"questions": digested, "metadata": api.JSON(nil)}, `{"amount":5}`},
	} {
		digest, err := client.InputDigest(row.digest)
		require.NoError(t, err, key)
		sum := sha256.Sum256([]byte(strings.Join([]string{"question", "s", key, digest, "0"}, "\x00")))
		earlier := "call-" + hex.EncodeToString(sum[:16])
		with := func(preview string) *api.UserQuestionRequest {
			asked := &api.UserQuestionRequest{ID: "r", ToolCallID: "r", Questions: []api.UserQuestion{{
				ID: "q", Question: "Which?", AllowFreeform: new(true), Options: []api.QuestionOption{{ID: "a", Label: "A", Preview: preview}},
			}}}
			if row.payload != "" {
				asked.Payload = api.JSON(row.payload)
			}
			return asked
		}
		_, err = asker.Client.CreateRun(t.Context(), client.CreateRunParams{
			SessionID: "s", RunID: earlier, Kind: api.KindCall, AgentID: "coder",
			Metadata: map[string]string{"made_by": "holdpoint agent call", "digest": digest, "asker": "earlier"},
			Suspend:  &api.Suspension{SuspensionID: "earlier", Questions: []api.UserQuestionRequest{*with("one")}},
		})
		require.NoError(t, err, key)
		for _, decided := range []bool{false, true} {
			if decided {
				_, err := asker.Client.AnswerRunQuestion(t.Context(), earlier, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
					RequestID: "r", Answers: []api.UserQuestionAnswer{{QuestionID: "q", SelectedOptionIDs: []string{"a"}}},
				}})
				require.NoError(t, err, key)
			}
			for _, preview := range []string{"", "one", "two"} {
				raised, err := asker.Raise(t.Context(), ask.Call{SessionID: "s", Key: key, Question: with(preview)})
				require.NoError(t, err, key)
				require.NotEqual(t, earlier, raised.RunID, key)
				require.Equal(t, decided, raised.Joined, "each preview has one run")
			}
		}
		answer, err := asker.Await(t.Context(), earlier, 0)
		require.NoError(t, err, key)
		require.Equal(t, api.OutcomeAnswered, answer.Outcome, key)
		require.Equal(t, "one", answer.Question.Questions[0].Options[0].Preview, key)
		require.Equal(t, row.payload, string(answer.Question.Payload), key)
	}
}
