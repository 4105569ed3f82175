package timbal_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// said starts a run with a message, has a worker answer it, and returns the run's id and the
// worker's input.
func (s *service) said(t *testing.T, body, answer string) (runID string, input map[string]any) {
	t.Helper()
	stream := s.open(t, "/stream", body)
	w := &worker{t: t, store: s.Store, runID: stream.runID}
	claim := w.again()
	w.complete(answer)
	events := stream.rest()
	require.NotContains(t, events[len(events)-1].at("input"), "history", "clients are shown what they sent")
	s.sameInLog(t, events)
	return stream.runID, tree(t, claim.Input)
}

// A second message belongs to the same session, and its worker receives the earlier messages
// (docs/spec/timbal.md#conversation).
func testConversation(t *testing.T, s *service) {
	first, input := s.said(t, `{"prompt":"set up my database"}`, `"done"`)
	require.Equal(t, map[string]any{"prompt": "set up my database"}, input)
	second, input := s.said(t, `{"prompt":"and a table","parent_id":"`+first+`"}`, `{"table":1}`)
	one := map[string]any{"run_id": first, "status": "completed", "input": map[string]any{"prompt": "set up my database"}, "output": "done"}
	require.Equal(t, map[string]any{"prompt": "and a table", "history": []any{one}}, input)
	two := map[string]any{"run_id": second, "status": "completed", "input": map[string]any{"prompt": "and a table"}, "output": map[string]any{"table": 1.0}}
	third, input := s.said(t, `{"prompt":"thanks","context":{"parent_id":"`+second+`"}}`, `"bye"`)
	require.Equal(t, map[string]any{"prompt": "thanks", "history": []any{one, two}}, input)
	session := s.sessionOf(t, first)
	require.Equal(t, session, s.sessionOf(t, second))
	require.Equal(t, session, s.sessionOf(t, third))

	// Sent again from an older run, the message omits everything after that run.
	_, input = s.said(t, `{"prompt":"and an index","parent_id":"`+first+`"}`, `1`)
	require.Equal(t, []any{one}, input["history"])

	// Conversations of other agents and unknown ones are ignored.
	for _, parent := range []string{first, "nobody", "nobody~7"} {
		path := "/agents/other/stream"
		if parent != first {
			path = "/stream"
		}
		stream := s.open(t, path, `{"prompt":"x","parent_id":"`+parent+`"}`)
		w := &worker{t: t, store: s.Store, runID: stream.runID}
		require.JSONEq(t, `{"prompt":"x"}`, string(w.again().Input))
		require.NotEqual(t, session, s.sessionOf(t, stream.runID))
		w.complete(`1`)
	}

	// A refused resume shows the message, too, and not the history that the service has added to it.
	stream := s.open(t, "/stream", `{"prompt":"and a view","parent_id":"`+second+`"}`)
	w := s.claim(t, stream.runID)
	w.wait(approval("a"))
	id := ids(stream.rest())[0]
	sent := map[string]any{"prompt": "and a view"}
	bad := s.show(t, resumeBody(t, w.runID, id, `{"approved":true,"override_input":{"to":7}}`))
	require.Equal(t, "error", bad[1].at("status", "code"))
	require.Equal(t, sent, bad[1].at("input"))
	_, claim := s.gone(t, w, resumeBody(t, w.runID, id, `true`))
	require.Contains(t, tree(t, claim.Input), "history", "the worker has it")
	late := s.show(t, resumeBody(t, w.runID, id, `true`))
	require.Equal(t, "cancelled", late[1].at("status", "code"))
	require.Equal(t, sent, late[1].at("input"))

	// A caller that gives a history has its own.
	stream = s.open(t, "/stream", `{"prompt":"x","history":["mine"],"parent_id":"`+first+`"}`)
	w = &worker{t: t, store: s.Store, runID: stream.runID}
	require.JSONEq(t, `{"prompt":"x","history":["mine"]}`, string(w.again().Input))
	w.complete(`1`)
	require.Equal(t, map[string]any{"prompt": "x", "history": []any{"mine"}}, stream.rest()[1].at("input"))
}

