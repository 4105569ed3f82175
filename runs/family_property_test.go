package runs_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// TestAnySequenceInAFamily is TestAnySequenceOfCommands for three generations, mostly with the
// commands by which they communicate. At the end all pending effects are carried out, and
// every question and answer must have reached its destination.
func TestAnySequenceInAFamily(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHouse(t)
		h.generations()
		for i, sessionID := range propertySessions {
			h.must(&runs.CreateRun{
				SessionID: sessionID, SessionGiven: true, RunID: propertyRuns[i], Input: api.JSON(`1`), Claim: &api.ClaimOptions{WorkerID: "w"},
			})
		}
		t.Repeat(map[string]func(*rapid.T){
			"":            func(*rapid.T) {},
			"time passes": func(t *rapid.T) { h.nowMs += rapid.SampledFrom([]int64{1, 5_000, 30_000}).Draw(t, "ms") },
			"commit":      func(t *rapid.T) { h.t = t; h.flush() },
			"ask":         h.send(drawAsk),
			"ask 2":       h.send(drawAsk),
			"answer":      h.send(drawAnswer),
			"answer 2":    h.send(drawAnswer),
			"part":        h.send(drawPart),
			"decide":      h.send(drawDecision),
			"carry out":   func(t *rapid.T) { h.t = t; h.carryOut() },
			"effect":      h.send(drawEffect),
			"effect 2":    h.send(drawEffect),
			"mailbox":     h.send(drawMailbox),
			"mailbox 2":   h.send(drawMailbox),
			"claim":       h.send(drawClaim),
			"suspend":     h.send(drawSuspend),
			"approve":     h.send(drawApprovals),
			"worker call": h.send(drawWorkerCall),
			"create run":  h.send(drawCreateRun),
			"withdraw": h.send(func(t *rapid.T, h *house) runs.Command {
				runID := drawRun(t, h)
				return &runs.Withdraw{RunID: runID, RequestID: drawRequest(t, h, runID), Fence: drawFence(t, h, runID)}
			}),
			"stop": h.send(drawStop),
		})
		h.t = t
		h.flush()
		h.checkHealthy()
		h.nowMs += model.EffectLeaseMs
		h.carryOut()
		h.checkFamilies()
		h.checkHealthy()
	})
}

// generations creates three sessions, each the child of the previous one.
func (h *house) generations() {
	h.t.Helper()
	parentID := ""
	for _, sessionID := range propertySessions {
		h.must(&runs.CreateSession{SessionID: sessionID, ParentSessionID: parentID})
		parentID = sessionID
	}
}

// checkFamilies checks that every question and answer is where its effect has delivered it, once
// no effect is due.
func (h *house) checkFamilies() {
	h.t.Helper()
	for _, state := range h.states {
		for key, request := range state.Requests {
			if request.Kind != model.KindClarification {
				continue
			}
			on := request.Clarification().WaitingOn
			if state.Effects["open_clarification:"+on.RunID].State == api.EffectFailed {
				continue
			}
			message := state.Messages[model.MessageIDOf(key.RequestID)]
			parent := h.states[on.SessionID]
			if parent == nil || parent.Runs[on.RunID] == nil {
				require.NotNil(h.t, message, "the parent was never asked, and nobody told %s", key.RunID)
				continue
			}
			run := parent.Runs[on.RunID]
			if run.Status == api.StatusCompleted && parent.Effects["deliver_answer:"+run.RunID].State == api.EffectDone {
				require.NotNil(h.t, message, "the answer for %s never came", key.RunID)
			}
		}
	}
}

// clarifications returns the ids of the waiting parent clarifications.
func (h *house) clarifications() []string {
	var waiting []string
	for _, state := range h.states {
		for runID, run := range state.Runs {
			if run.Kind == api.KindParentClarification && !model.Terminal(run.Status) {
				waiting = append(waiting, runID)
			}
		}
	}
	slices.Sort(waiting)
	return waiting
}

// drawAsk draws a question from a run to its parent's session, mostly a run that its worker holds.
func drawAsk(t *rapid.T, h *house) runs.Command {
	runID := drawRun(t, h)
	if n := rapid.IntRange(0, 5).Draw(t, "child"); n > 0 {
		child := h.states[[]string{"t", "u"}[n%2]]
		if child != nil && child.Session.ActiveRunID != "" {
			runID = child.Session.ActiveRunID
		}
	}
	command := &runs.AskClarification{
		RunID: runID, Fence: drawFence(t, h, runID), Park: rapid.Bool().Draw(t, "park"),
		Request: drawQuestion(t, rapid.SampledFrom(propertyRequests).Draw(t, "request")),
	}
	if command.Park {
		command.Checkpoint = drawCheckpoint(t)
	}
	switch rapid.IntRange(0, 7).Draw(t, "deadline") {
	case 0:
		command.Request.ExpiresAfterMs = ms(rapid.Int64Range(1, 20_000).Draw(t, "due"))
	case 1:
		command.Request.ExpiresAtMs = ms(1)
	}
	return command
}

// drawEffect draws a step of one of the effects, in any order and with repetitions.
func drawEffect(t *rapid.T, h *house) runs.Command {
	sessionID := drawSession(t)
	state := h.states[sessionID]
	if state == nil || len(state.Effects) == 0 {
		return &runs.ClaimEffect{SessionID: sessionID, EffectID: "none"}
	}
	effect := state.Effects[rapid.SampledFrom(h.effectIDs(sessionID)).Draw(t, "effect")]
	switch rapid.IntRange(0, 5).Draw(t, "step") {
	case 0:
		return &runs.ClaimEffect{SessionID: sessionID, EffectID: effect.EffectID}
	case 1:
		failure := &runs.FinishEffect{
			SessionID: sessionID, EffectID: effect.EffectID, Attempt: max(effect.Attempts-rapid.Int64Range(0, 1).Draw(t, "stale"), 0),
			Error: "broken", Permanent: rapid.IntRange(0, 9).Draw(t, "permanent") == 0,
		}
		return failure
	case 2:
		return &runs.RetryEffect{SessionID: sessionID, EffectID: effect.EffectID}
	default:
		if model.CarriedOutWhere(effect.Kind) == model.CarriedOutOutside {
			return &runs.FinishEffect{SessionID: sessionID, EffectID: effect.EffectID, Attempt: effect.Attempts}
		}
		return commandOf(effect)
	}
}

func drawMailbox(t *rapid.T, h *house) runs.Command {
	sessionID := drawSession(t)
	ids := []string{"none"}
	if state := h.states[sessionID]; state != nil && len(state.Messages) > 0 {
		ids = slices.Sorted(maps.Keys(state.Messages))
	}
	messageID := rapid.SampledFrom(ids).Draw(t, "message")
	switch rapid.IntRange(0, 4).Draw(t, "mailbox") {
	case 0:
		return &runs.AcknowledgeMessage{SessionID: sessionID, MessageID: messageID}
	case 1:
		return &runs.ReplayMessage{SessionID: sessionID, MessageID: messageID}
	case 2:
		return &runs.ReadMailbox{SessionID: sessionID, DeadLetters: true}
	default:
		return &runs.ReadMailbox{SessionID: sessionID}
	}
}
