package rules

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/runs/rules"
)

// Limits of the rules that the explanation of a request looks at. Beyond them it names none.
const (
	maxNearRules = 10_000
	maxNearBytes = 8 << 20
)

const (
	addedLater  = "it was added after the request was raised"
	askedBefore = "a rule that asks goes before it"
)

// Near reads the rules that the explanation of a request names.
type Near struct{ Store runs.Service }

// Of returns the standing rules about the tool and the input of an open approval, and how many there are beyond
// api.MaxExplainedRules. It returns none for a request with sensitive values, of which rules must not tell anything.
func (n Near) Of(ctx context.Context, found *model.DecidedRequest) (near []api.ExplainedRule, more int64, err error) {
	request := &found.Request
	if request.Kind != model.KindApproval {
		return nil, 0, nil
	}
	asked := request.Approval()
	if len(asked.SensitivePaths) > 0 {
		return nil, 0, nil
	}
	budget := reads.Budget{MaxBytes: maxNearBytes}
	standing, nowMs, err := n.Store.Reader(ctx).RulesFor(ctx, request.SessionID, maxNearRules+1, &budget)
	if err != nil || len(standing) > maxNearRules || budget.Cut {
		return nil, 0, err
	}
	hidden := exactElsewhere(ctx)
	standing = slices.DeleteFunc(standing, func(rule rules.Rule) bool { return hidden(&rule) || !isNear(&rule, &asked) })
	if len(standing) == 0 {
		return nil, 0, nil
	}
	var explained api.Explanation
	if err := cpulimit.Do(ctx, cpulimit.Bytes, func() error {
		explained = rules.Explain(standing, rules.Call{
			SessionID: request.SessionID, AgentID: found.AgentID, ToolName: asked.ToolName, ToolCallID: asked.ToolCallID,
			PatternKeys: asked.PatternKeys, Input: asked.Input, InputDigest: asked.InputDigest, Directory: asked.Directory,
		}, nowMs)
		return nil
	}); err != nil {
		return nil, 0, err
	}
	createdMs := map[string]int64{}
	for i := range standing {
		createdMs[standing[i].RuleID] = standing[i].CreatedAtMs
	}
	near = explained.Rules
	for i := range near {
		// An older allow or deny would have decided it, also in the same millisecond.
		after := createdMs[near[i].RuleID] - request.CreatedAtMs
		if rule := &near[i]; rule.Applies && (after > 0 || after == 0 && rule.Effect.Decides()) {
			rule.Applies, rule.WhyNot = false, addedLater
		}
	}
	asks := slices.ContainsFunc(near, func(rule api.ExplainedRule) bool { return rule.Applies && rule.Effect == api.RuleAsk })
	for i := range near {
		if rule := &near[i]; asks && rule.Applies && rule.Effect == api.RuleAllow {
			rule.Applies, rule.WhyNot = false, askedBefore
		}
	}
	// Rules that apply come first, then the newest.
	slices.SortStableFunc(near, func(a, b api.ExplainedRule) int {
		return cmp.Or(cmp.Compare(idleness(&a), idleness(&b)), cmp.Compare(createdMs[b.RuleID], createdMs[a.RuleID]))
	})
	shown := near[:min(len(near), api.MaxExplainedRules)]
	return shown, int64(len(near) - len(shown)), nil
}

// isNear reports whether a rule is about the tool and the input of a call, or about one of its pattern keys.
func isNear(rule *rules.Rule, asked *api.ApprovalRequest) bool {
	match := &rule.Match
	shared := func(key string) bool { return slices.Contains(asked.PatternKeys, key) }
	switch {
	case rule.ToolName != "" && rule.ToolName != asked.ToolName,
		match.ToolCallID != "" && match.ToolCallID != asked.ToolCallID,
		match.InputDigest != "" && match.InputDigest != asked.InputDigest:
		return false
	}
	return rule.ToolName != "" || len(match.PatternKeys) == 0 || slices.ContainsFunc(match.PatternKeys, shared)
}

func idleness(rule *api.ExplainedRule) int {
	if rule.Applies {
		return 0
	}
	return 1
}

// exactElsewhere returns the rules that an explanation hides from the caller: the text of a rule for one input
// contains the input, which may belong to a session outside of the caller's scope.
func exactElsewhere(ctx context.Context) func(*rules.Rule) bool {
	scope := reads.ScopeOf(auth.From(ctx))
	return func(rule *rules.Rule) bool {
		return scope.Bounded() && rule.SessionID == rules.AllSessions && rule.Match.InputDigest != ""
	}
}