// Runs started in the session by other faces belong to the conversation.
func testConversationWithAnotherFace(t *testing.T, s *service) {
	session := runs.NewID("session")
	var ids []string
	for i := range 2 {
		made := s.do(t, http.MethodPost, "/v1/runs", fmt.Sprintf(`{"session_id":%q,"agent_id":"assistant","input":"say %d"}`, session, i))
		require.Equal(t, http.StatusAccepted, made.Status, made.Text)
		ids = append(ids, made.body["run_id"].(string))
		w := s.claim(t, ids[i])
		if i == 0 {
			w.do(&runs.Fail{RunID: w.runID, Fence: w.fence, Error: "out of paper"})
		} else {
			w.complete(`"said"`)
		}
	}
	runID, input := s.said(t, `{"prompt":"go on","parent_id":"`+ids[1]+`"}`, `1`)
	require.Equal(t, []any{
		map[string]any{"run_id": ids[0], "status": "failed", "input": "say 0", "error": "out of paper"},
		map[string]any{"run_id": ids[1], "status": "completed", "input": "say 1", "output": "said"},
	}, input["history"])
	require.Equal(t, session, s.sessionOf(t, runID))
}

// A retry under its key is the same call, whatever has become of the conversation.
func testConversationWithAKey(t *testing.T, s *service) {
	first := s.open(t, "/stream", `{"prompt":"one"}`)
	body := `{"prompt":"two","parent_id":"` + first.runID + `"}`
	second := s.open(t, "/stream", body, key("k"), actor("conversation"))
	require.NotEqual(t, first.runID, second.runID)
	s.claim(t, first.runID).complete(`1`)
	again := s.open(t, "/stream", body, key("k"), actor("conversation"))
	require.Equal(t, second.runID, again.runID)
	w := s.claim(t, second.runID)
	w.wait(approval("a"))
	paused := s.open(t, "/stream", body, key("k"), actor("conversation"))
	require.Equal(t, second.runID, paused.runID, "and is not a new message")
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(paused.rest()))
}

// The history keeps within its budget: the newest go first.
func testConversationTooLong(t *testing.T, s *service) {
	long := strings.Repeat("x", 400<<10)
	parent := ""
	var runIDs []string
	for i := range 5 {
		body := fmt.Sprintf(`{"prompt":%q,"n":%d`, long, i)
		if parent != "" {
			body += `,"parent_id":"` + parent + `"`
		}
		var input map[string]any
		parent, input = s.said(t, body+"}", `1`)
		runIDs = append(runIDs, parent)
		entries, _ := input["history"].([]any)
		require.LessOrEqual(t, len(entries), 2)
		if i > 2 {
			require.Equal(t, true, input["history_truncated"])
			require.Equal(t, runIDs[i-1], entries[1].(map[string]any)["run_id"])
		}
	}
	huge, _ := s.said(t, `{"prompt":"print"}`, `"`+strings.Repeat("y", 1000<<10)+`"`)
	_, input := s.said(t, `{"prompt":"`+strings.Repeat("z", 200<<10)+`","parent_id":"`+huge+`"}`, `1`)
	require.Len(t, input["history"], 1, "the newest is there whatever its size")
}

