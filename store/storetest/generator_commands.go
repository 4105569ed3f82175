package storetest

import (
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// all returns what draws a command, one for each kind.
func (g *Generator) all() []func() Maker {
	return []func() Maker{
		g.createSession, g.createRun, g.createRun, g.claim, g.heartbeat, g.suspend, g.withdraw, g.retry, g.retry, g.redeem, g.appendEvents,
		g.finish, g.release, g.resolve, g.answer, g.cancelQuestion, g.cancelRun, g.interrupt, g.endSession, g.expire,
		g.ask, g.openClarification, g.deliverAnswer, g.readMailbox, g.acknowledge, g.replay,
		g.claimEffect, g.finishEffect, g.retryEffect, g.advance, g.finishNotice,
		g.addRule, g.revokeRule, g.decide, g.answerPart, g.amendSession, g.lookAt,
	}
}

// The functions below draw one command each. They are named as the commands are.

func (g *Generator) createSession() Maker {
	c := runs.CreateSession{SessionID: pick(g, append([]string{""}, sessionIDs...)), AgentID: pick(g, agentIDs)}
	if g.chance(70) {
		c.ParentSessionID = pick(g, parents)
	}
	if g.chance(30) {
		c.Metadata = api.JSON(`{"team":"blue"}`)
	}
	return func() runs.Command { copied := c; return &copied }
}

// missing returns the sessions that do not exist yet.
func (g *Generator) missing() []string {
	there := g.model.AllSessions()
	return slices.DeleteFunc(slices.Clone(sessionIDs), func(id string) bool { return slices.Contains(there, id) })
}

// createMissing creates a session, usually with a parent.
func (g *Generator) createMissing() Maker {
	c := runs.CreateSession{SessionID: pick(g, g.missing()), AgentID: pick(g, agentIDs), ParentSessionID: pick(g, parents), Principal: pick(g, principals)}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) createRun() Maker {
	c := runs.CreateRun{
		SessionID: pick(g, sessionIDs), SessionGiven: true, Input: g.document(),
		AgentID: pick(g, agentIDs), Key: pick(g, keys), Caller: "caller", Principal: pick(g, principals), Inline: g.chance(10),
	}
	if g.chance(85) {
		c.RunID = pick(g, chosenRuns)
	}
	if g.chance(10) {
		c.SessionID, c.SessionGiven = "", false
	}
	if g.chance(30) {
		c.Claim = &api.ClaimOptions{WorkerID: "w-1", LeaseMs: pick(g, leases)}
	}
	var suspension *api.Suspension
	if g.chance(25) {
		drawn := g.suspension()
		suspension = &drawn
	}
	return func() runs.Command {
		copied := c
		if c.Claim != nil {
			claim := *c.Claim
			copied.Claim = &claim
		}
		if suspension != nil {
			s := clone(*suspension)
			copied.Suspend = &s
		}
		return &copied
	}
}

func (g *Generator) claim() Maker {
	c := runs.ClaimRun{RunID: g.runID(), WorkerID: pick(g, []string{"w-1", "w-2"}), Principal: pick(g, principals), LeaseMs: pick(g, leases), MaxAttempts: 3}
	if claimable := g.model.Claimable(g.nowMs); len(claimable) > 0 && g.chance(85) {
		c.RunID = pick(g, claimable)
	}
	if g.chance(20) {
		c.SessionID = pick(g, sessionIDs)
	}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) heartbeat() Maker {
	runID := g.activeRunID()
	c := runs.Heartbeat{RunID: runID, Fence: g.fence(runID), LeaseMs: pick(g, leases), Checkpoint: g.maybeDocument()}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) suspend() Maker {
	runID := g.activeRunID()
	fence, suspension := g.fence(runID), g.suspension()
	var reviewed []string
	for i := range suspension.Approvals {
		if g.chance(40) {
			reviewed = append(reviewed, suspension.Approvals[i].ID)
		}
	}
	return func() runs.Command {
		return &runs.Suspend{RunID: runID, Fence: fence, Suspension: clone(suspension), ReviewRequestIDs: reviewed}
	}
}

func (g *Generator) retry() Maker {
	c := runs.RetryRun{RunID: g.runID(), Key: pick(g, keys)}
	if failed := g.model.Failed(); len(failed) > 0 && g.chance(85) {
		c.RunID = pick(g, failed)
	}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) withdraw() Maker {
	runID := g.activeRunID()
	c := runs.Withdraw{RunID: runID, Fence: g.fence(runID), Reason: "moot", RequestID: g.requestID(runID, model.KindApproval)}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) redeem() Maker {
	runID := g.activeRunID()
	c := runs.RedeemGrant{RunID: runID, RequestID: pick(g, requestIDs), JTI: "h-unknown", Fence: g.fence(runID)}
	if run := g.model.Run(runID); run != nil {
		if request := g.model.allowed(run, c.RequestID); request != nil {
			c.RequestID, c.JTI = request.RequestID, request.Handle
		}
	}
	if g.chance(30) {
		c.IdempotencyKey = pick(g, []string{"k-1", "k-2"})
	}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) appendEvents() Maker {
	runID := g.activeRunID()
	fence, text := g.fence(runID), g.document()
	bodies := []string{
		fmt.Sprintf(`{"type":"note","text":%s}`, text), `{"type":"output","content":"done","parts":[1]}`, `{"type":"completed"}`, `{"type":"output"}`,
	}
	chosen := g.some(bodies[:2])
	if g.chance(10) {
		chosen = append(chosen, pick(g, bodies[2:]))
	}
	key := ""
	if g.chance(30) {
		key = pick(g, []string{"k-1", "k-2"})
	}
	return func() runs.Command {
		c := &runs.AppendEvents{RunID: runID, Fence: fence, IdempotencyKey: key}
		for _, body := range chosen {
			c.Events = append(c.Events, api.JSON(body))
		}
		return c
	}
}

func (g *Generator) finish() Maker {
	runID := g.activeRunID()
	fence := g.fence(runID)
	if g.chance(30) {
		return func() runs.Command { return &runs.Fail{RunID: runID, Fence: fence, Error: "broken"} }
	}
	output := g.maybeDocument()
	return func() runs.Command { return &runs.Complete{RunID: runID, Fence: fence, Output: output} }
}

func (g *Generator) release() Maker {
	runID := g.activeRunID()
	c := runs.Release{RunID: runID, Fence: g.fence(runID), Checkpoint: g.maybeDocument()}
	if g.chance(30) {
		c.LastError, c.DelayMs = "flaky", pick(g, leases)
	}
	return func() runs.Command { copied := c; return &copied }
}

// route addresses a decision by the run, or by the session.
func (g *Generator) route() (sessionID, runID, about string) {
	about = g.activeRunID()
	run := g.model.Run(about)
	if run != nil && g.chance(40) {
		return run.SessionID, "", about
	}
	if g.chance(10) {
		return pick(g, sessionIDs), "", about
	}
	return "", about, about
}

func (g *Generator) resolve() Maker {
	sessionID, runID, about := g.route()
	var list []runs.ApprovalDecision
	seen := map[string]bool{}
	for range 1 + g.IntN(3) {
		requestID := g.requestID(about, model.KindApproval)
		if seen[requestID] && g.chance(90) {
			continue
		}
		seen[requestID] = true
		list = append(list, g.approvalResolution(requestID))
	}
	if g.chance(3) {
		list = list[:0]
	}
	key, actor := pick(g, keys), pick(g, actors)
	return func() runs.Command {
		return &runs.ResolveApprovals{
			SessionID: sessionID, RunID: runID, Key: key, Actor: actor, Resolutions: cloneResolutions(list),
		}
	}
}

func (g *Generator) answer() Maker {
	sessionID, runID, about := g.route()
	resolution := g.questionResolution(about, g.requestID(about, model.KindQuestion))
	key, actor := pick(g, keys), pick(g, actors)
	return func() runs.Command {
		return &runs.AnswerQuestion{SessionID: sessionID, RunID: runID, Key: key, Actor: actor, Resolution: resolution}
	}
}

func (g *Generator) cancelQuestion() Maker {
	runID := g.activeRunID()
	c := runs.CancelQuestion{RunID: runID, RequestID: g.requestID(runID, model.KindQuestion), Key: pick(g, keys), Actor: pick(g, actors)}
	if g.chance(50) {
		c.Justification = "never mind"
	}
	return func() runs.Command { copied := c; return &copied }
}

// lookAt acknowledges a request, or takes that back.
func (g *Generator) lookAt() Maker {
	runID := g.activeRunID()
	kind := model.KindApproval
	if g.chance(40) {
		kind = model.KindQuestion
	}
	c := runs.AcknowledgeRequest{RunID: runID, RequestID: g.requestID(runID, kind), Handle: "h-unknown", State: api.Acknowledged, Actor: pick(g, actors)}
	for position, request := range g.model.requests {
		if position.RunID == runID && position.RequestID == c.RequestID {
			c.Handle = request.Handle
		}
	}
	if g.chance(30) {
		c.State = api.NotAcknowledged
	} else if g.chance(50) {
		c.State = pick(g, []api.AcknowledgementState{api.Acknowledged, api.Snoozed})
		untilMs := g.nowMs + pick(g, []int64{-1, 1, 5_000, api.MaxAcknowledgementMs, api.MaxAcknowledgementMs + 1})
		c.UntilMs = &untilMs
	}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) cancelRun() Maker {
	c := runs.CancelRun{RunID: g.runID(), Reason: pick(g, []string{"", "no"}), Actor: pick(g, actors)}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) interrupt() Maker {
	c := runs.InterruptSession{SessionID: pick(g, sessionIDs), Reason: pick(g, []string{"", "stop"}), Actor: pick(g, actors)}
	return func() runs.Command { copied := c; return &copied }
}

// endSession is rare: not much happens in a session afterwards.
func (g *Generator) endSession() Maker {
	if g.chance(80) {
		return g.interrupt()
	}
	c := runs.EndSession{SessionID: pick(g, sessionIDs), Reason: pick(g, []string{"", "over"}), Actor: pick(g, actors)}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) expire() Maker {
	runID := g.activeRunID()
	return func() runs.Command { return &runs.ExpireRequests{RunID: runID} }
}
