package rules

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/httpapi/v1/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/rules"
)

const (
	// maxJudgedRules is the maximum number of rules that one explanation evaluates.
	maxJudgedRules = 100_000
	// maxJudgedBytes limits their total size. All active rules that are not exact fit.
	maxJudgedBytes = 64 << 20
	// maxIdleRules is the maximum number of rules in the reply that do not apply.
	maxIdleRules = 1_000
)

// explain says what the rules would do with a call, and why.
func (h *handlers) explain(w http.ResponseWriter, r *http.Request) error {
	var body api.ExplainRulesBody
	var faults refusal.Faults
	if err := h.bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	call, decision := h.asked(&body, &faults)
	if err := faults.Err(); err != nil {
		return err
	}
	others, err := h.others(r.Context(), body.Also)
	if err != nil {
		return err
	}
	budget := reads.Budget{MaxBytes: maxJudgedBytes}
	standing, nowMs, err := h.store.Reader(r.Context()).RulesFor(r.Context(), cmp.Or(call.SessionID, rules.AllSessions), maxJudgedRules+1, &budget)
	if err != nil {
		return err
	}
	if len(standing) > maxJudgedRules || budget.Cut {
		return refusal.New(wire.CodeServiceUnavailable, "more than %d rules are in force, or they have more than %d bytes, and an answer from some of them could be wrong", maxJudgedRules, maxJudgedBytes)
	}
	// A decision writes no rule for a session of which the caller reaches only runs.
	scope, ofSession := reads.ScopeOf(auth.From(r.Context())), call.SessionID
	if reached, err := scope.ReachesSession(r.Context(), ofSession, h.store.Reader(r.Context()).SessionHead); err != nil {
		return err
	} else if !reached {
		ofSession = ""
	}
	var answer api.RuleExplanation
	// The caller chooses the input, and there may be many rules. All that is computed from them is in the slot.
	if err := cpulimit.Do(r.Context(), cpulimit.Bytes, func() error {
		answer.Explanation = rules.Explain(standing, call, nowMs)
		h.addChoices(&answer, ofSession, api.ApprovalRequest{
			ToolName: call.ToolName, Input: call.Input, PatternKeys: call.PatternKeys, Directory: call.Directory,
			SensitivePaths: body.SensitivePaths, InputDigest: call.InputDigest,
		}, others, decision, nowMs)
		return nil
	}); err != nil {
		return err
	}
	elsewhere, hidden := map[string]bool{}, exactElsewhere(r.Context())
	for i := range standing {
		elsewhere[standing[i].RuleID] = hidden(&standing[i])
	}
	idle := 0
	answer.Rules = slices.DeleteFunc(answer.Rules, func(rule api.ExplainedRule) bool {
		if rule.Applies {
			return false
		}
		idle++
		return elsewhere[rule.RuleID] || idle > maxIdleRules
	})
	return wire.Respond(w, r, http.StatusOK, answer)
}

// asked returns the call that a body describes, and the decision whose rules are previewed.
func (h *handlers) asked(body *api.ExplainRulesBody, faults *refusal.Faults) (rules.Call, runs.ApprovalDecision) {
	call := rules.Call{
		SessionID: kit.OptionalID(faults, "/session_id", body.SessionID), AgentID: kit.OptionalID(faults, "/agent_id", body.AgentID),
		ToolName: body.ToolName, ToolCallID: body.ToolCallID, Input: body.Input, PatternKeys: body.PatternKeys,
		Directory: body.Directory,
	}
	if call.ToolName == "" {
		faults.AddBeside(api.Fault{Pointer: "/tool_name", Detail: "is required"})
	}
	faults.Text("/tool_name", call.ToolName, api.MaxNameLength)
	faults.Text("/tool_call_id", call.ToolCallID, api.MaxToolCallIDLength)
	faults.Text("/directory", call.Directory, api.MaxDirectoryLength)
	rules.CheckPatternKeys("/pattern_keys", call.PatternKeys, faults)
	faults.OptionalID("/session_id", call.SessionID)
	runs.CheckSensitivePaths("/sensitive_paths", body.SensitivePaths, nil, faults)
	body.InputDigest = document.WholeDigest(body.InputDigest)
	switch {
	case body.InputDigest != "" && !document.ValidDigest(body.InputDigest):
		faults.Add("/input_digest", "must be the request's input_digest: \"hmac-sha256:\" and 64 hexadecimal digits in lower case")
	case len(body.SensitivePaths) == 0:
	case body.InputDigest == "":
		faults.Add("/input_digest", "is required with sensitive_paths")
	default:
		call.InputDigest = body.InputDigest // of the whole input, which the caller cannot know
	}
	decision := runs.ApprovalDecision{Behavior: api.BehaviorAllow, RememberForMs: body.RememberForMs}
	switch body.Effect { //nolint:exhaustive // a decision never creates a rule with ask
	case "", api.RuleAllow:
	case api.RuleDeny:
		decision.Behavior = api.BehaviorDeny
	default:
		faults.Add("/effect", "must be %q or %q", api.RuleAllow, api.RuleDeny)
	}
	if len(body.Also) > api.MaxAlsoExplained {
		faults.Add("/also", "must have at most %d handles", api.MaxAlsoExplained)
	}
	if body.RememberForMs != nil {
		rules.CheckAge("/remember_for_ms", *body.RememberForMs, h.maxAgeMs, faults)
	}
	return call, decision
}

// addChoices adds the rules that a decision about an approval could write, with the other calls that each of them
// matches. Their cost grows with the inputs, so call it in a slot of [cpulimit.Do].
func (h *handlers) addChoices(answer *api.RuleExplanation, sessionID string, approval api.ApprovalRequest, others []openCall, decision runs.ApprovalDecision, nowMs int64) {
	for _, as := range []api.RememberAs{api.RememberExact, api.RememberCommand, api.RememberPrefix, api.RememberFolder, api.RememberTool} {
		choice := api.RememberChoice{As: as}
		decision.RememberAs = as
		var preview *runs.RulePreview
		if sessionID != "" {
			preview = h.preview(approval, sessionID, decision, api.RememberSession, nowMs, &choice)
		}
		if always := h.preview(approval, sessionID, decision, api.RememberAlways, nowMs, &choice); always != nil {
			preview = always // it matches the same calls
		}
		if as == api.RememberExact {
			answer.Remember.Session, answer.Remember.Always, answer.Remember.Examples = choice.Session, choice.Always, choice.Examples
		}
		if preview == nil {
			continue
		}
		for i := range others {
			if preview.Matches(&others[i].call) {
				choice.Also = append(choice.Also, others[i].handle)
			}
		}
		answer.Remember.Choices = append(answer.Remember.Choices, choice)
	}
}

// preview returns the rule that a decision about an approval would create, and adds its text, what it is about, and
// examples to a choice. It returns nil if no such rule can be created.
func (h *handlers) preview(approval api.ApprovalRequest, sessionID string, decision runs.ApprovalDecision, remember api.Remember, nowMs int64, choice *api.RememberChoice) *runs.RulePreview {
	decision.Remember = remember
	preview, err := runs.PreviewRule(approval, sessionID, decision, h.maxAgeMs, nowMs)
	if err != nil {
		return nil
	}
	choice.About = preview.About
	if choice.Examples == nil {
		choice.Examples = &preview.Examples
	}
	if remember == api.RememberSession {
		choice.Session = preview.Text
	} else {
		choice.Always = preview.Text
	}
	return &preview
}
