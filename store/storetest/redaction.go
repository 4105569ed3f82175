package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/audit/journal"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/upkeep"
)

var redactionTests = map[string]func(*harness){
	"redaction/of a run that is over": redacted,
	"redaction/leaves a healthy database": func(h *harness) {
		// A partial answer, and a question that is declined at its deadline.
		h.wait("s", "r", twoQuestions("q"))
		h.do(part("speed"))
		h.do(part("route"))
		h.do(&runs.Complete{RunID: "r", Fence: h.claim("r")})
		declines := questionDueAt("declines", h.clock.NowMs()+1_000)
		declines.Escalation = &api.Escalation{AtDeadline: api.DeadlineDecline}
		h.wait("s", "late", api.Suspension{Questions: []api.UserQuestionRequest{declines}})
		h.clock.Advance(1_000)
		h.do(&runs.ExpireRequests{SessionID: "s", RunID: "late"})
		h.do(&runs.Complete{RunID: "late", Fence: h.claim("late")})
		expired := h.onlyRequest("late")
		require.True(h, *expired.Recorded().Declined)
		require.NoError(h, h.redactAll("s"))
		RequireHealthy(h.ctx, h, h.store)

		// A question to the parent's session.
		fence := h.child("asks")
		clarificationID := h.asked("asks", fence, "q", true)
		h.do(&runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q", "left"), Actor: person})
		h.carryOut()
		h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q")})
		h.do(&runs.Complete{RunID: "asks", Fence: h.claim("asks")})
		require.NoError(h, h.redactAll("child"))
		require.NoError(h, h.redactAll("parent"))
		RequireHealthy(h.ctx, h, h.store)
	},
	"redaction/of a failure leaves what became of the retry": func(h *harness) {
		ends := func(runID string) (ids []int64) {
			for _, event := range h.events("s") {
				if event.RunID == runID && (event.Type == api.EventFailed || event.Type == api.EventCompleted) {
					ids = append(ids, event.EventID)
				}
			}
			require.Len(h, ids, 2)
			return ids
		}
		retried := func(runID string) (fence int64) {
			h.do(start("s", runID))
			h.do(&runs.Fail{RunID: runID, Fence: 1, Error: "hunter2"})
			h.do(&runs.RetryRun{RunID: runID, Actor: person})
			return h.claim(runID)
		}
		h.do(&runs.Complete{RunID: "done", Fence: retried("done"), Output: api.JSON(`"result"`)})
		events := ends("done")
		_, err := h.redact(events[0])
		require.NoError(h, err)
		run := h.run("done").Run
		require.Equal(h, "redacted", run.LastError)
		require.Equal(h, api.JSON(`"result"`), run.Output)
		require.Empty(h, run.Error)
		_, err = h.redact(events[1])
		require.NoError(h, err)
		require.Nil(h, h.run("done").Run.Output)

		h.do(&runs.Fail{RunID: "failed", Fence: retried("failed"), Error: "again"})
		events = ends("failed")
		_, err = h.redact(events[0])
		require.NoError(h, err)
		run = h.run("failed").Run
		require.Equal(h, []string{"again", "redacted"}, []string{run.Error, run.LastError})
		_, err = h.redact(events[1])
		require.NoError(h, err)
		require.Equal(h, "redacted", h.run("failed").Run.Error)
		RequireHealthy(h.ctx, h, h.store)
	},
	"redaction/a run with an emptied decision is not retried": func(h *harness) {
		h.wait("s", "decided", approvals("a"))
		edited := allow("a")
		edited[0].UpdatedInput = api.JSON(`{"command":"make -n"}`)
		h.do(&runs.DecideRequests{RunID: "decided", Approvals: edited, Actor: person})
		h.do(&runs.Fail{RunID: "decided", Fence: h.claim("decided"), Error: "broken"})
		h.create("s", "plain")
		h.do(&runs.Fail{RunID: "plain", Fence: h.claim("plain"), Error: "broken"})
		require.NoError(h, h.redactAll("s"))
		h.refuse(api.CodeRunStateConflict, &runs.RetryRun{RunID: "decided", Actor: person})
		h.do(&runs.RetryRun{RunID: "plain", Actor: person})
		RequireHealthy(h.ctx, h, h.store)
	},
	"redaction/a review that was given up does not keep an event": func(h *harness) {
		h.create("s", "r")
		h.do(&runs.Suspend{RunID: "r", Fence: h.claim("r"), Suspension: approvals("a"), ReviewRequestIDs: []string{"a"}})
		h.do(&runs.CancelRun{RunID: "r"})
		requireCode(h, api.CodeEventNeeded, h.redactAll("s"))
		h.giveUp("s", h.effects(reads.EffectQuery{SessionID: "s", Limit: 10})[0].EffectID)
		require.NoError(h, h.redactAll("s"))
	},
	"redaction/an answer that was not delivered keeps its events": func(h *harness) {
		clarificationID := h.asked("asks", h.child("asks"), "q", false)
		h.do(&runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q", "left"), Actor: person})
		requireCode(h, api.CodeEventNeeded, h.redactAll("parent"))
		h.giveUp("parent", deliverID(clarificationID))
		requireCode(h, api.CodeEventNeeded, h.redactAll("parent"))
	},
}

// giveUp ends an effect without success.
func (h *harness) giveUp(sessionID, effectID string) {
	h.Helper()
	attempt := h.claimEffect(sessionID, effectID).Attempts
	h.do(&runs.FinishEffect{SessionID: sessionID, EffectID: effectID, Attempt: attempt, Error: "gone", Permanent: true})
}

// redactAll redacts all events of a session.
func (h *harness) redactAll(sessionID string) error {
	h.Helper()
	var ids []int64
	for _, event := range h.events(sessionID) {
		ids = append(ids, event.EventID)
	}
	_, err := h.redactIn(sessionID, ids...)
	return err
}

// redact redacts events of the session s.
func (h *harness) redact(ids ...int64) (int, error) {
	h.Helper()
	return h.redactIn("s", ids...)
}

func (h *harness) redactIn(sessionID string, ids ...int64) (int, error) {
	h.Helper()
	redactor, is := h.store.(upkeep.Redactor)
	require.True(h, is)
	return redactor.RedactEvents(h.ctx, &upkeep.Redaction{SessionID: sessionID, EventIDs: ids, Entry: func() *journal.Entry {
		return journal.New(1, "user:ada", api.AuditEvent{Type: api.AuditEventsRedacted, SessionID: sessionID, Reason: "asked for"})
	}})
}

func redacted(h *harness) {
	const secret = "hunter2"
	create := &runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "over", AgentID: "default", Input: api.JSON(`1`), Suspend: &api.Suspension{
		Approvals: []api.ApprovalRequest{{ID: "a", ToolCallID: "c", ToolName: "bash", Input: api.JSON(`{"command":"` + secret + `"}`), Reason: secret, Description: secret}},
		Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "d", Questions: []api.UserQuestion{{ID: "one", Question: secret}}}},
	}}
	h.do(create)
	waiting := h.events("s")
	_, err := h.redact(waiting[len(waiting)-1].EventID)
	requireCode(h, api.CodeEventNeeded, err)
	h.do(&runs.CancelRun{RunID: "over", Reason: secret})
	before := h.events("s")
	ids := make([]int64, len(before))
	for i, event := range before {
		ids[i] = event.EventID
	}

	_, err = h.redact(ids[0], 99)
	requireCode(h, api.CodeInvalidRequest, err)
	require.Empty(h, h.sealed(), "all or none")
	require.Equal(h, before, h.events("s"))

	// A line that cannot be written rolls back the redaction.
	_, err = h.store.(upkeep.Redactor).RedactEvents(h.ctx, &upkeep.Redaction{SessionID: "s", EventIDs: ids, Entry: func() *journal.Entry { return &journal.Entry{} }}) //nolint:forcetypeassert // as above
	require.Error(h, err)
	require.Equal(h, before, h.events("s"))

	count, err := h.redact(ids...)
	require.NoError(h, err)
	require.Equal(h, len(ids), count)
	after := h.events("s")
	require.Len(h, after, len(before))
	for i, event := range after {
		require.True(h, event.Redacted(), "%s", event.Body)
		require.Equal(h, before[i].Hash(), event.Hash(), "the chain is as it was")
		require.Equal(h, before[i].Type, event.Type)
	}
	for table, rows := range h.database.Tables(h) {
		for _, row := range rows {
			for column, value := range row {
				if text, is := value.(string); is && table != "effects" {
					require.NotContains(h, text, secret, "%s.%s", table, column)
				}
			}
		}
	}
	record := h.run("over")
	require.Equal(h, api.StatusCancelled, record.Run.Status)
	for _, request := range record.Requests {
		require.Equal(h, api.OutcomeCancelled, request.Outcome)
		require.Equal(h, request.RequestID, request.Recorded().RequestID)
	}
	count, err = h.redact(append(ids, ids[0])...)
	require.NoError(h, err)
	require.Equal(h, len(ids), count, "the same answer again; an event counts once")
	require.Len(h, h.sealed(), 1, "what takes out nothing leaves no line")
	h.do(&runs.CreateRun{SessionID: "s", SessionGiven: true, RunID: "next", AgentID: "default", Input: api.JSON(`1`)})
	_, err = h.store.(upkeep.Redactor).RedactEvents(h.ctx, &upkeep.Redaction{SessionID: "nowhere", EventIDs: ids}) //nolint:forcetypeassert // as above
	requireCode(h, api.CodeSessionNotFound, err)
}
