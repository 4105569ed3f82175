package operate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/escalation"
)

// Rules is the command holdpoint rules.
type Rules struct {
	List    rulesList                   `cmd:"" help:"List standing rules."`
	Show    show[api.RuleView, ruleRef] `cmd:"" help:"Show a rule."`
	Add     rulesAdd                    `cmd:"" help:"Create a rule, after showing its text."`
	Revoke  rulesRevoke                 `cmd:"" help:"Revoke rules immediately."`
	Explain rulesExplain                `cmd:"" help:"Explain how the rules would decide a tool call."`
}

type rulesList struct {
	console.Reporting
	SessionID string `name:"session-id" aliases:"session" placeholder:"ID" help:"Only rules for this session."`
	All       bool   `help:"Include revoked and expired rules."`
}

// Run prints rules, oldest first.
func (c *rulesList) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		rules, err := collect(opened.AllRules(ctx, client.RuleListParams{SessionID: c.SessionID}), 0)
		if err != nil {
			return err
		}
		now := terminal.Now()
		rules = slices.DeleteFunc(rules, func(rule api.RuleView) bool { return !c.All && whyEnded(&rule, now) != "" })
		return ruleTable.print(terminal, c.JSON, rules)
	})
}

var ruleTable = table[api.RuleView]{
	header: []string{"RULE", "HITS", "BY", "WRITTEN", "ENDED", "TEXT"},
	row: func(rule *api.RuleView, now time.Time) []string {
		return []string{
			rule.RuleID, strconv.FormatInt(rule.Hits, 10), console.Cut(rule.CreatedBy, 20),
			console.Ago(rule.CreatedAtMs, now), whyEnded(rule, now), console.Cut(rule.Text, shownRuleText),
		}
	},
}

// shownRuleText is the length of a rule's text in a table. It is long because the scope and
// the expiry are at the end.
const shownRuleText = 400

// whyEnded says why a rule no longer applies; "" while it does.
func whyEnded(rule *api.RuleView, now time.Time) string {
	switch {
	case rule.RevokedAtMs != 0:
		return "revoked"
	case rule.ExpiresAtMs != 0 && rule.ExpiresAtMs <= now.UnixMilli():
		return "expired"
	case rule.MaxUses != 0 && max(rule.Uses, rule.Hits) >= rule.MaxUses:
		return "used up"
	}
	return ""
}

type ruleRef struct {
	RuleID string `arg:"" name:"rule-id" help:"Rule id."`
}

func (r ruleRef) find(ctx context.Context, c *client.Client) (*api.RuleView, error) {
	return c.GetRule(ctx, r.RuleID)
}

func (ruleRef) fields(rule *api.RuleView, now time.Time) []console.Field {
	match, _ := client.EncodeJSON(rule.Match) // it was JSON
	fields := []console.Field{
		{"rule", rule.RuleID},
		{"text", rule.Text},
		{"effect", string(rule.Effect)},
		{"session", rule.SessionID},
		{"agent", rule.AgentID},
		{"tool", rule.ToolName},
		{"match", prompt.Indented(match)},
		{"reason", rule.Reason},
		{"written", console.Moment(rule.CreatedAtMs, now) + " by " + rule.CreatedBy},
		{"hits", strconv.FormatInt(rule.Hits, 10)},
	}
	if rule.SourceRequestID != "" {
		fields = append(fields, console.Field{"with the decision on", rule.SourceRequestID + " of run " + rule.SourceRunID})
	}
	if rule.Escalation != nil {
		encoded, _ := client.EncodeJSON(rule.Escalation) // it was JSON
		fields = append(fields, console.Field{"escalation", prompt.Indented(encoded)})
	}
	if rule.Hint != nil {
		fields = append(fields, console.Field{"hint", string(rule.Hint.Level) + ": " + rule.Hint.Text})
	}
	fields = append(fields, console.Field{"expires", console.Moment(rule.ExpiresAtMs, now)})
	if rule.MaxUses != 0 {
		fields = append(fields, console.Field{"uses", fmt.Sprintf("%d of %d", max(rule.Uses, rule.Hits), rule.MaxUses)})
	}
	if rule.RevokedAtMs != 0 {
		fields = append(fields, console.Field{"revoked", console.Moment(rule.RevokedAtMs, now) + " by " + rule.RevokedBy})
	}
	return fields
}

type rulesRevoke struct {
	console.Reporting
	RuleIDs []string `arg:"" name:"rule-id" help:"Rule ids."`
}

// Run revokes rules.
func (c *rulesRevoke) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		for _, ruleID := range c.RuleIDs {
			if err := opened.RevokeRule(ctx, ruleID); err != nil {
				return fmt.Errorf("rule %s: %w", ruleID, err)
			}
			if !c.JSON {
				fmt.Fprintf(terminal.Stdout, "revoked %s\n", console.Printable(ruleID, false))
			}
		}
		if c.JSON {
			return console.PrintJSON(terminal.Stdout, map[string][]string{"revoked": c.RuleIDs})
		}
		return nil
	})
}

