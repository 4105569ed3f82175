package timbal_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// docs/spec/timbal.md#events: all members, in their order, null when absent.
func testAnApprovalAndAnInteraction(t *testing.T, s *service) {
	w, events := s.paused(t, question("q"), approval("a"))
	require.Equal(t, []string{"START", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(events))
	record := s.record(t, w.runID)
	log, _, err := s.Store.EventsWithin(t.Context(), reads.EventQuery{RunID: w.runID, Limit: 100, MaxBytes: api.MaxReplyBytes})
	require.NoError(t, err)
	asked, gated := record.Requests[0], record.Requests[1]
	require.Equal(t, model.KindQuestion, asked.Kind)

	run := fmt.Sprintf(`"run_id":%q,"parent_run_id":null`, w.runID)
	require.Equal(t, `{"type":"START",`+run+fmt.Sprintf(`,"path":"assistant","call_id":%q,"parent_call_id":null}`, w.runID), events[0].text)
	require.Equal(t, `{"type":"INTERACTION",`+run+fmt.Sprintf(
		`,"path":"assistant.ask_user","call_id":%[1]q,"parent_call_id":%[2]q,"t0":%[3]d,"interaction_id":%[1]q,"kind":"ask_user",`+
			`"runnable_path":"assistant.ask_user","runnable_name":"ask_user","runnable_type":"Tool","tool_call_id":"call-q",`+
			`"payload":{"question":"Which database should I use?","options":["postgres","mysql","sqlite"]},"response_schema":null}`,
		asked.Handle, w.runID, asked.CreatedAtMs), events[1].text)
	require.Equal(t, `{"type":"APPROVAL",`+run+fmt.Sprintf(
		`,"path":"assistant.send_email","call_id":%[1]q,"parent_call_id":%[2]q,"t0":%[3]d,"approval_id":%[1]q,`+
			`"runnable_path":"assistant.send_email","runnable_name":"send_email","runnable_type":"Tool","tool_call_id":"call-a",`+
			`"input":{"to":"a@example.com","subject":"hi"},"input_schema":{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]},`+
			`"prompt":"Send this email?","description":null,"kind":null,"ui":null,"metadata":{}}`,
		gated.Handle, w.runID, gated.CreatedAtMs), events[2].text)
	require.Equal(t, `{"type":"OUTPUT",`+run+fmt.Sprintf(
		`,"path":"assistant","call_id":%q,"parent_call_id":null,"input":{"prompt":"set up my database"},`+
			`"status":{"code":"cancelled","reason":"input_required","message":"Input required to resume."},`+
			`"output":{"suspension_id":%q,"status":"input_required","kind":"ask_user","payload":{"question":"Which database should I use?","options":["postgres","mysql","sqlite"]}},`+
			`"error":null,"t0":%d,"t1":%d,"usage":{},"metadata":{}}`,
		w.runID, asked.Handle, log[0].TimestampMs, asked.CreatedAtMs), events[3].text)
	s.sameInLog(t, events)
}

func testAnApprovalAlone(t *testing.T, s *service) {
	bare := api.ApprovalRequest{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`[1]`), Description: "d", Metadata: api.JSON(`{"k":1}`)}
	_, events := s.paused(t, bare, typed("t"))
	require.Equal(t, []string{"START", "INTERACTION", "APPROVAL", "OUTPUT"}, kinds(events))
	require.Equal(t, "confirm", events[1].at("kind"))
	require.Equal(t, "assistant.confirm", events[1].at("path"))
	require.Equal(t, map[string]any{"action": "drop"}, events[1].at("payload"))
	require.Equal(t, map[string]any{"type": "boolean"}, events[1].at("response_schema"))
	for _, member := range []string{"input_schema", "prompt", "kind", "ui"} {
		value, there := events[2].map_[member]
		require.True(t, there, member)
		require.Nil(t, value, member)
	}
	require.Equal(t, "d", events[2].at("description"))
	require.Equal(t, map[string]any{"k": 1.0}, events[2].at("metadata"))

	_, events = s.paused(t, approval("a"))
	require.Equal(t, []string{"START", "APPROVAL", "OUTPUT"}, kinds(events))
	require.Equal(t, map[string]any{
		"code": "cancelled", "reason": "approval_required", "message": "Approval required before runnable execution.",
	}, events[2].at("status"))
	require.Equal(t, map[string]any{"approval_id": ids(events)[0], "status": "approval_required", "prompt": "Send this email?"}, events[2].at("output"))
}

