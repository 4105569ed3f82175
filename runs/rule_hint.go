package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// checkRuleHint adds the faults of a rule's hint.
func checkRuleHint(hint *api.Hint, effect api.RuleEffect, faults *refusal.Faults) {
	const at = "/hint"
	switch {
	case hint == nil && effect == api.RuleHint:
		faults.Add(at, "is required for the effect %q", api.RuleHint)
	case hint == nil:
	case effect != api.RuleHint:
		faults.Add(at, "needs the effect %q", api.RuleHint)
	default:
		checkHint(hint, at, faults)
	}
}

// hinted returns the form of an approval with the hints of rules before those of the agent's side.
func hinted(form document.Object, ofRules, ofAgent []api.Hint) document.Object {
	if len(ofRules) == 0 {
		return form
	}
	return form.With("hints", document.OwnValue(append(ofRules, ofAgent...)))
}
