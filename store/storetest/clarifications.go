package storetest

import (
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

var clarificationTests = map[string]func(*harness){
	"clarification/asked, opened, answered, delivered, claimed": func(h *harness) {
		fence := h.child("asker")
		clarificationID := h.ask("asker", fence, "q", true)
		record := h.run("asker")
		require.Equal(h, api.StatusWaitingForUserQuestion, record.Run.Status)
		require.Equal(h, &api.WaitingOn{SessionID: "parent", RunID: clarificationID, RequestID: "q"}, record.View().WaitingOn)
		require.Empty(h, record.View().PendingQuestionIDs)
		require.Equal(h, model.KindClarification, h.onlyRequest("asker").Kind)
		require.Empty(h, h.pendingQuestions(""), "nobody is asked in the child's session")
		require.Zero(h, h.summary("child").PendingQuestions)
		require.Empty(h, h.session("child").View().PendingQuestions)
		require.Empty(h, h.claimable())
		require.Equal(h, []string{openID(clarificationID)}, h.dueEffects(10))

		h.clock.Advance(1)
		h.carryOut()
		opened := h.run(clarificationID)
		require.Equal(h, api.KindParentClarification, opened.Run.Kind)
		require.Equal(h, api.StatusWaitingForUserQuestion, opened.Run.Status)
		require.Empty(h, h.claimable())
		require.Nil(h, h.session("parent").Active, "a clarification takes no slot")
		require.Equal(h, api.SessionIdle, h.summary("parent").Status)
		require.Equal(h, 1, h.summary("parent").PendingQuestions)
		require.Len(h, h.session("parent").View().PendingQuestions, 1)

		h.clock.Advance(1)
		answeredAtMs := h.clock.NowMs()
		h.do(&runs.AnswerQuestion{SessionID: "parent", Resolution: answer("q", "left"), Actor: person})
		require.Equal(h, api.StatusCompleted, h.run(clarificationID).Run.Status)
		require.Equal(h, model.LeaseRevoked, h.run(clarificationID).Run.LeaseEnd)
		require.Equal(h, []api.EventType{
			api.EventAccepted, api.EventWaitingForUserQuestion,
			api.EventOutput, api.EventParentClarificationResolved, api.EventCompleted,
		}, typesOf(h.events("parent")))
		require.Empty(h, h.session("parent").Besides)
		require.Zero(h, h.summary("parent").PendingQuestions)
		require.Equal(h, api.StatusWaitingForUserQuestion, h.run("asker").Run.Status, "the answer has not been delivered to the child")
		require.Equal(h, []string{deliverID(clarificationID)}, h.dueEffects(10))

		h.clock.Advance(5)
		h.carryOut()
		require.Equal(h, []string{"asker"}, h.claimable())
		require.Nil(h, h.run("asker").View().WaitingOn)
		settled := h.onlyRequest("asker")
		require.Equal(h, api.OutcomeAnswered, settled.Outcome)
		require.Equal(h, answeredAtMs, settled.Recorded().ResolvedAtMs, "the moment is the one of the answer")
		require.Equal(h, answeredAtMs+5, settled.SettledAtMs)
		require.Equal(h, "alice", settled.Recorded().ResolvedBy)

		reply := h.do(&runs.ClaimRun{RunID: "asker", WorkerID: "w"})
		handed := reply.Claim.Resume.Clarification
		require.NotNil(h, handed)
		require.Equal(h, "q", handed.RequestID)
		require.False(h, handed.Declined)
		require.Equal(h, []string{"left"}, handed.Answers[0].SelectedOptionIDs)
		require.Empty(h, h.mailbox("child"), "the claim acknowledges")
		require.Empty(h, h.deadLetters("child"))
		require.True(h, h.do(&runs.AcknowledgeMessage{SessionID: "child", MessageID: model.MessageIDOf("q")}).Existing)
		require.Equal(h, []api.EventType{
			api.EventAccepted, api.EventQueued, api.EventStarted, api.EventParentClarificationRequested,
			api.EventWaitingForUserQuestion, api.EventUserQuestionResolved, api.EventStarted,
		}, typesOf(h.events("child")))
		h.do(&runs.Complete{RunID: "asker", Fence: fenceOf(h, reply)})
		require.Empty(h, h.dueEffects(10))
	},
	"clarification/who asks comes back as it was given": func(h *harness) {
		fence := h.child("asker")
		h.create("parent", "other")
		projects := []string{"zoë", "a 🙂", `"quoted"`}
		reply := h.do(&runs.AskClarification{
			RunID: "asker", Fence: fence, Request: question("q"), RequesterProjectIDs: projects, ParentChannelIDs: []string{"inbox"},
		})
		clarificationID := reply.Clarification.RunID
		opened := h.do(commandOf(reply.Effect))
		want := api.Requester{
			RequesterAgentID: "coder", RequesterSessionID: "child", RequesterRunID: "asker", RequesterToolCallID: "call-q",
			RequesterProjectIDs: projects, ParentChannelIDs: []string{"inbox"},
		}
		written := opened.Run.Run.Requester
		require.Equal(h, want, opened.Run.Run.RequesterOf())

		record := h.run(clarificationID)
		require.Equal(h, written, record.Run.Requester)
		claimed, err := h.store.ClaimedRun(h.ctx, clarificationID)
		require.NoError(h, err)
		require.Equal(h, string(written), string(claimed.Run.Requester))
		requireText(h, string(opened.Run.Run.Input), claimed.Run.Input)
		list := h.runs(reads.RunQuery{Kind: api.KindParentClarification, Limit: 10})
		require.Len(h, list, 1)
		require.Equal(h, *record, list[0])
		of, _, err := h.store.SettledAfter(h.ctx, clarificationID, 0)
		require.NoError(h, err)
		require.Equal(h, string(written), string(of.Requester))

		pending := h.pendingQuestions("parent")
		require.Len(h, pending, 1)
		require.Equal(h, api.KindParentClarification, pending[0].RunKind)
		require.Equal(h, "lead", pending[0].AgentID, "the agent is the parent's")
		require.Equal(h, string(written), string(pending[0].Requester))
		require.Equal(h, want, pending[0].QuestionView("").Requester)
		require.Equal(h, pending, h.session("parent").Besides)

		require.Nil(h, h.run("other").Run.Requester)
		otherFence := h.claim("other")
		h.do(&runs.Suspend{RunID: "other", Fence: otherFence, Suspension: questions("own")})
		pending = h.pendingQuestions("parent")
		require.Len(h, pending, 2)
		for _, one := range pending {
			require.Equal(h, one.RunKind == api.KindParentClarification, one.Requester != nil)
		}
		require.Len(h, h.session("parent").Besides, 1, "the active run's question is not a clarification")
		require.Equal(h, 2, h.summary("parent").PendingQuestions)
		require.Equal(h, api.StatusWaitingForUserQuestion, h.summary("parent").Status)
	},
	"clarification/one that is not parked goes on and reads its mailbox": func(h *harness) {
		fence := h.child("asker")
		clarificationID := h.asked("asker", fence, "q", false)
		require.Equal(h, api.StatusRunning, h.run("asker").Run.Status)
		require.Nil(h, h.run("asker").View().WaitingOn)
		h.do(&runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q", "right"), Actor: person})
		h.carryOut()
		record := h.run("asker")
		require.Equal(h, api.StatusRunning, record.Run.Status)
		require.Nil(h, record.Resume())
		messages := h.do(&runs.ReadMailbox{SessionID: "child"}).Messages
		require.Len(h, messages, 1)
		require.Equal(h, "clarification_answer", messages[0].Subject)
		require.Equal(h, "asker", messages[0].RunID)
		require.Equal(h, "parent", messages[0].FromSessionID)
		require.Contains(h, string(messages[0].Payload), `"type":"parent_clarification_answer"`)
		h.do(&runs.Complete{RunID: "asker", Fence: fence})
	},
	"clarification/a child that is over gets a dead letter and the parent completes": func(h *harness) {
		fence := h.child("asker")
		clarificationID := h.asked("asker", fence, "q", false)
		h.do(&runs.Complete{RunID: "asker", Fence: fence})
		settled := h.settledAfter("asker", 0)
		require.Len(h, settled, 1)
		require.Equal(h, api.OutcomeExpired, settled[0].Outcome)
		require.Len(h, h.pendingQuestions("parent"), 1, "it stays open for the parent")
		h.do(&runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q", "left"), Actor: person})
		h.carryOut()
		require.Equal(h, api.StatusCompleted, h.run(clarificationID).Run.Status)
		require.Empty(h, h.mailbox("child"))
		require.Equal(h, []string{model.MessageIDOf("q")}, h.deadLetters("child"))
	},
	"clarification/asked and opened again": func(h *harness) {
		fence := h.child("asker")
		command := func() *runs.AskClarification {
			return &runs.AskClarification{RunID: "asker", Fence: fence, Request: question("q"), Park: true}
		}
		first := h.do(command())
		h.do(commandOf(first.Effect))
		again := h.do(command())
		require.True(h, again.Existing)
		require.Equal(h, first.Clarification, again.Clarification)
		require.True(h, h.do(commandOf(again.Effect)).Existing)
		other := command()
		other.Request.Questions[0].Question = "Another one?"
		h.refuse(api.CodeIDConflict, other)
		h.carryOut()
		require.Len(h, h.effects(reads.EffectQuery{Limit: 10}), 1)
		require.Len(h, h.pendingQuestions(""), 1)
		list := h.runs(reads.RunQuery{SessionID: "parent", Limit: 10})
		require.Len(h, list, 1)
	},
	"clarification/a request id is one's own in the whole session": func(h *harness) {
		fence := h.child("first")
		h.ask("first", fence, "q", false)
		h.do(&runs.Complete{RunID: "first", Fence: fence})
		h.create("child", "second")
		fence = h.claim("second")
		h.refuse(api.CodeIDConflict, &runs.AskClarification{RunID: "second", Fence: fence, Request: question("q")})
		h.ask("second", fence, "q-2", false)
	},
	"clarification/a parent that is not there or has ended": func(h *harness) {
		h.create("orphan", "asker")
		h.refuse(api.CodeNoParentSession, &runs.AskClarification{RunID: "asker", Fence: h.claim("asker"), Request: question("q")})

		fence := h.child("parked")
		h.ask("parked", fence, "q", true)
		h.do(&runs.EndSession{SessionID: "parent"})
		h.carryOut()
		require.Equal(h, []string{"parked"}, h.claimable(), "a parent that cannot be asked declines")
		handed := h.do(&runs.ClaimRun{RunID: "parked", WorkerID: "w"}).Claim.Resume.Clarification
		require.True(h, handed.Declined)
	},
	"clarification/expires by the sweep": func(h *harness) {
		fence := h.child("asker")
		request := questionDueAt("q-due", clockStart+10)
		h.do(&runs.AskClarification{RunID: "asker", Fence: fence, Request: request, Park: true})
		h.carryOut()
		clarificationID := h.pendingQuestions("parent")[0].Request.RunID
		dueAtMs, _, err := h.store.NextDueAtMs(h.ctx)
		require.NoError(h, err)
		require.Equal(h, int64(clockStart+10), dueAtMs)
		h.clock.Advance(10)
		due, err := h.store.Due(h.ctx, 10)
		require.NoError(h, err)
		require.Equal(h, []reads.DueRun{{RunID: clarificationID, SessionID: "parent"}}, due, "the child's side has no deadline of its own")
		h.do(&runs.ExpireRequests{SessionID: "parent", RunID: clarificationID})
		due, err = h.store.Due(h.ctx, 10)
		require.NoError(h, err)
		require.Empty(h, due)
		require.Equal(h, api.StatusCompleted, h.run(clarificationID).Run.Status)
		require.Empty(h, h.pendingQuestions(""))
		h.carryOut()
		require.Equal(h, api.OutcomeExpired, h.onlyRequest("asker").Outcome)
		handed := h.do(&runs.ClaimRun{RunID: "asker", WorkerID: "w"}).Claim.Resume.Clarification
		require.True(h, handed.Declined)
		refused := h.refuse(api.CodeQuestionExpired, &runs.AnswerQuestion{RunID: clarificationID, Resolution: answer("q-due", "left"), Actor: person})
		require.Equal(h, api.OutcomeExpired, refused.Recorded.Outcome)
	},
	"clarification/the session's route": func(h *harness) {
		// Two children ask with the same request id, and so does the parent's own run.
		h.child("one")
		h.childIn("sibling", "two")
		first := h.asked("one", 1, "q", true)
		h.clock.Advance(1)
		second := h.asked("two", 1, "q", true)
		h.wait("parent", "own", questions("q"))
		bySession := func(option string) runs.Reply {
			return h.do(&runs.AnswerQuestion{SessionID: "parent", Resolution: answer("q", option), Actor: person})
		}
		require.Equal(h, "own", bySession("left").Run.Run.RunID, "the active run goes first")
		require.Equal(h, first, bySession("left").Run.Run.RunID, "then the longest waiting one")
		require.Equal(h, second, bySession("right").Run.Run.RunID)

		// Nothing is open any more. The newest with that id accepts an equal answer again.
		events := len(h.events("parent"))
		again := bySession("right")
		require.True(h, again.Existing)
		require.Equal(h, second, again.Run.Run.RunID)
		require.Len(h, h.events("parent"), events)
		refused := h.refuse(api.CodeQuestionResolutionConflict, &runs.AnswerQuestion{SessionID: "parent", Resolution: answer("q", "left"), Actor: person})
		require.Equal(h, api.OutcomeAnswered, refused.Recorded.Outcome)
		require.True(h, h.do(&runs.AnswerQuestion{RunID: first, Resolution: answer("q", "left"), Actor: person}).Existing)
		require.Len(h, h.dueEffects(10), 2, "an answer is delivered once")
	},
	"clarification/a session shows the first of many": func(h *harness) {
		fence := h.child("asker")
		const asked = api.MaxClarificationsShown + 5
		h.askMany("asker", fence, asked)
		all := h.pendingQuestions("parent")
		require.Len(h, all, asked)
		require.Equal(h, asked, h.summary("parent").PendingQuestions)
		require.Zero(h, h.summary("child").PendingQuestions)
		require.Equal(h, all[:api.MaxClarificationsShown], h.session("parent").Besides)
		h.do(&runs.AnswerQuestion{RunID: all[0].Request.RunID, Resolution: answer(all[0].Request.RequestID, "left"), Actor: person})
		require.Equal(h, all[1:api.MaxClarificationsShown+1], h.session("parent").Besides)
	},
	"clarification/interrupting declines every one": func(h *harness) {
		h.declinesMany(func() {
			require.True(h, h.do(&runs.InterruptSession{SessionID: "parent", Actor: person}).Interrupted)
			h.drain("parent")
			require.False(h, h.do(&runs.InterruptSession{SessionID: "parent", Actor: person}).Interrupted, "nothing waits any more")
		})
	},
	"clarification/ending the session declines every one": func(h *harness) {
		h.declinesMany(func() { h.do(&runs.EndSession{SessionID: "parent", Actor: person}) })
	},
	"clarification/cancelling the run or the question": func(h *harness) {
		fence := h.child("asker")
		byRun := h.asked("asker", fence, "q-1", false)
		byQuestion := h.asked("asker", fence, "q-2", false)
		h.do(&runs.CancelRun{RunID: byRun, Actor: person})
		h.do(&runs.CancelQuestion{RunID: byQuestion, RequestID: "q-2", Actor: person})
		for _, clarificationID := range []string{byRun, byQuestion} {
			require.Equal(h, api.StatusCompleted, h.run(clarificationID).Run.Status)
			require.Equal(h, api.OutcomeCancelled, h.onlyRequest(clarificationID).Outcome)
		}
		h.carryOut()
		require.Len(h, h.mailbox("child"), 2)
		h.do(&runs.Complete{RunID: "asker", Fence: fence})
	},
}

// declinesMany checks the outcome when many open clarifications, with finished ones among them,
// are declined together.
func (h *harness) declinesMany(decline func()) {
	h.Helper()
	const asked = 120
	fence := h.child("asker")
	h.askMany("asker", fence, asked)
	waiting := h.pendingQuestions("parent")
	require.Len(h, waiting, asked)
	answered := waiting[7].Request
	h.do(&runs.AnswerQuestion{RunID: answered.RunID, Resolution: answer(answered.RequestID, "left"), Actor: person})
	decline()
	h.drain("parent")
	require.Empty(h, h.pendingQuestions(""))
	require.Zero(h, h.summary("parent").PendingQuestions)
	completed, err := h.store.CountRuns(h.ctx, reads.RunQuery{SessionID: "parent", Kind: api.KindParentClarification, Status: api.StatusCompleted})
	require.NoError(h, err)
	require.Equal(h, int64(asked), completed)
	require.Equal(h, api.OutcomeAnswered, h.onlyRequest(answered.RunID).Outcome)
	require.Equal(h, api.OutcomeDeclined, h.onlyRequest(waiting[0].Request.RunID).Outcome)
	require.Len(h, h.dueEffects(1_000), asked)
	h.carryOutAtOnce()
	declined := 0
	for _, message := range h.do(&runs.ReadMailbox{SessionID: "child"}).Messages {
		if h.declined(message) {
			declined++
		}
	}
	require.Equal(h, asked-1, declined)
	settled := h.settledAfter("asker", 0)
	require.Len(h, settled, asked)
	h.do(&runs.Complete{RunID: "asker", Fence: fence})
	events := h.events("parent")
	require.Equal(h, strconv.FormatInt(events[len(events)-1].EventID, 10), h.session("parent").View().LastEventID)
}
