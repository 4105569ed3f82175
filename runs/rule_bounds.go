package runs

import (
	"cmp"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// add counts a rule roughly as an engine does.
func (c *RuleCount) add(rule *rules.Rule) {
	bytes := int64(len(rule.Text) + len(rule.Reason) + len(document.Encode(rule.Match)) + len(rule.EscalationText()) + len(rule.HintText()))
	switch {
	case !rule.Exact():
		c.Rules++
		c.Bytes += bytes
	case rule.SessionID != rules.AllSessions:
		c.Exact++
		c.ExactBytes += bytes
	}
}

// exact returns the count of the exact rules as Rules and Bytes.
func (c RuleCount) exact() RuleCount { return RuleCount{Rules: c.Exact, Bytes: c.ExactBytes} }

// checkRuleBounds returns too_many_rules when the new rules exceed the limit for all sessions or
// for the session. Exact rules for all sessions have no limit.
func (w *workingCopy) checkRuleBounds(added []*rules.Rule) error {
	var ofAll, ofSession RuleCount
	for _, rule := range added {
		if rule.SessionID == rules.AllSessions {
			ofAll.add(rule)
		} else {
			ofSession.add(rule)
		}
	}
	const inAll, inOne = "all sessions", "the session"
	const others, exact = "not about one exact input", "about one exact input"
	own := w.state.RuleCounts[w.state.SessionID]
	return cmp.Or(
		checkRuleBound(inAll, others, w.state.RuleCounts[rules.AllSessions], ofAll, api.MaxRulesOfAllSessions, api.MaxRuleBytesOfAllSessions),
		checkRuleBound(inOne, others, own, ofSession, api.MaxRulesOfSession, api.MaxRuleBytesOfSession),
		checkRuleBound(inOne, exact, own.exact(), ofSession.exact(), api.MaxExactRulesOfSession, api.MaxExactRuleBytesOfSession))
}

func checkRuleBound(where, which string, there, added RuleCount, most, mostBytes int64) error {
	if added.Rules == 0 || there.Rules+added.Rules <= most && there.Bytes+added.Bytes <= mostBytes {
		return nil
	}
	return refusal.New(api.CodeTooManyRules,
		"%s would have %d rules in force that are %s, of %d bytes; at most %d and %d are allowed",
		where, there.Rules+added.Rules, which, there.Bytes+added.Bytes, most, mostBytes)
}

// checkRemembered returns too_many_rules when the decisions' rules exceed the limits.
func (w *workingCopy) checkRemembered(run *model.Run, resolutions []ApprovalDecision) error {
	var added []*rules.Rule
	for i := range resolutions {
		given := &resolutions[i]
		if given.Remember == "" {
			continue
		}
		approval := w.request(run.RunID, given.RequestID).Approval()
		if namesPart(given.RememberAs) {
			if _, _, found := partMatch(given.RememberAs, &approval); !found {
				return refusal.Invalid(api.Fault{Pointer: fmt.Sprintf("/resolutions/%d/remember_as", i), Detail: lacksPart(given.RememberAs)})
			}
		}
		if given.RememberMatch != nil || namesPart(given.RememberAs) || given.Remember == api.RememberSession {
			added = append(added, given.rule(approval, run.SessionID, w.nowMs))
		}
	}
	return w.checkRuleBounds(added)
}
