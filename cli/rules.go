package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

type ruleCommands struct {
	List    rulesList    `cmd:"" help:"List standing rules."`
	Show    rulesShow    `cmd:"" help:"Show one rule whole."`
	Add     rulesAdd     `cmd:"" help:"Write a rule, once its text has been shown."`
	Revoke  rulesRevoke  `cmd:"" help:"Revoke a rule at once."`
	Explain rulesExplain `cmd:"" help:"Say what the rules would do to a tool call, and why."`
}

type rulesList struct {
	connection
	format
	SessionID string `name:"session-id" placeholder:"ID" help:"Only those that are bound to this session."`
	All       bool   `help:"Also those that are revoked or expired."`
}

// Run prints rules, oldest first.
func (c *rulesList) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	items, err := collect(opened.AllRules(ctx, client.RuleListParams{SessionID: c.SessionID}), 0)
	if err != nil {
		return c.reached(err)
	}
	now := console.now()
	shown := []api.RuleView{}
	for _, rule := range items {
		if c.All || standing(&rule, now.UnixMilli()) == "" {
			shown = append(shown, rule)
		}
	}
	if c.JSON {
		return printJSON(console.stdout, shown)
	}
	rows := make([][]string, len(shown))
	for i, rule := range shown {
		rows[i] = []string{
			rule.RuleID, strconv.FormatInt(rule.Hits, 10), cell(rule.CreatedBy, 20),
			ago(rule.CreatedAtMs, now), standing(&rule, now.UnixMilli()), cell(rule.Text, shownRuleText),
		}
	}
	return table(console.stdout, []string{"RULE", "HITS", "BY", "WRITTEN", "ENDED", "TEXT"}, rows)
}

// shownRuleText is how much of a rule's text a table shows: where it holds, and until
// when, stands at its end.
const shownRuleText = 400

// standing says why a rule holds no more; "" when it does.
func standing(rule *api.RuleView, nowMs int64) string {
	switch {
	case rule.RevokedAtMs != 0:
		return "revoked"
	case rule.ExpiresAtMs != 0 && rule.ExpiresAtMs <= nowMs:
		return "expired"
	case rule.MaxUses != 0 && rule.Hits >= rule.MaxUses:
		return "used up"
	}
	return ""
}

type rulesShow struct {
	connection
	format
	RuleID string `arg:"" name:"rule-id" help:"The rule's id."`
}

// Run prints one rule.
func (c *rulesShow) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	rule, err := opened.GetRule(ctx, c.RuleID)
	if err != nil {
		return c.reached(err)
	}
	return printRule(console, c.JSON, rule)
}

func printRule(console *console, asJSON bool, rule *api.RuleView) error {
	if asJSON {
		return printJSON(console.stdout, rule)
	}
	match, err := client.EncodeJSON(rule.Match)
	if err != nil {
		return err
	}
	now := console.now()
	fields := []field{
		{"rule", rule.RuleID},
		{"text", rule.Text},
		{"effect", string(rule.Effect)},
		{"session", rule.SessionID},
		{"agent", rule.AgentID},
		{"tool", rule.ToolName},
		{"match", indented(match)},
		{"reason", rule.Reason},
		{"written", moment(rule.CreatedAtMs, now) + " by " + rule.CreatedBy},
		{"hits", strconv.FormatInt(rule.Hits, 10)},
	}
	if rule.SourceRequestID != "" {
		fields = append(fields, field{"with the decision on", rule.SourceRequestID + " of run " + rule.SourceRunID})
	}
	if rule.ExpiresAtMs != 0 {
		fields = append(fields, field{"expires", moment(rule.ExpiresAtMs, now)})
	}
	if rule.MaxUses != 0 {
		fields = append(fields, field{"most uses", strconv.FormatInt(rule.MaxUses, 10)})
	}
	if rule.RevokedAtMs != 0 {
		fields = append(fields, field{"revoked", moment(rule.RevokedAtMs, now) + " by " + rule.RevokedBy})
	}
	return describe(console.stdout, fields)
}

type rulesRevoke struct {
	connection
	RuleIDs []string `arg:"" name:"rule-id" help:"The ids of the rules."`
}

// Run revokes rules.
func (c *rulesRevoke) Run(ctx context.Context, console *console) error {
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	for _, ruleID := range c.RuleIDs {
		if err := opened.RevokeRule(ctx, ruleID); err != nil {
			return c.reached(fmt.Errorf("rule %s: %w", ruleID, err))
		}
		fmt.Fprintf(console.stdout, "revoked %s\n", printable(ruleID, false))
	}
	return nil
}

type rulesExplain struct {
	connection
	format
	SessionID   string   `name:"session-id" placeholder:"ID" help:"The session that asks; without it only the rules for all sessions count."`
	AgentID     string   `name:"agent-id" placeholder:"ID" help:"The agent that asks."`
	InputJSON   string   `name:"input-json" xor:"input" placeholder:"JSON" help:"The input of the call."`
	InputFile   string   `name:"input-file" xor:"input" placeholder:"PATH" help:"The same, from a file; - for stdin."`
	Command     string   `xor:"input" placeholder:"TEXT" help:"Short for an input of {\"command\": TEXT}."`
	PatternKeys []string `name:"pattern-key" sep:"none" placeholder:"KEY" help:"A pattern key of the call; may be repeated."`
	ToolName    string   `arg:"" name:"tool" help:"The name of the tool."`
}

// Run prints what would happen and why.
func (c *rulesExplain) Run(ctx context.Context, console *console) error {
	input, err := jsonArgument(console, "--input", c.InputJSON, c.InputFile)
	if err != nil {
		return err
	}
	if input == nil {
		if c.Command == "" {
			return usage("say what the input is: --input-json, --input-file or --command")
		}
		if input, err = client.EncodeJSON(map[string]string{"command": c.Command}); err != nil {
			return err
		}
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	explained, err := opened.ExplainRules(ctx, client.ExplainParams{
		SessionID: c.SessionID, AgentID: c.AgentID, ToolName: c.ToolName, Input: input, PatternKeys: c.PatternKeys,
	})
	if err != nil {
		return c.reached(err)
	}
	if c.JSON {
		return printJSON(console.stdout, explained)
	}
	fmt.Fprintf(console.stdout, "%s\n", map[api.RuleEffect]string{
		api.RuleAllow: "allowed without asking", api.RuleDeny: "denied without asking", api.RuleAsk: "a person is asked",
	}[explained.Decision])
	rows := make([][]string, len(explained.Rules))
	for i, rule := range explained.Rules {
		rows[i] = []string{rule.RuleID, map[bool]string{true: "applies", false: "does not apply"}[rule.Applies], cell(rule.WhyNot, 60), cell(rule.Text, shownRuleText)}
	}
	if len(rows) == 0 {
		return nil
	}
	return table(console.stdout, []string{"RULE", "", "WHY NOT", "TEXT"}, rows)
}

// confirm shows what is about to be written, and asks. Whoever says nothing has said
// no, and is told what came of that.
func confirm(console *console, yes bool, text, question, refused string) error {
	console.say("%s", printable(text, true))
	if yes {
		return nil
	}
	line, err := newPrompter(console).line(question)
	if err != nil {
		return usage("%s: answer y, or give --yes", refused)
	}
	if answer := strings.ToLower(line); answer != "y" && answer != "yes" {
		console.say("%s", refused)
		return exitWith(exitError)
	}
	return nil
}