// A message to a paused run shows its open requests and starts nothing.
func testAMessageOverAPausedRun(t *testing.T, s *service) {
	w, first := s.paused(t, approval("a"), typed("t"))
	for _, path := range []string{"/stream", "/run"} {
		answer := s.do(t, http.MethodPost, path, `{"prompt":"hello?","parent_id":"`+w.runID+`"}`)
		require.Equal(t, http.StatusOK, answer.Status)
		require.Contains(t, answer.Text, "the message was not taken")
	}
	shown := s.show(t, `{"prompt":"hello?","parent_id":"`+w.runID+`"}`)
	require.Equal(t, []string{"START", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(shown))
	require.Equal(t, ids(first), ids(shown))
	require.Equal(t, w.runID, shown[0].at("parent_run_id"))
	all, err := s.Store.Runs(t.Context(), reads.RunQuery{SessionID: s.sessionOf(t, w.runID), Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 1)
	resumed := shown[0].at("run_id").(string)
	second := s.show(t, resumeBody(t, resumed, ids(first)[0], "true"))
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(second))

	// Another agent is not blocked by it.
	other := s.open(t, "/agents/other/stream", `{"prompt":"x","parent_id":"`+w.runID+`"}`)
	s.claim(t, other.runID).complete(`1`)
	require.Equal(t, "success", other.rest()[1].at("status", "code"))

	last, _ := s.gone(t, w, resumeBody(t, second[0].at("run_id").(string), ids(first)[1], "true"))
	require.Equal(t, "success", last[len(last)-1].at("status", "code"))
	_, input := s.said(t, `{"prompt":"hello?","parent_id":"`+last[0].at("run_id").(string)+`"}`, `1`)
	require.Len(t, input["history"], 1)
}

// A session that a person has ended accepts no more messages.
func testAMessageToAnEndedSession(t *testing.T, s *service) {
	first, _ := s.said(t, `{"prompt":"one"}`, `1`)
	require.Less(t, s.do(t, http.MethodPost, "/v1/sessions/"+s.sessionOf(t, first)+"/end", "{}").Status, 300)
	answer := s.do(t, http.MethodPost, "/stream", `{"prompt":"two","parent_id":"`+first+`"}`)
	require.Equal(t, http.StatusConflict, answer.Status)
	require.Contains(t, answer.body["detail"], "has ended")
}

// A path without a dot is how clients know the OUTPUT of the run.
func testAnAgentWithADot(t *testing.T, s *service) {
	stream := s.open(t, "/agents/team.coder/stream", `{}`)
	w := s.claim(t, stream.runID)
	w.wait(approval("a"))
	events := stream.rest()
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(events))
	require.Equal(t, []any{"team_coder", "team_coder.send_email", "team_coder"}, []any{events[0].at("path"), events[1].at("path"), events[2].at("path")})
	s.sameInLog(t, events)
	record := s.record(t, w.runID)
	require.Equal(t, "team.coder", record.Run.AgentID)
	last, _ := s.gone(t, w, resumeBody(t, w.runID, ids(events)[0], "true"))
	require.Equal(t, "team_coder", last[1].at("path"))
}

// A question with a kind but no schema accepts any JSON value.
func testAQuestionOfAKind(t *testing.T, s *service) {
	for _, value := range []string{`"postgres"`, `null`, `[]`, `""`, `{"a":[1,{}]}`, `-1.5`, `true`} {
		w, first := s.paused(t, api.UserQuestionRequest{ID: "q", ToolCallID: "c", Kind: "ask_user", Payload: api.JSON(`{"question":"Which?","options":["postgres"]}`)})
		require.Equal(t, []string{"START", "INTERACTION", "OUTPUT"}, kinds(first))
		require.Equal(t, "ask_user", first[1].at("kind"))
		require.Nil(t, first[1].at("response_schema"))
		require.Contains(t, first[1].map_, "response_schema")
		_, claim := s.gone(t, w, resumeBody(t, w.runID, ids(first)[0], value))
		require.JSONEq(t, value, string(claim.Resume.Questions[0].Resolution.Value))
	}
	refused := s.do(t, http.MethodPost, "/v1/runs", `{"input":1,"suspend":{"questions":[{"id":"q","payload":{"question":"Which?"}}]}}`)
	require.Equal(t, http.StatusUnprocessableEntity, refused.Status, "without a kind nothing says how to show it")
}

func tree(t *testing.T, text api.JSON) map[string]any {
	t.Helper()
	var tree map[string]any
	require.NoError(t, json.Unmarshal(text, &tree))
	return tree
}

func (s *service) sessionOf(t *testing.T, runID string) string {
	t.Helper()
	return (&worker{t: t, store: s.Store, runID: runID}).sessionID()
}
