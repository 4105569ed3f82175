package relay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

// MaxPermissions is the maximum number of a chat's permissions, all lists together.
const MaxPermissions = 100

// permissions are the rules in a chat's body (docs/spec/relay.md#permissions).
type permissions struct {
	Allowlist []toolPermission `json:"allowlist"`
	AllowOnce []toolPermission `json:"allowOnce"`
	Deny      []denial         `json:"deny"`
}

// onlyKnown refuses other members: with a misspelt "params" an entry would allow every call.
var onlyKnown = json.RejectUnknownMembers(true)

// anyCall may follow the name of a tool to match any call.
const anyCall = ":*"

// toolPermission is an object, or the name of a tool, which matches any call.
type toolPermission struct {
	Tool string `json:"tool"`
	// Params are globs by name; none matches any call.
	Params map[string]*string `json:"params"`
	// maxUses is 0 for no limit.
	maxUses int64
}

// UnmarshalJSON reads either form.
func (p *toolPermission) UnmarshalJSON(text []byte) error {
	if document.Kind(text) == '"' {
		err := json.Unmarshal(text, &p.Tool)
		p.Tool = strings.TrimSuffix(p.Tool, anyCall)
		return err
	}
	type object toolPermission
	return json.Unmarshal(text, (*object)(p), onlyKnown)
}

// denial is an object about one call or about calls of a tool, or the name of a tool, which denies all of its calls.
type denial struct {
	ToolCallID string `json:"toolCallId"`
	Reason     string `json:"reason"`
	// Tool and Params are as in toolPermission. Tool is nil for one call.
	Tool   *string            `json:"tool"`
	Params map[string]*string `json:"params"`
}

// errTwoDenials refuses an object that may mean one call or others.
var errTwoDenials = errors.New("either toolCallId, or tool and params")

// UnmarshalJSON reads each form.
func (d *denial) UnmarshalJSON(text []byte) error {
	if document.Kind(text) == '"' {
		var tool toolPermission
		err := tool.UnmarshalJSON(text)
		d.Tool = &tool.Tool
		return err
	}
	type object denial
	err := json.Unmarshal(text, (*object)(d), onlyKnown)
	if err == nil && (d.Tool != nil && d.ToolCallID != "" || d.Tool == nil && d.Params != nil) {
		return errTwoDenials
	}
	return err
}

// rulesOf returns the commands that create a chat's permissions as rules of its session, validated
// as far as possible before the session exists. Without permissions there are none, and every call
// is asked about. Errors: a 400 that names the entry.
func (f *face) rulesOf(given api.JSON, sessionID string, actor runs.Actor) ([]*runs.AddRule, error) {
	if given == nil || document.Kind(given) == 'n' {
		return nil, nil
	}
	var wanted permissions
	if err := json.Unmarshal(given, &wanted, onlyKnown); err != nil {
		return nil, refuse("permissions: must be {allowlist: [{tool, params?}], allowOnce: [{tool, params?}], " +
			"deny: [{toolCallId, reason?} or {tool, params?, reason?}]}")
	}
	if count := len(wanted.Allowlist) + len(wanted.AllowOnce) + len(wanted.Deny); count > MaxPermissions {
		return nil, refuse("permissions: must have at most %d entries", MaxPermissions)
	}
	var rules []*runs.AddRule
	add := func(list string, i int, permission interface {
		rule(at string) (runs.AddRule, error)
	},
	) error {
		at := fmt.Sprintf("permissions.%s[%d]", list, i)
		rule, err := permission.rule(at)
		if err != nil {
			return err
		}
		rule.RuleID, rule.SessionID, rule.Actor = runs.NewID(runs.PrefixRule), sessionID, actor
		rule.MaxAgeMs = f.MaxRuleAgeMs
		checked := rule // a command is prepared only once, and the door does that
		if err := runs.Prepare(&checked, runs.NewID); err != nil {
			return refuse("%s: %s", at, wire.ProblemOf(err).Detail)
		}
		rules = append(rules, &rule)
		return nil
	}
	for i := range wanted.Allowlist {
		if err := add("allowlist", i, &wanted.Allowlist[i]); err != nil {
			return nil, err
		}
	}
	for i := range wanted.AllowOnce {
		wanted.AllowOnce[i].maxUses = 1
		if err := add("allowOnce", i, &wanted.AllowOnce[i]); err != nil {
			return nil, err
		}
	}
	for i := range wanted.Deny {
		if err := add("deny", i, &wanted.Deny[i]); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func (p *toolPermission) rule(at string) (runs.AddRule, error) {
	rule := runs.AddRule{ToolName: p.Tool, Effect: api.RuleAllow, MaxUses: p.maxUses}
	if p.Tool == "" {
		return rule, refuse("%s.tool: must be the name of a tool", at)
	}
	if strings.Contains(p.Tool, "*") {
		// It would match no tool, and a denial nothing.
		return rule, refuse("%s.tool: must be the name of a tool; patterns are for params", at)
	}
	if len(p.Params) == 0 {
		rule.Match.AnyInput = true
		return rule, nil
	}
	rule.Match.Params = make(map[string]string, len(p.Params))
	for name, glob := range p.Params {
		if glob == nil {
			return rule, refuse("%s.params: must hold texts", at)
		}
		rule.Match.Params[name] = *glob
	}
	return rule, nil
}

func (d *denial) rule(at string) (runs.AddRule, error) {
	if d.Tool != nil {
		rule, err := (&toolPermission{Tool: *d.Tool, Params: d.Params}).rule(at)
		rule.Effect, rule.Reason = api.RuleDeny, d.Reason
		return rule, err
	}
	if d.ToolCallID == "" {
		return runs.AddRule{}, refuse("%s.toolCallId: must be the id of a tool call", at)
	}
	return runs.AddRule{Effect: api.RuleDeny, Match: api.RuleMatch{ToolCallID: d.ToolCallID}, Reason: d.Reason}, nil
}