// A worker's events: deltas with the item in which clients look for the text, others under their
// own name, and none that looks like one of the service's.
func testWhatAWorkerAppends(t *testing.T, s *service) {
	stream := s.open(t, "/agents/coder/stream", `{"prompt":"x"}`)
	require.Equal(t, "START", stream.next().kind(), "at once, before any worker")
	w := s.claim(t, stream.runID)
	w.append(
		`{"type":"delta","text":"Hel\nlo", "more" : [ 1 ]}`,
		`{"type":"delta","item":{"type":"thinking_delta","id":"1","thinking_delta":"hm"}}`,
		`{"type":"tool_call","name":"bash","run_id":"forged","path":"coder.bash","call_id":"c1","parent_call_id":"p"}`,
		`{"type":"output","content":"a text","parts":[1]}`,
		`{"type":"APPROVAL","approval_id":"forged"}`, `{"type":"Output","path":"coder"}`, `{"type":"start"}`, `{"type":"interaction"}`,
	)
	w.complete(`{"role":"assistant","content":[{"type":"text","text":"Great, using postgres."}]}`)
	events := stream.rest()
	require.Equal(t, []string{"DELTA", "DELTA", "TOOL_CALL", "DELTA", "DELTA", "DELTA", "DELTA", "DELTA", "OUTPUT"}, kinds(events))
	for _, one := range events {
		require.Equal(t, w.runID, one.at("run_id"))
		require.True(t, strings.HasPrefix(one.at("path").(string), "coder"))
		for _, member := range []string{"parent_run_id", "call_id", "parent_call_id"} {
			require.Contains(t, one.map_, member)
		}
		require.NotContains(t, one.text, "\n")
	}
	require.Equal(t, "Hel\nlo", events[0].at("text"))
	require.Equal(t, []any{1.0}, events[0].at("more"))
	require.Equal(t, "text_delta", events[0].at("item", "type"))
	require.Equal(t, "Hel\nlo", events[0].at("item", "text_delta"))
	require.Equal(t, "hm", events[1].at("item", "thinking_delta"))
	require.Equal(t, "coder.bash", events[2].at("path"))
	require.Equal(t, "c1", events[2].at("call_id"))
	require.Equal(t, "p", events[2].at("parent_call_id"))
	require.Equal(t, "a text", events[3].at("item", "text"))
	for _, one := range events[4:8] {
		require.Equal(t, "custom", one.at("item", "type"))
		require.Nil(t, one.at("approval_id"))
	}
	require.Equal(t, "forged", events[4].at("item", "data", "approval_id"))
	last := events[8]
	require.Equal(t, "coder", last.at("path"))
	require.Equal(t, map[string]any{"code": "success", "reason": "end_turn", "message": nil}, last.at("status"))
	require.Equal(t, "Great, using postgres.", last.at("output", "content", 0, "text"))
	require.Nil(t, last.at("error"))
	record := s.record(t, w.runID)
	require.Equal(t, "coder", record.Run.AgentID)
}

func testHowARunEnds(t *testing.T, s *service) {
	last := func(end func(*worker)) *event {
		stream := s.open(t, "/stream", `{}`)
		w := s.claim(t, stream.runID)
		end(w)
		events := stream.rest()
		require.Equal(t, []string{"START", "OUTPUT"}, kinds(events))
		s.sameInLog(t, events)
		return events[1]
	}
	failed := last(func(w *worker) { w.do(&runs.Fail{RunID: w.runID, Fence: w.fence, Error: "no model"}) })
	require.Equal(t, map[string]any{"code": "error", "reason": nil, "message": "no model"}, failed.at("status"))
	require.Equal(t, "no model", failed.at("error"))
	require.Nil(t, failed.at("output"))

	cancelled := last(func(w *worker) { w.do(&runs.CancelRun{RunID: w.runID, Reason: "too slow"}) })
	require.Equal(t, map[string]any{"code": "cancelled", "reason": "interrupted", "message": "too slow"}, cancelled.at("status"))
	require.Equal(t, map[string]any{"status": "interrupted", "reason": "too slow"}, cancelled.at("output"))
	cancelled = last(func(w *worker) { w.do(&runs.CancelRun{RunID: w.runID}) })
	require.Equal(t, map[string]any{"code": "cancelled", "reason": "interrupted", "message": nil}, cancelled.at("status"))

	interrupted := last(func(w *worker) {
		record := s.record(t, w.runID)
		w.do(&runs.InterruptSession{SessionID: record.Run.SessionID})
	})
	require.Equal(t, map[string]any{"code": "cancelled", "reason": "interrupted", "message": nil}, interrupted.at("status"))

	nothing := last(func(w *worker) { w.do(&runs.Complete{RunID: w.runID, Fence: w.fence}) })
	require.Equal(t, "success", nothing.at("status", "code"))
	require.Nil(t, nothing.at("output"))
}

