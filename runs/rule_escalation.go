package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// escalationBytes returns the length of an escalation in its stored form.
func escalationBytes(e *api.Escalation) int {
	return len((&rules.Rule{Escalation: e}).EscalationText())
}

// checkRuleEscalation adds the faults of a rule's escalation, except names that the service does not have.
func checkRuleEscalation(e *api.Escalation, effect api.RuleEffect, faults *refusal.Faults) {
	const at = "/escalation"
	if e == nil {
		return
	}
	checkApprovalEscalation(e, "", faults)
	switch {
	case effect != api.RuleAsk:
		faults.Add(at, "needs the effect %q: other rules leave no request to people", api.RuleAsk)
	case e.Name == "" && len(e.Steps) == 0 && e.AtDeadline == "":
		faults.Add(at, "must have a name, steps or at_deadline")
	case escalationBytes(e) > api.MaxRuleEscalationBytes:
		faults.Add(at, "must have at most %d bytes", api.MaxRuleEscalationBytes)
	}
}

// ofRule returns the escalation that a rule gives to a request, and the request's form with it. If the service
// has lost the escalation that the rule names, its default applies, or everyone who may decide is notified
// once, so that a name that was removed silences nobody.
func (w *workingCopy) ofRule(rule *rules.Rule, form document.Object) (*api.Escalation, document.Object) {
	e := *rule.Escalation
	by := &api.EscalationRule{RuleID: rule.RuleID}
	if e.Name != "" {
		named := w.state.Escalations.Of(&e)
		if named == nil {
			by.MissingName = e.Name
			named = w.state.Escalations.Of(nil)
		}
		e = api.Escalation{}
		if named != nil {
			e = *named.Escalation
		}
	}
	e.ByRule = by
	return &e, form.With("escalation", document.OwnValue(&e))
}
