package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Demands returns what a caller must be allowed to do to give a command, with what the command
// does besides its name: a rule that is written with a decision. Commands of loops, and those
// that are not listed, demand an action that nobody may do.
func Demands(command Command) []auth.Action {
	switch c := command.(type) {
	case *CreateSession, *AmendSession, *CreateRun, *NameSegment:
		return []auth.Action{auth.Chat}
	case *ClaimRun, *Heartbeat, *Suspend, *Release, *Complete, *Fail, *AppendEvents, *Withdraw, *AskClarification,
		*ReadMailbox, *AcknowledgeMessage, *RedeemGrant:
		return []auth.Action{auth.Work}
	case *ClaimEffect, *OpenClarification, *FinishEffect:
		// [Ask] carries out at once what the question owes.
		return []auth.Action{auth.Work}
	case *ResolveApprovals:
		return demandsOfDecisions(c.Resolutions)
	case *AnswerQuestion:
		return []auth.Action{auth.Decide}
	case *DecideRequests:
		if c.CancelRequestID != "" {
			return []auth.Action{auth.Cancel}
		}
		return demandsOfDecisions(c.Approvals)
	case *CancelQuestion, *CancelRun, *InterruptSession:
		return []auth.Action{auth.Cancel}
	case *EndSession:
		return []auth.Action{auth.Decide}
	case *AddRule:
		return []auth.Action{ruleAction(c.SessionID)}
	case *RevokeRule:
		return []auth.Action{ruleAction(c.SessionID)}
	case *ExpireRequests:
		// A list settles what is past its deadline before it shows it.
		return []auth.Action{auth.Read}
	case *RetryRun:
		return []auth.Action{auth.Decide}
	case *RetryEffect, *ReplayMessage, *RewrapDataKey:
		return []auth.Action{auth.Administer}
	}
	return []auth.Action{""}
}

func demandsOfDecisions(decisions []ApprovalDecision) []auth.Action {
	demands := []auth.Action{auth.Decide}
	for i := range decisions {
		switch decisions[i].Remember {
		case "":
		case api.RememberSession:
			demands = append(demands, auth.WriteRule)
		case api.RememberAlways:
			demands = append(demands, auth.WriteRuleForAll)
		default:
			// The door refuses any other; until then it is the broadest.
			demands = append(demands, auth.WriteRuleForAll)
		}
	}
	return demands
}

func ruleAction(sessionID string) auth.Action {
	if sessionID == "" || sessionID == rules.AllSessions {
		return auth.WriteRuleForAll
	}
	return auth.WriteRule
}
