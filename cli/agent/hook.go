package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools"
)

// maxHookInput bounds the input on stdin, in bytes.
const maxHookInput = 16 << 20

// Hook holds the commands for agents that call a hook before they run a tool.
type Hook struct {
	Run     HookRun     `cmd:"" default:"withargs" help:"Decide a tool call: reads JSON from stdin and prints the decision."`
	Install HookInstall `cmd:"" help:"Add the hook to an agent's settings."`
	Doctor  HookDoctor  `cmd:"" help:"Check an installed hook, and say what could still get around it."`
	Resume  HookResume  `cmd:"" help:"Resume agents whose deferred calls were decided."`
}

// HookRun decides one tool call.
type HookRun struct {
	console.Connection
	Asking
	Lease    time.Duration `default:"15s" placeholder:"DURATION" help:"Withdraw the request if this process is silent for twice this time (default ${default})."`
	SignedBy []string      `placeholder:"KEY" help:"Allow a call only with a grant signed by this key of the service (its id in GET /v1/keys). Repeat the flag for several keys. hook install writes it."`
	Defer    bool          `help:"End a headless agent instead of waiting for a decision; holdpoint hook resume resumes it. For PreToolUse of claude-code."`
	HooksOf  string        `default:"claude-code" enum:"claude-code,codex,gemini-cli,qwen-code,copilot-cli" placeholder:"AGENT" help:"Calling agent: claude-code (default), codex, gemini-cli, qwen-code or copilot-cli."`
}

// Help returns the text below the flags in --help.
func (c *HookRun) Help() string {
	return `Reads a hook's JSON (PreToolUse, PermissionRequest, BeforeTool) from stdin, waits for a person or a rule, and writes the decision to stdout: see docs/agents.md. Any failure denies the call; invalid input ends with exit code 2, which also blocks it.`
}

// hookInput is the JSON that an agent sends. Unknown members are ignored, because later
// versions add some.
type hookInput struct {
	Event       string       `json:"hook_event_name"`
	SessionID   string       `json:"session_id"`
	Cwd         string       `json:"cwd"`
	ToolName    string       `json:"tool_name"`
	ToolInput   api.JSON     `json:"tool_input"`
	ToolUseID   string       `json:"tool_use_id"`
	Suggestions []suggestion `json:"permission_suggestions"`
	Transcript  string       `json:"transcript_path"`
	// Subagent is the id of the subagent that makes the call; empty for the main agent. AgentType alone is what the
	// main agent was started as (--agent).
	Subagent  string `json:"agent_id"`
	AgentType string `json:"agent_type"`
	// directory is where the call works, if that is not Cwd.
	directory string
}

// suggestion is a standing permission that the agent would offer in its own prompt.
type suggestion struct {
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Rules    []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent"`
	} `json:"rules"`
}

