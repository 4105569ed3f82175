package storetest

import (
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/rules"
)

var (
	chosenRules = []string{"", "l-1", "l-2", "L-3", "l-4", "l-5"}
	toolNames   = []string{"bash", "bash", "write"}
	patternKeys = []string{"make", "rm", "net"}
	metadata    = []string{`{"team":"red"}`, `{"team":null}`, `{"a":{"b":[1]},"team":"blue"}`, `{}`, `[]`}
)

// match draws a match for a rule of some tool.
func (g *Generator) match() api.RuleMatch {
	switch g.IntN(8) {
	case 0:
		return api.RuleMatch{Params: map[string]string{"b": pick(g, []string{"1", "2*"})}}
	case 1, 2, 3:
		return api.RuleMatch{AnyInput: true}
	case 4, 5:
		digest, err := document.Digest(g.document())
		if err != nil {
			panic("storetest: a document has no digest: " + err.Error())
		}
		return api.RuleMatch{InputDigest: digest}
	default:
		return api.RuleMatch{PatternKeys: g.some(patternKeys)}
	}
}

func cloneMatch(match api.RuleMatch) api.RuleMatch {
	match.PatternKeys = slices.Clone(match.PatternKeys)
	return match
}

func (g *Generator) addRule() Maker {
	c := runs.AddRule{
		RuleID: pick(g, chosenRules), ToolName: pick(g, toolNames), Match: g.match(),
		Effect: pick(g, []api.RuleEffect{"", api.RuleAllow, api.RuleAllow, api.RuleAsk, api.RuleDeny, api.RuleHint}), Actor: pick(g, actors),
	}
	if g.chance(25) {
		c.AgentID = pick(g, agentIDs)
	}
	if g.chance(70) {
		c.SessionID = pick(g, sessionIDs)
		c.MaxUses = pick(g, []int64{0, 1, 2})
	}
	if c.Effect == api.RuleAsk {
		c.Escalation = pick(g, []*api.Escalation{nil, {AtDeadline: api.DeadlineKeep}, {Steps: []api.EscalationStep{
			{Notify: []string{"role:operator"}}, {AfterMs: 500, Notify: []string{"user:ada"}, AlsoFrom: []string{"user:ben"}},
		}}})
	}
	if c.Effect == api.RuleHint {
		c.Hint, c.MaxUses = &api.Hint{Level: pick(g, []api.HintLevel{api.HintInfo, api.HintWarn, api.HintDanger}), Text: pick(g, []string{"slow", "costs 🙂"})}, 0
	}
	if g.chance(30) {
		c.Reason = "as ever 🙂"
	}
	if g.chance(80) {
		after := pick(g, []int64{0, 1, 1_000, 60_000, 300_000})
		c.ExpiresAfterMs = &after
	}
	return func() runs.Command {
		copied := c
		copied.Match = cloneMatch(c.Match)
		return &copied
	}
}

// revokeRule usually names a rule in force.
func (g *Generator) revokeRule() Maker {
	c := runs.RevokeRule{RuleID: pick(g, chosenRules), SessionID: pick(g, append([]string{""}, sessionIDs...)), Actor: pick(g, actors)}
	records := g.model.Rules()
	if holding := slices.DeleteFunc(slices.Clone(records), func(r rules.Record) bool { return r.Rule.RevokedAtMs != 0 }); len(holding) > 0 && g.chance(80) {
		records = holding
	}
	if len(records) > 0 && g.chance(90) {
		rule := pick(g, records).Rule
		c.RuleID = rule.RuleID
		if g.chance(90) {
			c.SessionID = rule.SessionID
		}
	}
	return func() runs.Command { copied := c; return &copied }
}

// remember lets a decision write a rule.
func (g *Generator) remember(resolution *runs.ApprovalDecision) {
	resolution.Remember = pick(g, []api.Remember{api.RememberSession, api.RememberSession, api.RememberAlways})
	if g.chance(70) {
		forMs := pick(g, []int64{0, 1_000, 30_000})
		resolution.RememberForMs = &forMs
	}
	if g.chance(20) {
		match := g.match()
		resolution.RememberMatch = &match
	} else {
		resolution.RememberAs = g.rememberAs()
	}
}

func cloneResolutions(given []runs.ApprovalDecision) []runs.ApprovalDecision {
	copied := append([]runs.ApprovalDecision{}, given...)
	for i := range copied {
		if match := copied[i].RememberMatch; match != nil {
			other := cloneMatch(*match)
			copied[i].RememberMatch = &other
		}
	}
	return copied
}