type rulesExplain struct {
	console.Reporting
	SessionID   string   `name:"session-id" aliases:"session" placeholder:"ID" help:"Session of the call; without it, only rules for all sessions apply."`
	AgentID     string   `name:"agent-id" aliases:"agent" placeholder:"ID" help:"Agent of the call."`
	InputJSON   string   `name:"input-json" xor:"input" placeholder:"JSON" help:"Input of the call."`
	InputFile   string   `name:"input-file" xor:"input" placeholder:"PATH" help:"Read the input from a file; - for stdin."`
	Command     string   `xor:"input" placeholder:"TEXT" help:"Shorthand for an input of {\"command\": TEXT}."`
	PatternKeys []string `name:"pattern-key" sep:"none" placeholder:"KEY" help:"Pattern key of the call; repeatable."`
	Directory   string   `placeholder:"PATH" help:"Directory in which the call would run."`
	ToolName    string   `arg:"" name:"tool" help:"Tool name."`
}

// Run prints the result and its reason.
func (c *rulesExplain) Run(ctx context.Context, terminal *console.Console) error {
	input, err := jsonArgument(terminal, "--input", c.InputJSON, c.InputFile)
	if err != nil {
		return err
	}
	if input == nil {
		if c.Command == "" {
			return console.Usage("give the input: --input-json, --input-file or --command")
		}
		if input, err = client.EncodeJSON(map[string]string{"command": c.Command}); err != nil {
			return err
		}
	}
	call := api.ExplainRulesBody{ToolName: c.ToolName, Input: input, PatternKeys: c.PatternKeys, Directory: c.Directory}
	if c.SessionID != "" {
		call.SessionID = &c.SessionID
	}
	if c.AgentID != "" {
		call.AgentID = &c.AgentID
	}
	return c.Call(func(opened *client.Client) error {
		explained, err := opened.ExplainRules(ctx, call)
		if err != nil {
			return err
		}
		if !c.JSON {
			fmt.Fprintln(terminal.Stdout, decisionTexts[explained.Decision])
			if len(explained.Rules) == 0 {
				return nil
			}
			return explainTable.print(terminal, false, explained.Rules)
		}
		return console.PrintJSON(terminal.Stdout, explained)
	})
}

var decisionTexts = map[api.RuleEffect]string{
	api.RuleAllow: "allowed without asking", api.RuleDeny: "denied without asking", api.RuleAsk: "a person is asked",
}

var explainTable = table[api.ExplainedRule]{
	header: []string{"RULE", "", "WHY NOT", "TEXT"},
	row: func(rule *api.ExplainedRule, _ time.Time) []string {
		applies := "does not apply"
		if rule.Applies {
			applies = "applies"
		}
		return []string{rule.RuleID, applies, console.Cut(rule.WhyNot, 60), console.Cut(rule.Text, shownRuleText)}
	},
}

type rulesAdd struct {
	console.Reporting
	Effect      string            `enum:"allow,ask,deny,hint" default:"allow" placeholder:"EFFECT" help:"Decision: allow, ask or deny (default ${default}); hint decides nothing and shows a remark to people."`
	SessionID   string            `name:"session-id" aliases:"session" placeholder:"ID" help:"Only in this session (default: all sessions)."`
	AgentID     string            `name:"agent-id" aliases:"agent" placeholder:"ID" help:"Only for this agent."`
	Tool        string            `placeholder:"NAME" help:"Only calls of this tool."`
	PatternKeys []string          `name:"pattern-key" sep:"none" placeholder:"KEY" help:"Calls with this pattern key; repeatable."`
	InputJSON   string            `name:"input-json" xor:"input" placeholder:"JSON" help:"Calls with exactly this input."`
	InputFile   string            `name:"input-file" xor:"input" placeholder:"PATH" help:"Read that input from a file; - for stdin."`
	Params      map[string]string `name:"param" mapsep:"none" placeholder:"NAME=GLOB" help:"Calls with a matching input member: * does not match /, ** does, ? matches one character; repeatable."`
	AnyInput    bool              `name:"any-input" help:"All calls of the tool, with any input."`
	Directory   string            `placeholder:"PATH" help:"Only calls in this directory, whose request names it. A deny or an ask also applies below it."`
	Reason      string            `placeholder:"TEXT" help:"Message to the agent with each decision of the rule."`
	For         *time.Duration    `placeholder:"DURATION" help:"Lifetime; 0 never expires (default 720h; with --session-id as long as the session)."`
	MaxUses     *int64            `name:"max-uses" placeholder:"N" help:"With --session-id: end after N decisions."`
	Escalation  string            `placeholder:"NAME|JSON" help:"With --effect ask: who is notified of the requests, by the name of an escalation of the service or as JSON."`
	Hint        string            `placeholder:"TEXT" help:"With --effect hint: the remark that people see before they decide."`
	HintLevel   string            `name:"hint-level" enum:"info,warn,danger" default:"warn" placeholder:"LEVEL" help:"With --hint: info, warn or danger (default ${default})."`
	RuleID      string            `name:"rule-id" placeholder:"ID" help:"Rule id; makes retries safe."`
	Yes         bool              `short:"y" help:"Do not ask for confirmation."`
}

