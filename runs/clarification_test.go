package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// A parent clarification is a run in the parent's session that waits from the start and takes
// no slot.
func TestOpenClarification(t *testing.T) {
	h := parallelHouse(t).family()
	h.must(&runs.CreateRun{SessionID: "p", SessionGiven: true, RunID: "busy", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	h.must(&runs.CreateRun{SessionID: "p", SessionGiven: true, RunID: "next", Input: api.JSON(`1`)})
	h.nowMs += 10
	command := ask("q")
	command.Request.ToolCallID = "call-9"
	command.Request.ExpiresAfterMs = ms(500)
	command.RequesterProjectIDs, command.RequesterChannelIDs = []string{"p1"}, []string{"c1"}
	command.ParentProjectIDs, command.ParentChannelIDs = []string{"p2"}, []string{"c2"}
	reply := h.must(command)
	h.nowMs += 10
	require.Equal(t, 1, h.carryOut())

	runID := reply.Clarification.RunID
	run := *h.run(runID)
	require.Equal(t, api.KindParentClarification, run.Kind)
	require.Equal(t, "p", run.SessionID)
	require.Equal(t, model.DefaultAgentID, run.AgentID, "the parent's agent")
	require.Equal(t, h.nowMs, run.StartedAtMs)
	require.Equal(t, "busy", h.states["p"].Session.ActiveRunID)
	require.Equal(t, int64(1), h.states["p"].Session.QueuedCount)
	require.Equal(t, []api.EventType{"accepted", "waiting_for_user_question"}, h.eventTypes(runID))

	question := h.request(runID, "q")
	require.Equal(t, model.KindQuestion, question.Kind)
	require.Equal(t, int64(startMs+510), question.DueAtMs, "counted from when the child asked")
	require.NotEqual(t, h.request("r", "q").Handle, question.Handle)
	body := `{"id":"q","handle":"` + question.Handle + `","tool_call_id":"call-9","created_at_ms":1000020,"expires_at_ms":1000510,
		"questions":[{"id":"route","header":"Route","question":"Which route?","multi_select":false,"allow_freeform":true,
		"options":[{"id":"north","label":"North"},{"id":"south","label":"South"}]}]}`
	requireJSON(t, `{
		"run_id":"`+runID+`","session_id":"p","agent_id":"default","kind":"parent_clarification","status":"waiting_for_user_question",
		"submitted_at_ms":1000020,"updated_at_ms":1000020,"started_at_ms":1000020,
		"request":{"source_plugin":"daemon","source_kind":"parent_clarification","actor_id":"scout","text_preview":"Which route?","question_count":1},
		"pending_question_ids":["q"],"pending_questions":[`+body+`],"outputs":[],"outputs_count":0
	}`, h.record(runID).View())

	pending := model.PendingRequest{Request: *question, AgentID: run.AgentID, RunKind: run.Kind, Requester: run.Requester}
	requireJSON(t, `{
		"session_id":"p","agent_id":"default","run_id":"`+runID+`","run_kind":"parent_clarification",
		"requester_agent_id":"scout","requester_session_id":"s","requester_run_id":"r","requester_tool_call_id":"call-9",
		"requester_project_ids":["p1"],"requester_channel_ids":["c1"],"parent_project_ids":["p2"],"parent_channel_ids":["c2"],
		"request":`+body+`
	}`, pending.QuestionView(""))
	session := model.SessionRecord{Session: *h.states["p"].Session, Active: h.record("busy"), Besides: []model.PendingRequest{pending}}
	view := session.View()
	require.Equal(t, api.StatusRunning, view.Status)
	require.Equal(t, 1, view.PendingCount)
	require.Equal(t, []api.PendingQuestionView{pending.QuestionView("")}, view.PendingQuestions)

	// The active run and the queue are unaffected.
	h.must(&runs.Complete{RunID: "busy", Fence: 1})
	require.Equal(t, int64(1), h.claim("next"))
	h.must(answer(runID, "q", "north"))
	require.Equal(t, "next", h.states["p"].Session.ActiveRunID)
	require.Equal(t, model.LeaseRevoked, h.run(runID).LeaseEnd)
}

// The preview is the first question. For a typed question it comes from the payload, or else
// from the kind.
func TestClarificationPreview(t *testing.T) {
	t.Parallel()
	typed := func(kind, payload string) api.UserQuestionRequest {
		request := api.UserQuestionRequest{ID: "q", Kind: kind, ResponseSchema: api.JSON(`{"type":"integer"}`)}
		if payload != "" {
			request.Payload = api.JSON(payload)
		}
		return request
	}
	for want, request := range map[string]api.UserQuestionRequest{
		"Which route?": question("q"),
		"How many?":    typed("count", `{"question":"How many?"}`),
		"count":        typed("count", `{"question":7}`),
		"number":       typed("number", ``),
		"":             typed("", `[1]`),
	} {
		h := newHouse(t).family()
		command := ask("q")
		command.Request = request
		require.Equal(t, want, h.run(h.asked(command)).Request.TextPreview)
	}
}

// The effect may be carried out repeatedly: the run id makes it idempotent.
func TestOpenClarificationAgain(t *testing.T) {
	h := parallelHouse(t).family()
	reply := h.must(ask("q"))
	runID := reply.Clarification.RunID
	effect := func() runs.Command { return commandOf(h.effect("open_clarification:" + runID)) }
	require.NotNil(t, h.must(effect()).Run)
	for range 2 {
		again := h.requireUnchanged(effect())
		require.Equal(t, runID, again.ReplayRunID)
		require.Nil(t, again.Run)
	}
	h.must(answer(runID, "q", "north"))
	h.requireUnchanged(effect())
	h.must(&runs.EndSession{SessionID: "p"})
	h.requireUnchanged(effect())

	opening := func() runs.OpenClarification { return *commandOf(reply.Effect).(*runs.OpenClarification) }
	other := opening()
	other.Request = question("other")
	h.refused(api.CodeIDConflict, &other)
	elsewhere := opening()
	elsewhere.SessionID = "s"
	h.refused(api.CodeIDConflict, &elsewhere)
	new1 := opening()
	new1.RunID = "fresh"
	h.refused(api.CodeSessionEnded, &new1)
	new2 := opening()
	new2.RunID, new2.SessionID = "fresh", "nobody"
	h.refused(api.CodeSessionNotFound, &new2)
}

// Several children may ask a session at once; each answer reaches its own child.
func TestSeveralClarifications(t *testing.T) {
	h := parallelHouse(t).family()
	h.must(&runs.CreateSession{SessionID: "s2", ParentSessionID: "p"})
	h.must(&runs.CreateRun{SessionID: "s2", SessionGiven: true, RunID: "r2", Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"}})
	first := h.asked(ask("q"))
	second := h.asked(ask("q-2"))
	twin := park("q")
	twin.RunID = "r2"
	third := h.asked(twin)
	require.Empty(t, h.states["p"].Session.ActiveRunID)
	for _, runID := range []string{first, second, third} {
		require.Equal(t, api.StatusWaitingForUserQuestion, h.run(runID).Status)
	}
	// Two children use the same request id: on the session's route, the older question is
	// answered first.
	inParent := func(options ...string) *runs.AnswerQuestion {
		command := answerInSession(answer("", "q", options...))
		command.SessionID = "p"
		return command
	}
	require.Equal(t, first, h.must(inParent("north")).Run.Run.RunID)
	require.Equal(t, third, h.must(inParent("south")).Run.Run.RunID)
	require.Equal(t, api.StatusWaitingForUserQuestion, h.run(second).Status)
	h.carryOut()
	require.Contains(t, string(h.message("s", model.MessageIDOf("q")).Payload), "North")
	require.Contains(t, string(h.message("s2", model.MessageIDOf("q")).Payload), "South")
	require.Equal(t, api.StatusRunning, h.run("r2").Status)
}

// If the parent's session has ended or never existed, the child gets a declined answer and
// continues.
func TestParentIsOver(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(*house){
		"ended":   func(h *house) { h.must(&runs.EndSession{SessionID: "p"}) },
		"missing": func(h *house) { delete(h.states, "p") },
	} {
		inHouse(t, name, func(t *testing.T, h *house) {
			h.family()
			runID := h.must(park("q")).Clarification.RunID
			refuse(h)
			h.nowMs += 7
			require.Equal(t, 1, h.carryOut())
			require.Equal(t, api.StatusRunning, h.run("r").Status)
			recorded := h.request("r", "q").Recorded()
			require.Equal(t, api.OutcomeDeclined, recorded.Outcome)
			require.Equal(t, api.ViaEnd, recorded.Via)
			require.Equal(t, api.ResolvedBySystem, recorded.ResolvedBy)
			require.Equal(t, h.nowMs, recorded.ResolvedAtMs)
			claim := h.must(&runs.ClaimRun{RunID: "r", WorkerID: "w"}).Claim
			requireJSON(t, `{"request_id":"q","declined":true,"summary":"","answers":[],"justification":"the parent session has ended"}`,
				claim.Resume.Clarification)
			require.Equal(t, "p", h.message("s", model.MessageIDOf("q")).FromSessionID)
			require.Equal(t, api.EffectDone, h.effect("open_clarification:"+runID).State)
		})
	}
	h := newHouse(t)
	runID := h.unparked()
	effect := h.effect(h.effectIDs("s")[0])
	for _, code := range []api.Code{api.CodeIDConflict, api.CodeRunNotFound, ""} {
		require.Nil(t, commandWhenRefused(effect, code, h.nowMs), "%s", code)
	}
	h.must(answer(runID, "q", "north"))
	require.Nil(t, commandWhenRefused(h.effect(h.effectIDs("p")[0]), api.CodeSessionEnded, h.nowMs), "an answer has nowhere else to go")
}

// TestEveryCommandOnAClarification tests a clarification's state machine from the callers'
// side. Read the table as in TestEveryCommandInEveryStatus.
func TestEveryCommandOnAClarification(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command                func(runID string) runs.Command
		whileWaiting, whenOver string
	}{
		"claim":           {func(runID string) runs.Command { return &runs.ClaimRun{RunID: runID, WorkerID: "w"} }, "run_not_claimable", "run_not_claimable"},
		"heartbeat":       {func(runID string) runs.Command { return &runs.Heartbeat{RunID: runID} }, "lease_lost", "lease_lost"},
		"suspend":         {func(runID string) runs.Command { return suspend(runID, 0, approval("new")) }, "lease_lost", "lease_lost"},
		"withdraw":        {func(runID string) runs.Command { return &runs.Withdraw{RunID: runID, RequestID: "q"} }, "lease_lost", "lease_lost"},
		"complete":        {func(runID string) runs.Command { return &runs.Complete{RunID: runID} }, "lease_lost", "lease_lost"},
		"fail":            {func(runID string) runs.Command { return &runs.Fail{RunID: runID, Error: "e"} }, "lease_lost", "lease_lost"},
		"release":         {func(runID string) runs.Command { return &runs.Release{RunID: runID} }, "lease_lost", "lease_lost"},
		"ask":             {func(runID string) runs.Command { return &runs.AskClarification{RunID: runID, Request: question("x")} }, "lease_lost", "lease_lost"},
		"approve":         {func(runID string) runs.Command { return allow(runID, "q") }, "approval_state_conflict", "run_state_conflict"},
		"answer":          {func(runID string) runs.Command { return answer(runID, "q", "north") }, "completed", "="},
		"another answer":  {func(runID string) runs.Command { return answer(runID, "q", "south") }, "completed", "question_resolution_conflict"},
		"mistyped answer": {func(runID string) runs.Command { return answer(runID, "Q", "north") }, "question_request_mismatch", "question_resolution_conflict"},
		"decline":         {func(runID string) runs.Command { return decline(runID, "q") }, "completed", "question_resolution_conflict"},
		"cancel question": {func(runID string) runs.Command { return &runs.CancelQuestion{RunID: runID, RequestID: "q"} }, "completed", "question_state_conflict"},
		"mistyped cancel": {func(runID string) runs.Command { return &runs.CancelQuestion{RunID: runID, RequestID: "Q"} }, "question_request_mismatch", "question_state_conflict"},
		"cancel":          {func(runID string) runs.Command { return &runs.CancelRun{RunID: runID} }, "completed", "="},
		"interrupt":       {func(string) runs.Command { return &runs.InterruptSession{SessionID: "p"} }, "completed", "="},
		"end":             {func(string) runs.Command { return &runs.EndSession{SessionID: "p"} }, "completed", "="},
		"expire":          {func(runID string) runs.Command { return &runs.ExpireRequests{RunID: runID} }, "=", "="},
	} {
		for _, over := range []bool{false, true} {
			h := newHouse(t)
			runID := h.unparked()
			want := test.whileWaiting
			if over {
				h.must(answer(runID, "q", "north"))
				want = test.whenOver
			}
			status := h.run(runID).Status
			_, change, err := h.decide(test.command(runID))
			got := string(h.run(runID).Status)
			switch {
			case err != nil:
				got = string(refusal.CodeOf(err))
				require.True(t, change.Empty(), "a refused command wrote something")
			case got == string(status):
				got = "="
			}
			require.Equal(t, want, got, "%s, over: %t: %v", name, over, err)
		}
	}
}

// commandOf returns the command of an effect, whose payload must be valid.
func commandOf(effect *model.Effect) runs.Command {
	command, err := runs.CommandOf(effect)
	if err != nil {
		panic(err)
	}
	return command
}

// commandWhenRefused is commandOf for the command that follows a refusal.
func commandWhenRefused(effect *model.Effect, code api.Code, nowMs int64) runs.Command {
	command, err := runs.CommandWhenRefused(effect, code, nowMs)
	if err != nil {
		panic(err)
	}
	return command
}
