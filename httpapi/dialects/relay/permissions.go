package relay

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// MaxPermissions bounds the entries of a chat's permissions, all lists together.
const MaxPermissions = 100

// permissions are the rules that a chat comes with (llm-gateway.md 5.2).
type permissions struct {
	Allowlist []toolPermission `json:"allowlist"`
	AllowOnce []toolPermission `json:"allowOnce"`
	Deny      []denial         `json:"deny"`
}

type toolPermission struct {
	Tool string `json:"tool"`
	// Params are globs by name; none means any.
	Params map[string]*string `json:"params"`
}

type denial struct {
	ToolCallID string `json:"toolCallId"`
	Reason     string `json:"reason"`
}

// rulesOf returns the commands that write a chat's permissions as rules of its
// session, checked as far as they can be before the session is there. Without
// permissions there are none, and everything is asked for (llm-gateway.md 7.5.7).
func (f *face) rulesOf(given api.JSON, sessionID string, who runs.Actor) ([]*runs.AddRule, error) {
	if given == nil || document.Kind(given) == 'n' {
		return nil, nil
	}
	var wanted permissions
	if err := json.Unmarshal(given, &wanted); err != nil {
		return nil, badPermissions("permissions", "must be {allowlist: [{tool, params?}], allowOnce: [{tool, params?}], deny: [{toolCallId, reason?}]}")
	}
	if count := len(wanted.Allowlist) + len(wanted.AllowOnce) + len(wanted.Deny); count > MaxPermissions {
		return nil, badPermissions("permissions", "must have at most %d entries", MaxPermissions)
	}
	var rules []*runs.AddRule
	add := func(at string, rule runs.AddRule, err error) error {
		if err != nil {
			return err
		}
		rule.RuleID, rule.SessionID, rule.Actor = runs.NewID(runs.PrefixRule), sessionID, who
		rule.MaxAgeMs = f.MaxRuleAgeMs
		// The door checks again, and must be handed what has not been touched.
		checked := rule
		if err := runs.Prepare(&checked, runs.NewID); err != nil {
			return badPermissions(at, "%s", refusalOf(err).text)
		}
		rules = append(rules, &rule)
		return nil
	}
	for i, entry := range wanted.Allowlist {
		at := fmt.Sprintf("permissions.allowlist[%d]", i)
		rule, err := entry.rule(at, 0)
		if err := add(at, rule, err); err != nil {
			return nil, err
		}
	}
	for i, entry := range wanted.AllowOnce {
		at := fmt.Sprintf("permissions.allowOnce[%d]", i)
		rule, err := entry.rule(at, 1)
		if err := add(at, rule, err); err != nil {
			return nil, err
		}
	}
	for i, entry := range wanted.Deny {
		at := fmt.Sprintf("permissions.deny[%d]", i)
		rule, err := entry.rule(at)
		if err := add(at, rule, err); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func (p *toolPermission) rule(at string, maxUses int64) (runs.AddRule, error) {
	rule := runs.AddRule{ToolName: p.Tool, Effect: api.RuleAllow, MaxUses: maxUses}
	if p.Tool == "" {
		return rule, badPermissions(at+".tool", "must be the name of a tool")
	}
	if len(p.Params) == 0 {
		rule.Match.AnyInput = true
		return rule, nil
	}
	rule.Match.Params = make(map[string]string, len(p.Params))
	for name, glob := range p.Params {
		if glob == nil {
			return rule, badPermissions(at+".params", "must hold texts")
		}
		rule.Match.Params[name] = *glob
	}
	return rule, nil
}

func (d *denial) rule(at string) (runs.AddRule, error) {
	if d.ToolCallID == "" {
		return runs.AddRule{}, badPermissions(at+".toolCallId", "must be the id of a tool call")
	}
	return runs.AddRule{Effect: api.RuleDeny, Match: api.RuleMatch{ToolCallID: d.ToolCallID}, Reason: d.Reason}, nil
}

func badPermissions(at, format string, args ...any) error {
	return &faceError{status: 400, text: at + ": " + fmt.Sprintf(format, args...)}
}