// Run reads a call, waits for the decision and prints it. The time limit starts here.
func (c *HookRun) Run(ctx context.Context, terminal *console.Console) error {
	escalation, err := c.check()
	if err != nil {
		return err
	}
	if c.Lease < api.MinLeaseMs*time.Millisecond || c.Lease > api.MaxLeaseMs*time.Millisecond {
		return console.Usage("--lease must be %s to %s", api.MinLeaseMs*time.Millisecond, api.MaxLeaseMs*time.Millisecond)
	}
	of, err := agentNamed(c.HooksOf)
	if err != nil {
		return err
	}
	until := time.Now().Add(cmp.Or(console.Limit(c.Timeout), hookSeconds*time.Second))
	asked, err := readHook(of, terminal.Stdin)
	if err != nil {
		return err
	}
	if c.Defer && (of != deferring || asked.Event != preToolUse || asked.ToolUseID == "") {
		return console.Failed(console.ExitUsage, "nothing was allowed: --defer is for %s of %s", preToolUse, deferring.name)
	}
	if of.hidden != nil {
		if why := of.hidden(ctx, &asked); why != "" {
			return write(terminal.Stdout, of.answer(asked, mcptools.Permission{Behavior: api.BehaviorDeny, Message: why}))
		}
	}
	c.Via, c.Retry = "hook", c.retry()
	var decided mcptools.Permission
	err = c.Call(func(opened *client.Client) error {
		waiting, stop := console.UntilSignal(ctx, syscall.SIGHUP)
		defer stop()
		waiting, forget := whileAgentListens(waiting, terminal.Stdout, until)
		defer forget()
		asker := &ask.Asker{
			Client: opened, AgentID: c.Agent, Session: c.About(asked.Cwd), Escalation: escalation, Patience: c.Outage, Lease: c.Lease,
			OnRaised: func(handle string) {
				if link := c.Link(handle); link != "" {
					terminal.Say("waiting for a decision: %s", link)
				}
			},
		}
		var err error
		if len(c.SignedBy) == 0 {
			_, decided, err = c.decide(waiting, asker, asked, until, terminal)
		} else {
			decided, err = c.decideSigned(waiting, opened, asker, asked, until, terminal)
		}
		if ended, ok := errors.AsType[console.SignalError](context.Cause(waiting)); ok && err != nil {
			return console.ExitWith(console.SignalCode(ended.Signal))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return write(terminal.Stdout, of.answer(asked, of.told(decided)))
}

// readHook reads the agent's input. Its errors have exit code 2, which blocks the call.
func readHook(of *codingAgent, stdin io.Reader) (asked hookInput, err error) {
	text, err := io.ReadAll(io.LimitReader(stdin, maxHookInput+1))
	switch {
	case err != nil:
		return asked, console.Failed(console.ExitUsage, "nothing was allowed: read stdin: %w", err)
	case len(text) > maxHookInput:
		_, _ = io.Copy(io.Discard, stdin) // an agent that cannot write the whole call may go on without the hook
		return asked, console.Failed(console.ExitUsage, "nothing was allowed: stdin has more than %d bytes", maxHookInput)
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		return asked, console.Failed(console.ExitUsage, "nothing was allowed: stdin: %w", err)
	}
	if !slices.Contains(of.events, asked.Event) {
		return asked, console.Failed(console.ExitUsage, "nothing was allowed: the hook event %q of %s is not known", asked.Event, of.name)
	}
	if asked.ToolName == "" || !bytes.HasPrefix(asked.ToolInput, []byte("{")) || asked.SessionID == "" {
		return asked, console.Failed(console.ExitUsage, "nothing was allowed: stdin has no session_id, tool_name or tool_input")
	}
	return asked, nil
}

// decide waits for a decision until the deadline. If this process stops waiting, the request is
// withdrawn. The call of a headless agent is deferred instead, with --defer.
func (c *HookRun) decide(ctx context.Context, asker *ask.Asker, asked hookInput, until time.Time, terminal *console.Console) (*ask.Answer, mcptools.Permission, error) {
	if c.Defer {
		getenv := func(name string) string {
			value, _ := terminal.LookupEnv(name)
			return value
		}
		if headless, refused := deferring.deferrable(ctx, asked, getenv); headless {
			answer, permission, err := c.deferDecision(ctx, asker, asked, refused, getenv)
			if err != nil {
				permission = mcptools.PermissionOf(nil, err)
			}
			return answer, permission, err
		}
	}
	call, err := c.callOf(asked, max(time.Until(until), time.Millisecond))
	var answer *ask.Answer
	if err == nil {
		answer, err = asker.Hold(ctx, call)
	}
	if errors.Is(err, errTooLong) {
		answer, err = &ask.Answer{Outcome: api.OutcomeExpired}, nil
	}
	return answer, mcptools.PermissionOf(answer, err), err
}

// callOf returns the call to raise. It expires after a time, unless that is 0.
func (c *HookRun) callOf(asked hookInput, expires time.Duration) (ask.Call, error) {
	request := &api.ApprovalRequest{
		ToolCallID: asked.ToolUseID, ToolName: asked.ToolName, Input: asked.ToolInput, PatternKeys: asked.patternKeys(),
		ExcludeRequester: c.ExcludeRequester, Directory: cmp.Or(asked.directory, asked.Cwd), Hints: asked.hints(),
	}
	if expires > 0 {
		request.ExpiresAfterMs = new(expires.Milliseconds())
	}
	plan, digest := asked.plan()
	key := asked.ToolUseID
	if plan != "" && key != "" {
		key += " " + digest // the file may change before the call is repeated, and the input only names it
	}
	return mcptools.CallOf(ask.Call{SessionID: sessionOf(c.Agent, asked.SessionID), Key: key, Approval: request}, plan)
}

// hints names the subagent that makes the call.
func (i hookInput) hints() []api.Hint {
	if i.Subagent == "" {
		return nil
	}
	text := "A subagent asks: " + cmp.Or(i.AgentType, i.Subagent)
	text = strings.ToValidUTF8(text[:min(len(text), api.MaxHintLength)], "")
	return []api.Hint{{Level: api.HintInfo, Text: text}}
}

// patternKeys returns the agent's suggestions as keys for a standing rule. It returns none
// unless every suggestion is a rule that allows: without one of them, a rule would cover
// more than the agent suggests.
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

// write prints a decision in the agent's format.
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
