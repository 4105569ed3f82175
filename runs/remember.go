package runs

import (
	"fmt"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// prepareRemember checks the rule that a decision remembers, and generates the rule's id. The
// request's own members need no check: they were checked with the same limits when it was raised.
func (r *ApprovalDecision) prepareRemember(at string, maxRuleAgeMs int64, newID IDSource, faults *refusal.Faults) {
	if r.Remember == "" {
		if r.RememberForMs != nil {
			faults.Add(at+"/remember_for_ms", "needs remember")
		}
		if r.RememberAs != "" {
			faults.Add(at+"/remember_as", "needs remember")
		}
		return
	}
	if r.Remember != api.RememberSession && r.Remember != api.RememberAlways {
		faults.Add(at+"/remember", "must be %q or %q", api.RememberSession, api.RememberAlways)
		return
	}
	if r.Behavior == api.BehaviorAllow && r.UpdatedInput != nil {
		// The worker will raise the original input again, which nobody has allowed.
		faults.Add(at+"/remember", "must not be given together with updated_input")
	}
	switch r.RememberAs {
	case "", api.RememberExact, api.RememberCommand, api.RememberPrefix, api.RememberFolder:
	case api.RememberTool:
		if r.Remember != api.RememberSession {
			faults.Add(at+"/remember_as", "must not be %q for all sessions: add a rule to allow a whole tool", api.RememberTool)
		}
	default:
		faults.Add(at+"/remember_as", "must be %q, %q, %q, %q or %q", api.RememberExact, api.RememberCommand, api.RememberPrefix, api.RememberFolder, api.RememberTool)
	}
	if r.RememberMatch != nil {
		const someTool = "the request's"
		rules.CheckMatch(r.RememberMatch, at+"/remember", someTool, r.Remember == api.RememberSession, faults)
	}
	r.ruleAgeMs = rules.DefaultAgeMs(r.Remember == api.RememberSession, maxRuleAgeMs)
	if r.RememberForMs != nil {
		rules.CheckAge(at+"/remember_for_ms", *r.RememberForMs, maxRuleAgeMs, faults)
		r.ruleAgeMs = *r.RememberForMs
	}
	r.ruleID = newID(PrefixRule)
}

// rule returns the rule that a prepared decision remembers, for the approval's tool and exact input
// (docs/spec/v1.md#remember). It never uses the approval's pattern keys: the agent chose these labels
// and could put them on another call.
func (r *ApprovalDecision) rule(approval api.ApprovalRequest, sessionID string, nowMs int64) *rules.Rule {
	rule := &rules.Rule{
		SessionID: rules.AllSessions, Effect: api.RuleAllow, Reason: r.Reason,
		CreatedAtMs: nowMs, ExpiresAtMs: rules.ExpiresAtMs(nowMs, r.ruleAgeMs),
	}
	if r.Remember == api.RememberSession {
		rule.SessionID = sessionID
	}
	if r.Behavior == api.BehaviorDeny {
		rule.Effect = api.RuleDeny
	}
	var input []byte
	switch {
	case r.RememberMatch != nil:
		rule.ToolName, rule.Match = approval.ToolName, *r.RememberMatch
		if canonical, digest := exactInput(&approval); digest == rule.Match.InputDigest {
			input = canonical
		}
	case r.RememberAs == api.RememberTool:
		rule.ToolName, rule.Match.AnyInput = approval.ToolName, true
	case namesPart(r.RememberAs):
		// checkRemembered has refused a decision about an approval without such a part.
		rule.ToolName = approval.ToolName
		rule.Match, _, _ = partMatch(r.RememberAs, &approval)
	default:
		rule.ToolName = approval.ToolName
		input, rule.Match.InputDigest = exactInput(&approval)
	}
	if rule.Effect == api.RuleAllow && !rule.Match.AnyInput {
		// The same command, or relative path, is another call in another directory.
		rule.Match.Directory = approval.Directory
	}
	rule.Text = rule.Describe(input)
	return rule
}

// namesPart reports whether a remembered rule is about a part of the input.
func namesPart(as api.RememberAs) bool {
	return as == api.RememberCommand || as == api.RememberPrefix || as == api.RememberFolder
}

// partMatch matches calls that have the same part of the input as an approval, and says which: the
// words of api.RememberPrefix, or the folder of api.RememberFolder. There is no match for an approval
// without such a part, or with sensitive values, which the rule would show.
func partMatch(as api.RememberAs, approval *api.ApprovalRequest) (match api.RuleMatch, about string, found bool) {
	if len(approval.SensitivePaths) > 0 {
		return match, "", false
	}
	switch as {
	case api.RememberPrefix:
		return rules.PrefixMatch(approval.ToolName, approval.Input)
	case api.RememberFolder:
		return rules.FolderMatch(approval.ToolName, approval.Input)
	case api.RememberCommand:
		match, found = rules.CommandMatch(approval.ToolName, approval.Input)
	case api.RememberExact, api.RememberTool:
	}
	return match, "", found
}

// lacksPart is the fault of a decision about an approval without the part of the input.
func lacksPart(as api.RememberAs) string {
	part := map[api.RememberAs]string{
		api.RememberCommand: "command that a rule can name", api.RememberPrefix: "command with a subcommand",
		api.RememberFolder: "file in a folder that a rule can name",
	}[as]
	return fmt.Sprintf("must not be %q: the call has no %s", as, part)
}

// exactInput returns an approval's input in canonical form, and its digest. For a sensitive input it
// returns only the digest.
func exactInput(approval *api.ApprovalRequest) (canonical []byte, digest string) {
	if len(approval.SensitivePaths) > 0 {
		return nil, approval.InputDigest
	}
	return rules.ExactInput(approval.Input)
}

// RulePreview is a rule before it is written.
type RulePreview struct {
	api.RuleView
	Examples api.RuleExamples
	// About is as in [api.RememberChoice].
	About string

	rule *rules.Rule
}

// Matches reports whether the rule would decide a call, in whichever session it is raised. It takes
// time: the caller chose the inputs.
func (p *RulePreview) Matches(call *rules.Call) bool { return p.rule.Matches(call) }

// PreviewRule returns the rule that a decision about an approval would write at nowMs, without id
// and author, and with examples of matching calls. People can then read it before they decide.
// maxRuleAgeMs is as in ResolveApprovals. Errors: the decision's invalid_request, with pointers
// into the resolution.
func PreviewRule(approval api.ApprovalRequest, sessionID string, resolution ApprovalDecision, maxRuleAgeMs, nowMs int64) (RulePreview, error) {
	var faults refusal.Faults
	resolution.prepareRemember("", maxRuleAgeMs, func(string) string { return "" }, &faults)
	if resolution.Remember == "" {
		faults.Add("/remember", "is required")
	}
	if _, err := document.Canonical(approval.Input); err != nil {
		faults.Add("/input", "has no canonical JSON form")
	}
	about := ""
	if namesPart(resolution.RememberAs) {
		var found bool
		if _, about, found = partMatch(resolution.RememberAs, &approval); !found {
			faults.Add("/remember_as", "%s", lacksPart(resolution.RememberAs))
		}
	}
	if err := faults.Err(); err != nil {
		return RulePreview{}, err
	}
	record := rules.Record{Rule: *resolution.rule(approval, sessionID, nowMs)}
	input, digest := exactInput(&approval)
	if digest != record.Rule.Match.InputDigest {
		input = nil
	}
	return RulePreview{record.View(), record.Rule.Examples(input), about, &record.Rule}, nil
}

// remembersDeny reports whether one of the decisions writes a deny rule.
func remembersDeny(resolutions []ApprovalDecision) bool {
	return slices.ContainsFunc(resolutions, func(decided ApprovalDecision) bool {
		return decided.Remember != "" && decided.Behavior == api.BehaviorDeny
	})
}
