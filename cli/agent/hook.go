package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
)

// maxHookInput bounds what an agent may send on stdin.
const maxHookInput = 16 << 20

// Hook holds the commands for agents that call a command before they run a tool.
type Hook struct {
	Run     HookRun     `cmd:"" default:"withargs" help:"Decide one tool call: JSON on stdin, the decision on stdout."`
	Install HookInstall `cmd:"" help:"Put the hook into an agent's settings."`
}

// HookRun decides one tool call.
type HookRun struct {
	console.Connection
	Asking
	Lease   time.Duration `default:"15s" placeholder:"DURATION" help:"For how long this process may be silent before the service withdraws what it asked without the id of a call (default ${default}). It takes twice that."`
	HooksOf string        `default:"claude-code" enum:"claude-code,codex,gemini-cli,qwen-code,copilot-cli" placeholder:"AGENT" help:"Whose hooks call this: claude-code (default), codex, gemini-cli, qwen-code, copilot-cli."`
}

// Help returns what --help shows under the flags.
func (c *HookRun) Help() string {
	return `Reads a hook's JSON (PreToolUse, PermissionRequest, BeforeTool) from stdin, waits for a person or a rule, and writes the decision to stdout: see docs/agents.md. Whatever goes wrong denies the call; what cannot even be read ends with exit code 2, which also blocks it.`
}

// hookInput is what an agent sends. It has more members, which later versions add to.
type hookInput struct {
	Event       string       `json:"hook_event_name"`
	SessionID   string       `json:"session_id"`
	Cwd         string       `json:"cwd"`
	ToolName    string       `json:"tool_name"`
	ToolInput   api.JSON     `json:"tool_input"`
	ToolUseID   string       `json:"tool_use_id"`
	Suggestions []suggestion `json:"permission_suggestions"`
}

// suggestion is a standing permission that the agent would offer at its own prompt.
type suggestion struct {
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Rules    []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent"`
	} `json:"rules"`
}

// Run reads, waits and answers.
func (c *HookRun) Run(ctx context.Context, terminal *console.Console) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Lease < api.MinLeaseMs*time.Millisecond || c.Lease > api.MaxLeaseMs*time.Millisecond {
		return console.Usage("--lease must be %s to %s", api.MinLeaseMs*time.Millisecond, api.MaxLeaseMs*time.Millisecond)
	}
	of, err := agentNamed(c.HooksOf)
	if err != nil {
		return err
	}
	var asked hookInput
	text, err := io.ReadAll(io.LimitReader(terminal.Stdin, maxHookInput+1))
	switch {
	case err != nil:
		return console.Failed(console.ExitUsage, "nothing was allowed: read stdin: %w", err)
	case len(text) > maxHookInput:
		return console.Failed(console.ExitUsage, "nothing was allowed: stdin has more than %d bytes", maxHookInput)
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		return console.Failed(console.ExitUsage, "nothing was allowed: stdin: %w", err)
	}
	if !slices.Contains(of.events, asked.Event) {
		return console.Failed(console.ExitUsage, "nothing was allowed: the hook event %q of %s is not known", asked.Event, of.name)
	}
	if asked.ToolName == "" || !bytes.HasPrefix(asked.ToolInput, []byte("{")) || asked.SessionID == "" {
		return console.Failed(console.ExitUsage, "nothing was allowed: stdin has no session_id, tool_name or tool_input")
	}
	c.Via = "hook"
	var decided mcptools.Permission
	err = c.Call(func(opened *client.Client) error {
		waiting, stop := console.UntilSignal(ctx, syscall.SIGHUP)
		defer stop()
		waiting, forget := whileAgentListens(waiting, terminal.Stdout)
		defer forget()
		asker := &ask.Asker{Client: opened, AgentID: c.Agent, Patience: c.Outage, Lease: c.Lease}
		answer, err := c.decide(waiting, asker, asked)
		decided = mcptools.PermissionOf(answer, err)
		var ended console.SignalError
		if errors.As(context.Cause(waiting), &ended) && err != nil {
			return console.ExitWith(console.SignalCode(ended.Signal))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return write(terminal.Stdout, of.answer(asked, decided))
}

// decide puts the call before a person. One with an id can be asked again: only a signal withdraws
// it by which the agent says that it has given the call up, and no terminal that is closed. Nobody can ask for the decision of one
// without, so it is withdrawn when this process no longer waits.
func (c *HookRun) decide(ctx context.Context, asker *ask.Asker, asked hookInput) (*ask.Answer, error) {
	request := &api.ApprovalRequest{
		ToolCallID: asked.ToolUseID, ToolName: asked.ToolName, Input: asked.ToolInput, PatternKeys: asked.patternKeys(),
		ExcludeRequester: c.ExcludeRequester,
	}
	if asked.Cwd != "" {
		request.Description = "In " + asked.Cwd
	}
	limit := c.Timeout
	if limit == 0 && asked.ToolUseID == "" {
		// The agent waits for no hook longer than that.
		limit = hookSeconds * time.Second
	}
	if limit > 0 {
		afterMs := limit.Milliseconds()
		request.ExpiresAfterMs = &afterMs
	}
	call := ask.Call{SessionID: sessionOf(c.Agent, asked.SessionID), Key: asked.ToolUseID, Approval: request}
	if call.Key == "" {
		return asker.Once(ctx, call)
	}
	runID, err := asker.Raise(ctx, call)
	var answer *ask.Answer
	if err == nil {
		answer, err = asker.Await(ctx, runID, -1)
	}
	// It may be raised although the reply was not waited for.
	var told console.SignalError
	if err != nil && errors.As(context.Cause(ctx), &told) && told.Signal != syscall.SIGHUP && runID != "" {
		withdrawing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, asker.Withdraw(withdrawing, runID, "the agent has given the call up"))
	}
	return answer, err
}

// patternKeys returns the agent's own suggestions as keys, by which a decision can be
// remembered. There are none unless every suggestion is a rule that allows: with one left
// out, a rule would cover more than the agent suggests.
func (i hookInput) patternKeys() []string {
	var keys []string
	for _, one := range i.Suggestions {
		if one.Type != "addRules" || one.Behavior != string(api.BehaviorAllow) || len(one.Rules) == 0 {
			return nil
		}
		for _, rule := range one.Rules {
			key := rule.ToolName
			if rule.RuleContent != "" {
				key += "(" + rule.RuleContent + ")"
			}
			if key == "" || len(key) > api.MaxPatternKeyLength || len(keys) == api.MaxPatternKeys {
				return nil
			}
			keys = append(keys, key)
		}
	}
	return keys
}

// write prints the decision as the agent reads it.
func write(stdout io.Writer, answer any) error {
	text, err := json.Marshal(answer)
	if err != nil {
		return console.Failed(console.ExitUsage, "nothing was allowed: %w", err)
	}
	if _, err := fmt.Fprintf(stdout, "%s\n", text); err != nil {
		return console.Failed(console.ExitUsage, "nothing was allowed: %w", err)
	}
	return nil
}
