package runs_test

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// family creates session "p" and its child "s", in which run "r" is running under fence 1.
func (h *house) family() *house {
	h.t.Helper()
	h.must(&runs.CreateSession{SessionID: "p"})
	h.must(&runs.CreateSession{SessionID: "s", AgentID: "scout", ParentSessionID: "p"})
	return h.start("r")
}

// ask returns a question of run "r" that does not wait for the answer.
func ask(id string) *runs.AskClarification {
	return &runs.AskClarification{RunID: "r", Fence: 1, Request: question(id)}
}

// park is ask for a run that waits.
func park(id string) *runs.AskClarification {
	command := ask(id)
	command.Park = true
	return command
}

// asked runs the command and carries out its effects. It returns the id of the clarification's
// run.
func (h *house) asked(command *runs.AskClarification) string {
	h.t.Helper()
	reply := h.must(command)
	h.carryOut()
	return reply.Clarification.RunID
}

// parked creates a family whose run "r" waits for an answer to "q".
func (h *house) parked() string {
	h.t.Helper()
	h.family()
	return h.asked(park("q"))
}

// unparked creates a family whose run "r" has asked "q" and continues.
func (h *house) unparked() string {
	h.t.Helper()
	h.family()
	return h.asked(ask("q"))
}

// carryOut carries out every due effect, as the loop does, and returns their number.
func (h *house) carryOut() int {
	h.t.Helper()
	for count := 0; ; count++ {
		due := h.dueEffects()
		if len(due) == 0 {
			return count
		}
		effect := h.must(&runs.ClaimEffect{SessionID: due[0].SessionID, EffectID: due[0].EffectID}).Effect
		var err error
		if model.CarriedOutWhere(effect.Kind) == model.CarriedOutInside {
			for more := true; more && err == nil; {
				var reply runs.Reply
				reply, err = h.do(commandOf(effect))
				more = reply.More
			}
		}
		if instead := commandWhenRefused(effect, refusal.CodeOf(err), h.nowMs); err != nil && instead != nil {
			_, err = h.do(instead)
		}
		require.NoError(h.t, err, effect.EffectID)
		h.must(&runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: effect.Attempts})
	}
}

// dueEffects returns the due effects, in the order of their ids.
func (h *house) dueEffects() []*model.Effect {
	var due []*model.Effect
	for _, sessionID := range slices.Sorted(maps.Keys(h.states)) {
		effects := h.states[sessionID].Effects
		for _, effectID := range slices.Sorted(maps.Keys(effects)) {
			if effect := effects[effectID]; effect.State == api.EffectPending && effect.DueAtMs <= h.nowMs {
				due = append(due, effect)
			}
		}
	}
	return due
}

// effect returns the row of an effect.
func (h *house) effect(effectID string) *model.Effect {
	h.t.Helper()
	for _, state := range h.states {
		if effect := state.Effects[effectID]; effect != nil {
			return effect
		}
	}
	require.Fail(h.t, "no effect", effectID)
	return nil
}

// effectIDs returns the sorted ids of a session's effects.
func (h *house) effectIDs(sessionID string) []string {
	return slices.Sorted(maps.Keys(h.states[sessionID].Effects))
}

// message returns the row of a message.
func (h *house) message(sessionID, messageID string) *model.Message {
	h.t.Helper()
	message := h.states[sessionID].Messages[messageID]
	require.NotNil(h.t, message, "no message %s", messageID)
	return message
}

// read reads the mailbox of session "s" and returns the ids of the returned messages.
func (h *house) read(deadLetters bool) []string {
	h.t.Helper()
	ids := []string{}
	for _, message := range h.must(&runs.ReadMailbox{SessionID: "s", DeadLetters: deadLetters}).Messages {
		ids = append(ids, message.MessageID)
	}
	return ids
}

// outputs returns the texts of a run's outputs.
func (h *house) outputs(runID string) []string {
	h.t.Helper()
	var texts []string
	for _, event := range h.events[h.sessionOf(runID)] {
		if event.RunID != runID || event.Type != api.EventOutput {
			continue
		}
		var body struct {
			Output api.OutputRecord `json:"output"`
		}
		require.NoError(h.t, json.Unmarshal(event.Body, &body))
		texts = append(texts, body.Output.Content)
	}
	return texts
}

// lastEvent returns the body of a run's newest event of a type.
func (h *house) lastEvent(runID string, eventType api.EventType) string {
	h.t.Helper()
	for _, event := range slices.Backward(h.events[h.sessionOf(runID)]) {
		if event.RunID == runID && event.Type == eventType {
			return string(event.Body)
		}
	}
	require.Fail(h.t, "no event", "%s of %s", eventType, runID)
	return ""
}

// requireUnchanged runs a command that must be accepted and write nothing.
func (h *house) requireUnchanged(command runs.Command) runs.Reply {
	h.t.Helper()
	reply, change, err := h.decide(command)
	require.NoError(h.t, err, "%T", command)
	require.True(h.t, change.Empty(), "%T wrote something", command)
	require.True(h.t, reply.Existing, "%T", command)
	return reply
}
