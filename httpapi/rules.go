package httpapi

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

// rule returns the rule named in the path.
func (s *Server) rule(r *http.Request) (*rules.Record, error) {
	ruleID := wire.PathID(r, "rule_id")
	if !refusal.ValidID(ruleID) {
		return nil, refusal.UnknownRule(wire.Shown(ruleID))
	}
	return s.store.Reader(r.Context()).Rule(r.Context(), ruleID)
}

func (s *Server) getRule(w http.ResponseWriter, r *http.Request) error {
	record, err := s.rule(r)
	if err != nil {
		return err
	}
	return wire.Respond(w, r, http.StatusOK, record.View())
}

// addRule creates a rule. An idempotency key can replace the rule id that a caller may choose.
func (s *Server) addRule(w http.ResponseWriter, r *http.Request) error {
	var body api.AddRuleBody
	var faults refusal.Faults
	if err := s.bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	command := &runs.AddRule{
		RuleID: kit.OptionalID(&faults, "/rule_id", body.RuleID), SessionID: kit.OptionalID(&faults, "/session_id", body.SessionID),
		AgentID: kit.OptionalID(&faults, "/agent_id", body.AgentID), ToolName: kit.OptionalID(&faults, "/tool_name", body.ToolName),
		Effect: body.Effect, Reason: body.Reason, MaxUses: kit.OptionalNumber(body.MaxUses),
		Match: body.Match, ExpiresAtMs: body.ExpiresAtMs, ExpiresAfterMs: body.ExpiresAfterMs, MaxAgeMs: s.maxRuleAgeMs,
		Escalation: body.Escalation,
	}
	if command.SessionID == rules.AllSessions {
		faults.Add("/session_id", "must be left out for a rule that holds in all sessions")
	}
	if err := kit.AllFaults(r.Context(), &faults, command); err != nil {
		return err
	}
	key, actor, err := kit.Credentials(r, body.IdempotencyKey, command)
	if err != nil {
		return err
	}
	command.Actor = actor
	byKey := key != "" && command.RuleID == ""
	if byKey {
		// Neither session ids nor principals contain a slash, so the scopes are distinct.
		principal := auth.From(r.Context()).Principal
		scope := command.SessionID + "/" + principal
		if command.SessionID == "" {
			scope = runs.CallerScope(principal, actor.Name)
		}
		command.RuleID = kit.IDFromKey(runs.PrefixRule, scope, key)
	}
	reply, err := s.store.Do(r.Context(), command)
	if kit.KeyReused(byKey, err) {
		return kit.ErrKeyReused()
	}
	if err != nil {
		return err
	}
	record := reply.Rule
	if reply.Existing {
		if record, err = s.store.Reader(r.Context()).Rule(r.Context(), record.Rule.RuleID); err != nil {
			return err
		}
	}
	wire.MarkReplayed(w, reply.Existing && byKey)
	status := kit.CreatedStatus(reply.Existing, byKey)
	if status == http.StatusCreated {
		wire.Locate(w, "/v1/rules/", record.Rule.RuleID)
	}
	return wire.Respond(w, r, status, record.View())
}

// revokeRule revokes a rule. It reads the rule first to know which session to lock. A rule never
// changes its session.
func (s *Server) revokeRule(w http.ResponseWriter, r *http.Request) error {
	actor, err := wire.Actor(r)
	if err != nil {
		return err
	}
	record, err := s.rule(r)
	if err != nil {
		return err
	}
	command := &runs.RevokeRule{RuleID: record.Rule.RuleID, SessionID: record.Rule.SessionID, Actor: actor}
	if _, err := s.store.Do(r.Context(), command); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// explainRules says what the rules would do with a call, and why.
func (s *Server) explainRules(w http.ResponseWriter, r *http.Request) error {
	var body api.ExplainRulesBody
	var faults refusal.Faults
	if err := s.bodies.Decode(w, r, &body, &faults); err != nil {
		return err
	}
	call := rules.Call{
		SessionID: kit.OptionalID(&faults, "/session_id", body.SessionID), AgentID: kit.OptionalID(&faults, "/agent_id", body.AgentID),
		ToolName: body.ToolName, ToolCallID: body.ToolCallID, Input: body.Input, PatternKeys: body.PatternKeys,
	}
	if call.ToolName == "" {
		faults.AddBeside(api.Fault{Pointer: "/tool_name", Detail: "is required"})
	}
	faults.Text("/tool_name", call.ToolName, api.MaxNameLength)
	faults.Text("/tool_call_id", call.ToolCallID, api.MaxToolCallIDLength)
	rules.CheckPatternKeys("/pattern_keys", call.PatternKeys, &faults)
	faults.OptionalID("/session_id", call.SessionID)
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
		rules.CheckAge("/remember_for_ms", *body.RememberForMs, s.maxRuleAgeMs, &faults)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	others, err := s.alsoExplained(r.Context(), body.Also)
	if err != nil {
		return err
	}
	budget := runs.Budget{MaxBytes: maxJudgedBytes}
	standing, nowMs, err := s.store.Reader(r.Context()).RulesFor(r.Context(), cmp.Or(call.SessionID, rules.AllSessions), maxJudgedRules+1, &budget)
	if err != nil {
		return err
	}
	if len(standing) > maxJudgedRules || budget.Cut {
		return refusal.New(wire.CodeServiceUnavailable, "more than %d rules are in force, or they have more than %d bytes, and an answer from some of them could be wrong", maxJudgedRules, maxJudgedBytes)
	}
	var answer api.RuleExplanation
	// The caller chooses the input, and there may be many rules. All that is computed from them is in the slot.
	if err := cpulimit.Do(r.Context(), cpulimit.Bytes, func() error {
		answer.Explanation = rules.Explain(standing, call, nowMs)
		s.addChoices(&answer, &call, others, decision, nowMs)
		return nil
	}); err != nil {
		return err
	}
	// The text of an exact rule contains its input, which may belong to a session outside of the
	// caller's scope.
	elsewhere := map[string]bool{}
	if scope := runs.ScopeOf(auth.From(r.Context())); scope.Bounded() {
		for _, rule := range standing {
			elsewhere[rule.RuleID] = rule.SessionID == rules.AllSessions && rule.Match.InputDigest != ""
		}
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

// addChoices adds the rules that a decision about the call could write, with the other calls that each of them
// matches. Their cost grows with the inputs, so call it in a slot of [cpulimit.Do].
func (s *Server) addChoices(answer *api.RuleExplanation, call *rules.Call, others []openCall, decision runs.ApprovalDecision, nowMs int64) {
	for _, as := range []api.RememberAs{api.RememberExact, api.RememberCommand, api.RememberPrefix, api.RememberFolder, api.RememberTool} {
		choice := api.RememberChoice{As: as}
		decision.RememberAs = as
		var preview *runs.RulePreview
		if call.SessionID != "" {
			preview = s.previewRule(call, decision, api.RememberSession, nowMs, &choice)
		}
		if always := s.previewRule(call, decision, api.RememberAlways, nowMs, &choice); always != nil {
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

// previewRule returns the rule that a decision about the call would create, and adds its text, what it is about, and
// examples to a choice. It returns nil if no such rule can be created.
func (s *Server) previewRule(call *rules.Call, decision runs.ApprovalDecision, remember api.Remember, nowMs int64, choice *api.RememberChoice) *runs.RulePreview {
	decision.Remember = remember
	preview, err := runs.PreviewRule(
		api.ApprovalRequest{ToolName: call.ToolName, Input: call.Input, PatternKeys: call.PatternKeys}, call.SessionID,
		decision, s.maxRuleAgeMs, nowMs)
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