// Run shows the rule's text, asks, and writes the rule.
func (c *rulesAdd) Run(ctx context.Context, terminal *console.Console) error {
	if c.For == nil && c.SessionID == "" {
		month := api.DefaultRuleAgeMs * time.Millisecond
		c.For = &month
	}
	if c.For != nil && (*c.For < 0 || *c.For > 0 && *c.For < time.Millisecond) {
		return console.Usage("--for must be 0 or at least 1ms")
	}
	if c.MaxUses != nil && *c.MaxUses < 1 {
		return console.Usage("--max-uses must be at least 1")
	}
	input, err := jsonArgument(terminal, "--input", c.InputJSON, c.InputFile)
	if err != nil {
		return err
	}
	if input == nil && len(c.PatternKeys) == 0 && len(c.Params) == 0 && !c.AnyInput {
		return console.Usage("say what the rule matches: --input-json, --input-file, --param, --pattern-key or --any-input")
	}
	params := client.AddRuleParams{
		RuleID: c.RuleID, Effect: api.RuleEffect(c.Effect), SessionID: c.SessionID, AgentID: c.AgentID, ToolName: c.Tool,
		Match:  api.RuleMatch{PatternKeys: c.PatternKeys, Params: c.Params, AnyInput: c.AnyInput, Directory: c.Directory},
		Reason: c.Reason,
	}
	if c.MaxUses != nil {
		params.MaxUses = *c.MaxUses
	}
	if c.For != nil {
		params.ExpiresAfterMs = client.RememberFor(*c.For)
	}
	if input != nil {
		if params.Match.InputDigest, err = document.Digest(input); err != nil {
			return console.Usage("--input has no canonical form: %v", err)
		}
	}
	if params.Escalation, err = escalationArgument(c.Escalation); err != nil {
		return err
	}
	if (c.Hint != "") != (params.Effect == api.RuleHint) {
		return console.Usage("--effect hint and --hint go together")
	}
	if c.Hint != "" {
		params.Hint = &api.Hint{Level: api.HintLevel(c.HintLevel), Text: c.Hint}
	}
	text, examples, err := ruleBefore(&runs.AddRule{
		SessionID: params.SessionID, AgentID: params.AgentID, ToolName: params.ToolName, Effect: params.Effect,
		Match: params.Match, Reason: params.Reason, MaxUses: params.MaxUses, ExpiresAfterMs: params.ExpiresAfterMs,
		Escalation: params.Escalation, Hint: params.Hint,
	}, input, terminal.Now().UnixMilli())
	if err != nil {
		return console.Usage("%v", err)
	}
	text = console.Printable(text, false)
	if input != nil {
		text += "\n  Its input: " + console.Printable(prompt.Compact(input), false) // the text names it by its digest
	}
	if c.Hint != "" {
		text += "\n  Its hint: " + console.Printable(c.Hint, false) // the text may cut it
	}
	text += examplesText(examples)
	if err := confirm(terminal, c.Yes, "New rule:\n  "+text, "Create this rule? [y/N] ", "no rule was created"); err != nil {
		return err
	}
	return c.Call(func(opened *client.Client) error {
		rule, err := opened.AddRule(ctx, params)
		if err != nil {
			return err
		}
		return printRecord(terminal, c.JSON, rule, ruleRef{}.fields)
	})
}

// escalationArgument returns the escalation of --escalation, or nil for none.
func escalationArgument(text string) (*api.Escalation, error) {
	if text == "" {
		return nil, nil
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return &api.Escalation{Name: text}, nil
	}
	var e api.Escalation
	if err := json.Unmarshal([]byte(text), &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, console.Usage("--escalation: %w", err)
	}
	return &e, nil
}

// ruleBefore returns the text and the examples of a rule before it is written, by making
// the service's decision locally. input is the value behind the rule's digest, nil for
// none.
func ruleBefore(command *runs.AddRule, input api.JSON, nowMs int64) (string, api.RuleExamples, error) {
	if err := runs.Prepare(command, runs.NewID); err != nil {
		return "", api.RuleExamples{}, err
	}
	state := runs.NewState(command.SessionID)
	state.Escalations = escalation.Having(command.Escalation) // the service checks the names
	_, reply, err := runs.Decide(state, command, nowMs)
	if err != nil {
		return "", api.RuleExamples{}, err
	}
	var canonical []byte
	if input != nil {
		if canonical, err = document.Canonical(input); err != nil {
			return "", api.RuleExamples{}, err
		}
	}
	rule := &reply.Rule.Rule
	return rule.Text, rule.Examples(canonical), nil
}
