package runs

import "slices"

// prepareRemember checks what a decision says about the rule that is written with it,
// and makes the rule's id, which is no part of what the caller sent. Whether the rule
// fits the request is clear from the start: a request's own members fit a rule.
func (r *ApprovalDecision) prepareRemember(at string, maxRuleAgeMs int64, newID IDSource, faults *faultList) {
	if r.Remember == "" {
		if r.RememberForMs != nil {
			faults.add(at+"/remember_for_ms", "needs remember")
		}
		return
	}
	if r.Remember != RememberSession && r.Remember != RememberAlways {
		faults.add(at+"/remember", "must be %q or %q", RememberSession, RememberAlways)
		return
	}
	if r.Behavior == BehaviorAllow && r.UpdatedInput != nil {
		// The worker will ask with its own input again, which nobody has allowed.
		faults.add(at+"/remember", "must not be given together with updated_input")
	}
	if r.RememberMatch != nil {
		const someTool = "the request's"
		checkMatch(r.RememberMatch, at+"/remember", someTool, r.Remember == RememberSession, faults)
	}
	r.ruleAgeMs = defaultRuleAge(maxRuleAgeMs)
	if r.RememberForMs != nil {
		checkRuleAge(at+"/remember_for_ms", *r.RememberForMs, maxRuleAgeMs, faults)
		r.ruleAgeMs = *r.RememberForMs
	}
	r.ruleID = newID(PrefixRule)
}

// remembersDeny reports whether a decision writes a rule that denies.
func remembersDeny(resolutions []ApprovalDecision) bool {
	for i := range resolutions {
		if resolutions[i].Remember != "" && resolutions[i].Behavior == BehaviorDeny {
			return true
		}
	}
	return false
}

// remember writes the rule that goes with a decision, and returns what the decision
// tells of it.
func (w *work) remember(request *Request, given *ApprovalDecision, actor Actor) *AppliedRule {
	if given.Remember == "" {
		return nil
	}
	rule := given.rule(request.Approval(), request.SessionID, w.nowMs)
	rule.RuleID, rule.CreatedBy = given.ruleID, actor.Name
	rule.SourceRunID, rule.SourceRequestID = request.RunID, request.RequestID
	w.changes.NewRules = append(w.changes.NewRules, rule)
	return &AppliedRule{rule.RuleID, rule.Text}
}

// rule returns the rule that remembers a prepared decision about an approval: for its
// pattern keys, whatever the tool, or else for its tool with exactly its input.
func (r *ApprovalDecision) rule(approval ApprovalRequest, sessionID string, nowMs int64) *Rule {
	rule := &Rule{
		SessionID: GlobalRules, Effect: RuleAllow, Reason: r.Reason,
		CreatedAtMs: nowMs, ExpiresAtMs: expiryOf(nowMs, r.ruleAgeMs),
	}
	if r.Remember == RememberSession {
		rule.SessionID = sessionID
	}
	if r.Behavior == BehaviorDeny {
		rule.Effect = RuleDeny
	}
	var input []byte
	switch {
	case r.RememberMatch != nil:
		rule.ToolName, rule.Match = approval.ToolName, *r.RememberMatch
		if canonical, digest := exactInput(approval.Input); digest == rule.Match.InputDigest {
			input = canonical
		}
	case len(approval.PatternKeys) > 0:
		for _, key := range approval.PatternKeys {
			if !slices.Contains(rule.Match.PatternKeys, key) {
				rule.Match.PatternKeys = append(rule.Match.PatternKeys, key)
			}
		}
	default:
		rule.ToolName = approval.ToolName
		input, rule.Match.InputDigest = exactInput(approval.Input)
	}
	rule.Text = rule.describe(input)
	return rule
}

// exactInput returns the canonical form of an input and its digest. One that has none
// is never raised.
func exactInput(input JSON) (canonical []byte, digest string) {
	canonical, err := Canonical(input)
	if err == nil {
		digest, err = Digest(JSON(canonical))
	}
	if err != nil {
		panic("runs: the input of an approval has no canonical form: " + err.Error())
	}
	return canonical, digest
}

// PreviewRule returns the rule that a decision about an approval would write at that
// moment, for a person to read before, without its id and its author. maxRuleAgeMs is that of ResolveApprovals.
// Errors: the invalid_request that the decision would meet, with pointers into the
// resolution.
func PreviewRule(approval ApprovalRequest, sessionID string, resolution ApprovalDecision, maxRuleAgeMs, nowMs int64) (RuleView, error) {
	var faults faultList
	resolution.prepareRemember("", maxRuleAgeMs, func(string) string { return "" }, &faults)
	if resolution.Remember == "" {
		faults.add("/remember", "is required")
	}
	if _, err := Canonical(approval.Input); err != nil {
		faults.add("/input", "has no canonical JSON form")
	}
	if err := faults.err(); err != nil {
		return RuleView{}, err
	}
	record := RuleRecord{Rule: *resolution.rule(approval, sessionID, nowMs)}
	return record.View(), nil
}
