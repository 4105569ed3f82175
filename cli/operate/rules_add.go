package operate

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
)

type rulesAdd struct {
	console.Connection
	console.Format
	Effect      string            `enum:"allow,ask,deny" default:"allow" help:"allow, ask or deny (default ${default})."`
	SessionID   string            `name:"session-id" placeholder:"ID" help:"Only in this session; in all when it is left out."`
	AgentID     string            `name:"agent-id" placeholder:"ID" help:"Only for this agent."`
	Tool        string            `placeholder:"NAME" help:"Only calls of this tool."`
	PatternKeys []string          `name:"pattern-key" sep:"none" placeholder:"KEY" help:"Calls with this pattern key; may be repeated."`
	InputJSON   string            `name:"input-json" xor:"input" placeholder:"JSON" help:"Calls with exactly this input."`
	InputFile   string            `name:"input-file" xor:"input" placeholder:"PATH" help:"The same, from a file; - for stdin."`
	Params      map[string]string `name:"param" mapsep:"none" placeholder:"NAME=GLOB" help:"Calls whose input has a member that matches: * does not cross /, ** does, ? is one character; may be repeated."`
	AnyInput    bool              `name:"any-input" help:"Every call of the tool, whatever its input."`
	Reason      string            `placeholder:"TEXT" help:"Told to the agent with what the rule decides."`
	For         time.Duration     `default:"720h" placeholder:"DURATION" help:"How long it holds; 0 for ever (default ${default})."`
	MaxUses     int64             `name:"max-uses" placeholder:"N" help:"It ends after so many decisions; with --session-id."`
	RuleID      string            `name:"rule-id" placeholder:"ID" help:"The rule's id; with it the call may be repeated."`
	Yes         bool              `short:"y" help:"Write it without being asked."`
}

// Run shows the rule's text, asks, and writes the rule.
func (c *rulesAdd) Run(ctx context.Context, terminal *console.Console) error {
	if c.For < 0 || c.For > 0 && c.For < time.Millisecond {
		return console.Usage("--for must be 0 or at least 1ms")
	}
	if c.MaxUses < 0 {
		return console.Usage("--max-uses must not be negative")
	}
	input, err := jsonArgument(terminal, "--input", c.InputJSON, c.InputFile)
	if err != nil {
		return err
	}
	params := client.AddRuleParams{
		RuleID: c.RuleID, Effect: api.RuleEffect(c.Effect), SessionID: c.SessionID, AgentID: c.AgentID, ToolName: c.Tool,
		Match:  api.RuleMatch{PatternKeys: c.PatternKeys, Params: c.Params, AnyInput: c.AnyInput},
		Reason: c.Reason, MaxUses: c.MaxUses, ExpiresAfterMs: client.RememberFor(c.For),
	}
	if input != nil {
		if params.Match.InputDigest, err = document.Digest(input); err != nil {
			return console.Usage("--input has no canonical form: %v", err)
		}
	}
	text, err := ruleText(&runs.AddRule{
		SessionID: params.SessionID, AgentID: params.AgentID, ToolName: params.ToolName, Effect: params.Effect,
		Match: params.Match, Reason: params.Reason, MaxUses: params.MaxUses, ExpiresAfterMs: params.ExpiresAfterMs,
	}, terminal.Now().UnixMilli())
	if err != nil {
		return console.Usage("%v", err)
	}
	if input != nil {
		text += "\n  Its input: " + console.Compact(input) // the text names it by its digest
	}
	if err := confirm(terminal, c.Yes, "This rule is written:\n  "+text, "Write this rule? [y/N] ", "nothing was written"); err != nil {
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

// ruleText returns the text of a rule before it is written: it makes the decision that
// the service would make, on nothing.
func ruleText(command *runs.AddRule, nowMs int64) (string, error) {
	if err := runs.Prepare(command, runs.NewID); err != nil {
		return "", err
	}
	_, reply, err := runs.Decide(runs.NewState(command.SessionID), command, nowMs)
	if err != nil {
		return "", err
	}
	return reply.Rule.Rule.Text, nil
}
