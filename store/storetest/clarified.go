package storetest

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// child creates the sessions "parent" and its child "child" if necessary, and a claimed run in
// the child.
func (h *harness) child(runID string) (fence int64) {
	h.Helper()
	h.do(&runs.CreateSession{SessionID: "parent", AgentID: "lead"})
	return h.childIn("child", runID)
}

// childIn creates a child session of "parent" and a claimed run in it.
func (h *harness) childIn(sessionID, runID string) (fence int64) {
	h.Helper()
	h.do(&runs.CreateSession{SessionID: sessionID, AgentID: "coder", ParentSessionID: "parent"})
	h.create(sessionID, runID)
	return h.claim(runID)
}

// ask lets a child's run ask and returns the id of the clarification's run, which exists once
// the pending effects are performed.
func (h *harness) ask(runID string, fence int64, requestID string, park bool) string {
	h.Helper()
	reply := h.do(&runs.AskClarification{RunID: runID, Fence: fence, Request: question(requestID), Park: park})
	require.NotNil(h, reply.Clarification)
	return reply.Clarification.RunID
}

// asked lets a child's run ask and creates the clarification's run.
func (h *harness) asked(runID string, fence int64, requestID string, park bool) string {
	h.Helper()
	clarificationID := h.ask(runID, fence, requestID, park)
	h.carryOut()
	return clarificationID
}

// askMany lets a child's run ask often at once, and creates the runs of the clarifications.
func (h *harness) askMany(runID string, fence int64, count int) {
	h.Helper()
	each(h, count, func(n int) error {
		_, err := h.store.Do(h.ctx, &runs.AskClarification{RunID: runID, Fence: fence, Request: question(numbered("q", n))})
		return err
	})
	h.carryOutAtOnce()
}

// carryOut performs effects like the service, until none is due.
func (h *harness) carryOut() {
	h.Helper()
	h.carryOutThose(func(reads.DueEffect) bool { return true })
}

// drain performs the effects that end the rest of an ended or interrupted session, and no
// others.
func (h *harness) drain(sessionID string) {
	h.Helper()
	h.carryOutThose(func(due reads.DueEffect) bool {
		return due.SessionID == sessionID && model.EffectKindOf(due.EffectID) == api.EffectDrainSession
	})
}

func (h *harness) carryOutThose(chosen func(reads.DueEffect) bool) {
	h.Helper()
	for due := h.dueOfThose(chosen); len(due) > 0; due = h.dueOfThose(chosen) {
		for _, one := range due {
			require.NoError(h, h.carryOutOne(one))
		}
	}
}

// carryOutAtOnce is carryOut for many effects: those that are due are performed at once, in any order.
func (h *harness) carryOutAtOnce() {
	h.Helper()
	all := func(reads.DueEffect) bool { return true }
	for due := h.dueOfThose(all); len(due) > 0; due = h.dueOfThose(all) {
		each(h, len(due), func(n int) error { return h.carryOutOne(due[n]) })
	}
}

func (h *harness) dueOfThose(chosen func(reads.DueEffect) bool) []reads.DueEffect {
	h.Helper()
	due, err := h.store.DueEffects(h.ctx, 1_000)
	require.NoError(h, err)
	return slices.DeleteFunc(due, func(one reads.DueEffect) bool { return !chosen(one) })
}

func (h *harness) carryOutOne(due reads.DueEffect) error {
	claimed, err := h.store.Do(h.ctx, &runs.ClaimEffect{SessionID: due.SessionID, EffectID: due.EffectID})
	if err == nil && claimed.Effect == nil {
		err = fmt.Errorf("%s is due and was not claimed", due.EffectID)
	}
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		var reply runs.Reply
		reply, err = h.store.Do(h.ctx, commandOf(claimed.Effect))
		more = reply.More
	}
	if instead := commandWhenRefused(claimed.Effect, refusal.CodeOf(err), claimed.NowMs); instead != nil {
		_, err = h.store.Do(h.ctx, instead)
	}
	if err != nil {
		return err
	}
	_, err = h.store.Do(h.ctx, &runs.FinishEffect{SessionID: due.SessionID, EffectID: due.EffectID, Attempt: claimed.Effect.Attempts})
	return err
}

