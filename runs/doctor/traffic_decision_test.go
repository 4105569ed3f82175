package doctor_test

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// decision returns a random command of rules or dialects.
func (g *traffic) decision() runs.Command {
	record := g.activeRun()
	runID := record.Run.RunID
	approvalID, questionID := open(record, model.KindApproval), open(record, model.KindQuestion)
	actor := runs.Actor{Name: "alice", Via: "codex"}
	answered := []api.UserQuestionAnswer{
		{QuestionID: "which", SelectedOptionIDs: []string{"x"}}, {QuestionID: "why", FreeformAnswer: "so"},
	}
	switch g.IntN(8) {
	case 0, 1, 2:
		n := g.IntN(2)
		return &runs.AnswerQuestion{RunID: runID, Partial: true, Actor: actor, Resolution: runs.QuestionAnswer{
			RequestID: questionID, Answers: answered[n : n+1],
		}}
	case 3, 4:
		command := &runs.DecideRequests{RunID: runID, Actor: actor, Key: g.among([]string{"", "k-" + runID})}
		if approvalID != "none" {
			command.Approvals = []runs.ApprovalDecision{{RequestID: approvalID, Behavior: api.BehaviorAllow}}
		}
		if questionID != "none" {
			command.Answers = []runs.QuestionAnswer{{RequestID: questionID, Answers: answered[:1+g.IntN(2)]}}
		}
		if g.chance(20) {
			command.CancelRequestID = g.among([]string{approvalID, questionID})
		}
		return command
	case 5:
		return &runs.AmendSession{SessionID: g.sessionID(), Metadata: api.JSON(g.among([]string{`{"a":1}`, `{"a":null}`}))}
	case 6:
		return &runs.AddRule{
			SessionID: g.sessionID(), ToolName: "bash", MaxUses: 1 + int64(g.IntN(3)), Actor: actor,
			Effect: api.RuleEffect(g.among([]string{string(api.RuleAllow), string(api.RuleDeny)})), Match: api.RuleMatch{AnyInput: true},
		}
	default:
		return &runs.ResolveApprovals{RunID: runID, Actor: actor, Resolutions: []runs.ApprovalDecision{
			{RequestID: approvalID, Behavior: api.BehaviorAllow, Remember: api.RememberSession},
		}}
	}
}