func (g *Generator) approvalResolution(requestID string) runs.ApprovalDecision {
	resolution := runs.ApprovalDecision{
		RequestID: requestID,
		Behavior:  pick(g, []api.Behavior{api.BehaviorAllow, api.BehaviorAllow, api.BehaviorDeny}),
	}
	if g.chance(20) {
		resolution.UpdatedInput = g.document()
	}
	if g.chance(20) {
		g.remember(&resolution)
	}
	if g.chance(10) {
		resolution.RuntimePayload = g.document()
	}
	return resolution
}

// questionResolution answers a question request, wholly or partly.
func (g *Generator) questionResolution(runID, requestID string) runs.QuestionAnswer {
	resolution := runs.QuestionAnswer{RequestID: requestID}
	switch g.IntN(16) {
	case 0, 1:
		resolution.Declined = true
		return resolution
	case 2:
		return resolution
	case 3:
		resolution.Verbatim, resolution.Value = true, g.document()
		return resolution
	}
	option := "x"
	if g.chance(8) {
		option = "z"
	}
	for _, questionID := range g.questionsOf(runID, requestID) {
		resolution.Answers = append(resolution.Answers, api.UserQuestionAnswer{QuestionID: questionID, SelectedOptionIDs: []string{option}})
	}
	return resolution
}

// questionsOf returns the ids of mostly all questions of a request.
func (g *Generator) questionsOf(runID, requestID string) []string {
	ids := []string{"which"}
	if run := g.model.Run(runID); run != nil {
		if request := g.model.Request(run.SessionID, runID, requestID); request != nil && request.Kind == model.KindQuestion {
			ids = ids[:0]
			for _, asked := range request.Question().Questions {
				ids = append(ids, asked.ID)
			}
		}
	}
	if len(ids) > 1 && g.chance(40) {
		return []string{pick(g, ids)}
	}
	return ids
}

// answerPart answers one question of a request.
func (g *Generator) answerPart() Maker {
	runID := g.activeRunID()
	requestID := g.requestID(runID, model.KindQuestion)
	resolution := g.questionResolution(runID, requestID)
	resolution.Answers = resolution.Answers[:min(len(resolution.Answers), 1)]
	actor := pick(g, actors)
	return func() runs.Command {
		return &runs.AnswerQuestion{RunID: runID, Actor: actor, Resolution: resolution, Partial: true}
	}
}

// decide decides approvals and questions of a run together.
func (g *Generator) decide() Maker {
	runID := g.activeRunID()
	c := runs.DecideRequests{RunID: runID, Key: pick(g, keys), Actor: pick(g, actors)}
	for _, id := range g.model.OpenRequests(runID, model.KindApproval) {
		if g.chance(85) {
			c.Approvals = append(c.Approvals, g.approvalResolution(id))
		}
	}
	for _, id := range g.model.OpenRequests(runID, model.KindQuestion) {
		if g.chance(85) {
			c.Answers = append(c.Answers, g.questionResolution(runID, id))
		}
	}
	if g.chance(10) {
		c.Approvals = append(c.Approvals, g.approvalResolution(pick(g, requestIDs)))
	}
	if g.chance(10) {
		c.CancelRequestID, c.CancelReason = g.requestID(runID, pick(g, []model.RequestKind{model.KindApproval, model.KindQuestion})), "no more"
		c.CancelRuntimePayload = g.maybeDocument()
	}
	if g.chance(25) {
		c.Segment = &runs.SegmentName{SegmentID: g.segmentID(), Call: pick(g, keys)}
	}
	return func() runs.Command {
		copied := c
		copied.Approvals = cloneResolutions(c.Approvals)
		copied.Answers = slices.Clone(c.Answers)
		return &copied
	}
}

// segmentID returns an id for a part of a run, which may be in use, even by a run.
func (g *Generator) segmentID() string {
	if g.chance(10) {
		return g.activeRunID()
	}
	return fmt.Sprintf("part-%d", g.IntN(200))
}

func (g *Generator) nameSegment() Maker {
	c := runs.NameSegment{RunID: g.activeRunID(), Segment: runs.SegmentName{SegmentID: g.segmentID(), Call: pick(g, keys)}}
	return func() runs.Command { copied := c; return &copied }
}

func (g *Generator) amendSession() Maker {
	c := runs.AmendSession{SessionID: pick(g, sessionIDs), Metadata: api.JSON(pick(g, metadata))}
	switch g.IntN(4) {
	case 0:
		c.Label = new(pick(g, []string{"", "nightly", "é🙂"}))
	case 1:
		c.Origin = &api.SessionOrigin{Project: pick(g, []string{"", "shop"}), Host: "ada"}
	}
	return func() runs.Command { copied := c; return &copied }
}

// standing returns commands about rules, or unrelated to a run's progress.
func (g *Generator) standing() []func() Maker {
	return []func() Maker{g.addRule, g.addRule, g.addRule, g.addRule, g.revokeRule, g.amendSession, g.nameSegment}
}
