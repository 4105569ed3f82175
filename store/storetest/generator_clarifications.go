package storetest

import (
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// parents of created sessions. No command creates "root": questions to it find no session.
var parents = []string{"", "s-1", "s-1", "s-2", "root"}

// askedIDs collide with each other across runs, and one of them with the runs' own requests.
var askedIDs = []string{"c-1", "c-2", "c-3", "both"}

func (g *Generator) question(id string) api.UserQuestionRequest {
	at, after := g.deadline()
	return api.UserQuestionRequest{
		ID: id, ToolCallID: "call", ExpiresAtMs: at, ExpiresAfterMs: after,
		Questions: []api.UserQuestion{{ID: "which", Question: "Which?", Options: []api.QuestionOption{{ID: "x"}, {ID: "y"}}}},
	}
}

// cloneQuestion copies a question so that two stores do not prepare the same one.
func cloneQuestion(question api.UserQuestionRequest) api.UserQuestionRequest {
	return clone(api.Suspension{Questions: []api.UserQuestionRequest{question}}).Questions[0]
}

func (g *Generator) ask() Maker {
	runID := g.activeRunID()
	c := runs.AskClarification{RunID: runID, Fence: g.fence(runID), Park: g.chance(60)}
	question := g.question(pick(g, askedIDs))
	if c.Park || g.chance(5) {
		c.Checkpoint = g.maybeDocument()
	}
	if g.chance(30) {
		c.RequesterProjectIDs, c.ParentChannelIDs = []string{"p-1", "p-2"}, []string{"inbox"}
	}
	if g.chance(5) {
		c.ParentRefusal = &refusal.Error{Code: api.CodeSessionEnded, Detail: "the parent session has ended"}
	}
	return func() runs.Command {
		copied := c
		copied.Request = cloneQuestion(question)
		return &copied
	}
}

// openClarification usually performs a pending effect.
func (g *Generator) openClarification() Maker {
	if effect, there := g.effectOf(api.EffectOpenClarification); there && g.chance(85) {
		return func() runs.Command { return commandOf(&effect) }
	}
	if g.chance(70) {
		return g.ask()
	}
	question := g.question(pick(g, askedIDs))
	c := runs.OpenClarification{
		SessionID: pick(g, []string{"s-1", "s-2", "root"}), RunID: g.runID(),
		Requester: api.Requester{RequesterAgentID: "coder", RequesterSessionID: pick(g, sessionIDs), RequesterRunID: pick(g, chosenRuns)},
	}
	return func() runs.Command {
		copied := c
		copied.Request = cloneQuestion(question)
		return &copied
	}
}

// deliverAnswer usually performs a pending effect, sometimes its replacement if the parent's
// session is over.
func (g *Generator) deliverAnswer() Maker {
	if effect, there := g.effectOf(api.EffectOpenClarification); there && g.chance(10) {
		nowMs := g.nowMs
		return func() runs.Command { return commandWhenRefused(&effect, api.CodeSessionEnded, nowMs) }
	}
	if effect, there := g.effectOf(api.EffectDeliverAnswer); there && g.chance(85) {
		return func() runs.Command { return commandOf(&effect) }
	}
	if g.chance(70) {
		return g.ask()
	}
	// A message is for a run of its session, even if that run never asked. No answer precedes
	// its question, whose message would have the same id.
	runID, requestID := g.runID(), pick(g, append([]string{"stray", "stray"}, askedIDs...))
	if run := g.model.Run(runID); run == nil || g.model.Request(run.SessionID, runID, requestID) == nil {
		requestID = "stray"
	}
	c := *delivery("root", runID, requestID)
	c.FromSessionID = pick(g, sessionIDs)
	if run := g.model.Run(c.RunID); run != nil && g.chance(85) {
		c.SessionID = run.SessionID
	}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) readMailbox() Maker {
	c := runs.ReadMailbox{SessionID: pick(g, append([]string{"root"}, sessionIDs...)), DeadLetters: g.chance(30)}
	if list := g.model.Messages(api.MessagePending); len(list) > 0 && g.chance(80) {
		c.SessionID = pick(g, list).SessionID
	}
	return func() runs.Command { copied := c; return &copied }
}

// message usually returns an existing one, in any state.
func (g *Generator) message(states ...api.MessageState) (sessionID, messageID string) {
	if list := g.model.Messages(pick(g, states)); len(list) > 0 && g.chance(90) {
		message := pick(g, list)
		return message.SessionID, message.MessageID
	}
	return pick(g, append([]string{"root"}, sessionIDs...)), pick(g, []string{"", "nothing", model.MessageIDOf(pick(g, askedIDs))})
}

func (g *Generator) acknowledge() Maker {
	sessionID, messageID := g.message(api.MessagePending, api.MessagePending, api.MessageDeadLetter, api.MessageAcknowledged)
	return func() runs.Command {
		return &runs.AcknowledgeMessage{SessionID: sessionID, MessageID: messageID}
	}
}

func (g *Generator) replay() Maker {
	sessionID, messageID := g.message(api.MessageDeadLetter, api.MessageDeadLetter, api.MessagePending, api.MessageAcknowledged)
	return func() runs.Command { return &runs.ReplayMessage{SessionID: sessionID, MessageID: messageID} }
}

// effectOf draws an effect of some kinds, usually a pending one.
func (g *Generator) effectOf(kinds ...api.EffectKind) (model.Effect, bool) {
	list := slices.DeleteFunc(g.model.Effects(), func(e model.Effect) bool { return !slices.Contains(kinds, e.Kind) })
	if owed := slices.DeleteFunc(slices.Clone(list), func(e model.Effect) bool { return e.DueAtMs == 0 }); len(owed) > 0 && g.chance(85) {
		list = owed
	}
	if len(list) == 0 {
		return model.Effect{}, false
	}
	return pick(g, list), true
}

// effect usually returns an existing one.
func (g *Generator) effect() model.Effect {
	if effect, there := g.effectOf(api.EffectOpenClarification, api.EffectDeliverAnswer, api.EffectReviewApproval, api.EffectAdvanceRequest, api.EffectNotify); there && g.chance(92) {
		return effect
	}
	return model.Effect{SessionID: pick(g, sessionIDs), EffectID: pick(g, []string{"", "open_clarification:nothing"})}
}

func (g *Generator) claimEffect() Maker {
	effect := g.effect()
	return func() runs.Command {
		return &runs.ClaimEffect{SessionID: effect.SessionID, EffectID: effect.EffectID}
	}
}

func (g *Generator) finishEffect() Maker {
	effect := g.effect()
	c := runs.FinishEffect{SessionID: effect.SessionID, EffectID: effect.EffectID, Attempt: effect.Attempts}
	if g.chance(15) {
		c.Attempt += g.between(-1, 1)
	}
	if g.chance(40) {
		c.Error, c.Permanent = "the session is busy\x00 🙂", g.chance(40)
	}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) retryEffect() Maker {
	effect := g.effect()
	return func() runs.Command {
		return &runs.RetryEffect{SessionID: effect.SessionID, EffectID: effect.EffectID}
	}
}

// aboutClarification lets a person decide a clarification that waits.
func (g *Generator) aboutClarification() []func() Maker {
	g.about = pick(g, g.model.WaitingClarifications())
	return []func() Maker{g.answer, g.answer, g.answer, g.cancelQuestion, g.expire, g.cancelAbout, g.interrupt}
}

// cancelAbout cancels the run that is moved on.
func (g *Generator) cancelAbout() Maker {
	c := runs.CancelRun{RunID: g.about, Reason: pick(g, []string{"", "no"}), Actor: pick(g, actors)}
	return func() runs.Command { copied := c; return &copied }
}

// carryOn returns commands that move clarifications on, apart from runs, or nil.
func (g *Generator) carryOn() []func() Maker {
	var ways [][]func() Maker
	if len(g.model.DueEffects(g.nowMs)) > 0 {
		ways = append(ways, []func() Maker{
			g.openClarification, g.openClarification, g.deliverAnswer, g.deliverAnswer, g.claimEffect, g.finishEffect, g.advance, g.advance, g.finishNotice,
		})
	}
	if len(g.model.WaitingClarifications()) > 0 {
		ways = append(ways, g.aboutClarification())
	}
	if len(g.model.Messages(api.MessagePending)) > 0 {
		ways = append(ways, []func() Maker{g.readMailbox, g.readMailbox, g.acknowledge})
	}
	if len(g.model.Messages(api.MessageDeadLetter)) > 0 {
		ways = append(ways, []func() Maker{g.replay, g.replay, g.acknowledge})
	}
	if len(ways) == 0 {
		return nil
	}
	return pick(g, ways)
}