// deliver puts a message into a session's mailbox, as the effect of a clarification
// does.
func (h *harness) deliver(sessionID, runID, requestID string) model.Message {
	h.Helper()
	reply := h.do(delivery(sessionID, runID, requestID))
	require.Len(h, reply.Messages, 1)
	return reply.Messages[0]
}

func delivery(sessionID, runID, requestID string) *runs.DeliverAnswer {
	return &runs.DeliverAnswer{
		SessionID: sessionID, RunID: runID, RequestID: requestID, FromSessionID: "parent",
		Message:    api.JSON(`{"type":"parent_clarification_answer","request_id":"` + requestID + `"}`),
		Resolution: api.JSON(`{"request_id":"` + requestID + `","outcome":"answered","resolved_at_ms":7}`),
	}
}

// mailbox reads a session's mailbox and returns the ids of the messages it shows.
func (h *harness) mailbox(sessionID string) []string {
	h.Helper()
	return messageIDs(h.do(&runs.ReadMailbox{SessionID: sessionID}).Messages)
}

// deadLetters returns the ids of a session's dead letters.
func (h *harness) deadLetters(sessionID string) []string {
	h.Helper()
	return messageIDs(h.do(&runs.ReadMailbox{SessionID: sessionID, DeadLetters: true}).Messages)
}

func messageIDs(messages []model.Message) []string {
	ids := make([]string, len(messages))
	for i := range messages {
		ids[i] = messages[i].MessageID
	}
	return ids
}

func (h *harness) effects(q reads.EffectQuery) []model.Effect {
	h.Helper()
	list, err := h.store.Effects(h.ctx, q)
	require.NoError(h, err)
	if q.After == nil && len(list) < q.Limit {
		count, err := h.store.CountEffects(h.ctx, q)
		require.NoError(h, err)
		require.Equal(h, int64(len(list)), count)
	}
	return list
}

// dueEffects returns the ids of the effects that may be tried now.
func (h *harness) dueEffects(limit int) []string {
	h.Helper()
	list, err := h.store.DueEffects(h.ctx, limit)
	require.NoError(h, err)
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].EffectID
	}
	return ids
}

func openID(clarificationID string) string {
	return string(api.EffectOpenClarification) + ":" + clarificationID
}

func deliverID(clarificationID string) string {
	return string(api.EffectDeliverAnswer) + ":" + clarificationID
}

// pendingQuestions returns the open questions of a session, of all when it is empty.
func (h *harness) pendingQuestions(sessionID string) []model.PendingRequest {
	h.Helper()
	query := reads.RequestQuery{Kind: model.KindQuestion, SessionID: sessionID, Limit: 1_000}
	list := h.pending(query)
	count, err := h.store.CountPendingRequests(h.ctx, query)
	require.NoError(h, err)
	require.Equal(h, count, int64(len(list)))
	return list
}

// summary returns the line of a session in the list of sessions.
func (h *harness) summary(sessionID string) model.SessionSummary {
	h.Helper()
	list, err := h.store.Sessions(h.ctx, reads.SessionQuery{Limit: 1_000})
	require.NoError(h, err)
	for i := range list {
		if list[i].Session.SessionID == sessionID {
			return list[i]
		}
	}
	require.Fail(h, "the session is not in the list", sessionID)
	return model.SessionSummary{}
}

// onlyRequest returns the one request that a run has, of whatever state.
func (h *harness) onlyRequest(runID string) model.Request {
	h.Helper()
	record := h.run(runID)
	require.Len(h, record.Requests, 1)
	return record.Requests[0]
}

// declined reports whether the answer in a message is a declined one.
func (h *harness) declined(message model.Message) bool {
	h.Helper()
	var payload struct {
		Declined bool `json:"declined"`
	}
	require.NoError(h, json.Unmarshal(message.Payload, &payload))
	return payload.Declined
}

// commandOf returns the command of an effect, whose payload must be readable.
func commandOf(effect *model.Effect) runs.Command {
	command, err := runs.CommandOf(effect)
	if err != nil {
		panic(err)
	}
	return command
}

// commandWhenRefused is commandOf for the replacement after a rejection.
func commandWhenRefused(effect *model.Effect, code api.Code, nowMs int64) runs.Command {
	command, err := runs.CommandWhenRefused(effect, code, nowMs)
	if err != nil {
		panic(err)
	}
	return command
}