// A start: the ids, the agent, and the worker's part of the body.
func testStart(t *testing.T, s *service) {
	stream := s.open(t, "/stream", `{"prompt":"x","context":{"id":"mine","parent_id":"up"},"n":{"a":[1]},"parent_id":"ignored","resume":null}`, actor("ann"))
	require.Equal(t, "mine", stream.runID)
	require.Equal(t, "up", stream.next().at("parent_run_id"), "with a context the parent is the one in it")
	record, err := s.Store.ClaimedRun(t.Context(), "mine")
	require.NoError(t, err)
	require.Equal(t, `{"prompt":"x","n":{"a":[1]}}`, string(record.Run.Input))
	require.Equal(t, "assistant", record.Run.AgentID)
	require.Equal(t, api.RunRequestSummary{SourcePlugin: "timbal", SourceKind: "api", ActorID: "ann", TextPreview: `{"prompt":"x","n":{"a":[1]}}`}, record.Run.Request)

	inUse := s.do(t, http.MethodPost, "/stream", `{"context":{"id":"mine"}}`)
	require.Equal(t, http.StatusConflict, inUse.Status)
	require.Equal(t, map[string]any{"detail": "Run id 'mine' is already in use by a running run."}, inUse.body)
	same := s.do(t, http.MethodPost, "/stream", `{"prompt":"x","context":{"id":"mine","parent_id":"up"},"n":{"a":[1]}}`, actor("ann"))
	require.Equal(t, http.StatusConflict, same.Status, "also for the very same call without a key")

	s.claim(t, "mine").complete("1")
	stream.rest()
	used := s.do(t, http.MethodPost, "/run", `{"context":{"id":"mine"}}`)
	require.Equal(t, http.StatusConflict, used.Status)
	require.Equal(t, "Run id 'mine' was used by a run that is over, and an id is used once.", used.body["detail"])

	for _, body := range []string{`{"parent_id":"up"}`, `{"run_context":{"parent_id":"up"}}`, `{"parent_id":"no such run"}`, `{"parent_id":null,"context":null}`} {
		plain := s.open(t, "/stream", body)
		start := plain.next()
		plain.Leave()
		want := any(nil)
		if strings.Contains(body, `"up"`) {
			want = "up"
		}
		require.Equal(t, want, start.at("parent_run_id"), body)
	}
}

// A start repeated with its idempotency key shows the first run.
func testStartAgainWithItsKey(t *testing.T, s *service) {
	first := s.open(t, "/stream", `{"prompt":"x"}`, key("k"))
	first.next()
	first.Leave()
	again := s.open(t, "/stream", `{"prompt":"x"}`, key("k"))
	require.Equal(t, first.runID, again.runID)
	require.Equal(t, "true", again.Response.Header.Get("Idempotency-Replayed"))
	other := s.do(t, http.MethodPost, "/stream", `{"prompt":"y"}`, key("k"))
	require.Equal(t, http.StatusConflict, other.Status)
	require.Contains(t, other.body, "detail")
	s.claim(t, first.runID).complete("1")
	require.Equal(t, []string{"START", "OUTPUT"}, kinds(again.rest()))
	over := s.show(t, `{"prompt":"x"}`, key("k"))
	require.Equal(t, first.runID, over[0].at("run_id"))
	require.Equal(t, "success", over[1].at("status", "code"))
}

// A client that disconnects does not stop the run, and can find it again.
func testADroppedClient(t *testing.T, s *service) {
	stream := s.open(t, "/stream", `{}`)
	stream.next()
	stream.Leave()
	w := s.claim(t, stream.runID)
	w.wait(approval("a"))
	answer := s.events(t, w.runID, "?after=1&wait_ms=10000")
	require.Equal(t, []any{2.0, 3.0}, []any{answer.body["events"].([]any)[0].(map[string]any)["seq"], answer.body["events"].([]any)[1].(map[string]any)["seq"]})
	require.Equal(t, true, answer.body["done"])
}

func testKeepAlive(t *testing.T, s *service) {
	stream := s.open(t, "/stream", `{}`)
	stream.next()
	require.Equal(t, ": keepalive", stream.Next().Text)
}
