package agent

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/mcptools"
	"github.com/holdpoint/holdpoint/prompt"
)

// The hook events for which a decision can be given.
const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
	beforeTool        = "BeforeTool"
)

// codingAgent describes the hooks of one agent. All agents send the JSON of hookInput.
type codingAgent struct {
	name string
	// program is the agent's command, and tried the oldest version of it that is known to call the
	// hook; "" if none was tried.
	program, tried string
	// older is what an older version may do, if that is known.
	older string
	// events are the events that can be decided. The first is installed by default.
	events []string
	// settings is the file that configures the hooks, in the project or in the user's home.
	settings     string
	ofUser       bool
	homeVariable string // names the directory of an ofUser file, instead of its first part
	// noMatcher reports that hooks are called for every tool.
	noMatcher bool
	// entry returns the settings of one event.
	entry func(matcher, command string) any
	// otherwise is the shell command to run if the hook fails. It must block the call,
	// because most agents continue after a failed hook.
	otherwise string
	// answersByInput reports that an answer to the agent's question tool is sent back as an
	// edited input. Other agents read it from the reason of a denial.
	answersByInput bool
	// startsInItsFolder reports that the agent starts its hooks in the directory of its session, and that calls
	// go on without them once that directory is gone.
	startsInItsFolder bool
	// answer returns the object that the agent reads on stdout.
	answer func(asked hookInput, decided mcptools.Permission) any
	// hidden adds what the hook's input leaves out of a call. It says why no decision about the call could hold, which is
	// then denied; "" if one can. nil: the input has everything.
	hidden func(ctx context.Context, asked *hookInput) string
}

// codingAgents are the supported agents. docs/agents.md has the version that each was
// tested with or read from.
var codingAgents = []codingAgent{
	{
		name: "claude-code", program: "claude", tried: "2.1.330",
		older:  "2.1.197 does not call PermissionRequest with -p; PreToolUse is called",
		events: []string{permissionRequest, preToolUse}, settings: ".claude/settings.json",
		entry: matched(1), otherwise: blocks, answersByInput: true, answer: specificAnswer,
	},
	{
		name: "codex", program: "codex", tried: "0.169.0",
		events: []string{preToolUse}, settings: ".codex/hooks.json", ofUser: true, homeVariable: "CODEX_HOME",
		entry: matched(1), otherwise: blocks, startsInItsFolder: true, answer: commandAnswer, hidden: hiddenOfCodex,
	},
	{
		name: "gemini-cli", program: "gemini", tried: "0.61.0",
		events: []string{beforeTool}, settings: ".gemini/settings.json", ofUser: true,
		entry: matched(1000), otherwise: blocks, startsInItsFolder: true, answer: decisionAnswer,
	},
	{
		// It reads 1000 and more as milliseconds. Its updatedInput is documented but has no
		// effect.
		name: "qwen-code", program: "qwen", tried: "0.24.4",
		events: []string{preToolUse}, settings: ".qwen/settings.json", ofUser: true,
		entry: matched(1000), otherwise: blocks, startsInItsFolder: true, answer: uneditedAnswer,
	},
	{
		name: "copilot-cli", program: "copilot",
		events: []string{preToolUse}, settings: ".github/hooks/holdpoint.json", noMatcher: true,
		entry: unmatched, otherwise: denies, answer: flatAnswer,
	},
}

// deferring is the agent that can end with a call unanswered and be resumed.
var deferring = &codingAgents[0]

// agentNamed returns an agent by its name in the flag.
func agentNamed(name string) (*codingAgent, error) {
	at := slices.IndexFunc(codingAgents, func(one codingAgent) bool { return one.name == name })
	if at < 0 {
		return nil, fmt.Errorf("unknown agent %q", name)
	}
	return &codingAgents[at], nil
}

// Shell commands for a hook that was killed, could not start or could not read its input.
// Exit code 2 blocks the call and shows stderr; one agent reads only stdout. The rest of the call is read first:
// Claude Code and Codex go on without a hook to which they cannot write it.
const (
	hookFailed = "holdpoint hook has failed: nothing was allowed"
	blocks     = "{ cat >/dev/null; echo '" + hookFailed + "' >&2; exit 2; }"
	denies     = `{ cat >/dev/null; echo '{"permissionDecision":"deny","permissionDecisionReason":"` + hookFailed + `"}'; }`
)

// command returns the command line that the agent calls. The program is an absolute path: which
// program a name means depends on the agent's environment.
func (a *codingAgent) command(program, agentID, flags string) string {
	line := prompt.QuoteArgument(program) + " hook"
	if a.name != codingAgents[0].name {
		line += " --hooks-of " + a.name
	}
	return line + " --agent-id " + agentID + flags + " || " + a.otherwise
}

// told adapts a decision to this agent. An agent that accepts no answers from a hook would
// ask its own user again.
func (a *codingAgent) told(decided mcptools.Permission) mcptools.Permission {
	if decided.Told == "" || a.answersByInput {
		return decided
	}
	return mcptools.Permission{Behavior: api.BehaviorDeny, Message: decided.Told}
}

// settingsPath returns the path of the file that configures the hooks.
func (a *codingAgent) settingsPath() (string, error) {
	path := filepath.FromSlash(a.settings)
	if !a.ofUser {
		return path, nil
	}
	if a.homeVariable != "" && os.Getenv(a.homeVariable) != "" {
		return filepath.Join(os.Getenv(a.homeVariable), filepath.Base(path)), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, path), err
}

// matched returns an entry for the tools of a pattern. unitsPerSecond is the agent's unit
// for the timeout.
func matched(unitsPerSecond int) func(matcher, command string) any {
	type hook struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}
	type group struct {
		Matcher string `json:"matcher"`
		Hooks   []hook `json:"hooks"`
	}
	return func(matcher, command string) any {
		return group{Matcher: matcher, Hooks: []hook{{"command", command, agentSeconds * unitsPerSecond}}}
	}
}

// unmatched returns an entry for every tool.
func unmatched(_, command string) any {
	return struct {
		Type    string `json:"type"`
		Bash    string `json:"bash"`
		Timeout int    `json:"timeoutSec"`
	}{"command", command, agentSeconds}
}

// specificAnswer is the answer in Claude Code's format.
func specificAnswer(asked hookInput, decided mcptools.Permission) any {
	type specific struct {
		Event string `json:"hookEventName"`
		// The next three are for PreToolUse.
		PermissionDecision       api.Behavior `json:"permissionDecision,omitempty"`
		PermissionDecisionReason string       `json:"permissionDecisionReason,omitempty"`
		UpdatedInput             api.JSON     `json:"updatedInput,omitzero"`
		// Decision is for PermissionRequest.
		Decision *mcptools.Permission `json:"decision,omitempty"`
	}
	answer := specific{Event: asked.Event}
	if asked.Event == permissionRequest {
		answer.Decision = &decided
	} else {
		answer.PermissionDecision = decided.Behavior
		if decided.Behavior != behaviorDefer {
			answer.PermissionDecisionReason = reasonOf(decided)
		}
		answer.UpdatedInput = decided.UpdatedInput
	}
	return struct {
		Specific specific `json:"hookSpecificOutput"`
	}{answer}
}

// uneditedAnswer is the answer for an agent that runs the original input whatever the hook
// answers.
func uneditedAnswer(asked hookInput, decided mcptools.Permission) any {
	if decided.Behavior == api.BehaviorAllow && edited(asked, decided) {
		decided = mcptools.Permission{Behavior: api.BehaviorDeny, Message: "nothing was allowed: what was allowed is an edit, and this agent would run the call as it was"}
	}
	return specificAnswer(asked, decided)
}

// decisionAnswer is the answer in Gemini CLI's format. Gemini CLI merges an edited input
// into the original, so members that an edit removes would still be used.
func decisionAnswer(asked hookInput, decided mcptools.Permission) any {
	type specific struct {
		Event     string   `json:"hookEventName"`
		ToolInput api.JSON `json:"tool_input"`
	}
	answer := struct {
		Decision api.Behavior `json:"decision"`
		Reason   string       `json:"reason"`
		Specific *specific    `json:"hookSpecificOutput,omitempty"`
	}{Decision: decided.Behavior}
	switch missing, err := leftOut(asked.ToolInput, decided.UpdatedInput); {
	case decided.Behavior != api.BehaviorAllow || !edited(asked, decided):
	case err != nil || missing != "":
		decided.Message = fmt.Sprintf("nothing was allowed: the edit leaves out %q, which this agent would run nevertheless", missing)
		answer.Decision = api.BehaviorDeny
	default:
		answer.Specific = &specific{asked.Event, decided.UpdatedInput}
	}
	answer.Reason = reasonOf(decided)
	return answer
}

// flatAnswer is the answer in GitHub Copilot CLI's format.
func flatAnswer(asked hookInput, decided mcptools.Permission) any {
	answer := struct {
		PermissionDecision       api.Behavior `json:"permissionDecision"`
		PermissionDecisionReason string       `json:"permissionDecisionReason"`
		ModifiedArgs             api.JSON     `json:"modifiedArgs,omitzero"`
	}{PermissionDecision: decided.Behavior, PermissionDecisionReason: reasonOf(decided)}
	if edited(asked, decided) {
		answer.ModifiedArgs = decided.UpdatedInput
	}
	return answer
}

func reasonOf(decided mcptools.Permission) string {
	return cmp.Or(decided.Message, "allowed through holdpoint")
}

// edited reports whether the allowed input differs from the requested one.
func edited(asked hookInput, decided mcptools.Permission) bool {
	return len(decided.UpdatedInput) > 0 && !sameJSON(jsontext.Value(asked.ToolInput), jsontext.Value(decided.UpdatedInput))
}

// leftOut returns a member of the input that the edit removed.
func leftOut(input, edit api.JSON) (string, error) {
	var was, is map[string]jsontext.Value
	if err := json.Unmarshal(input, &was); err != nil || len(edit) == 0 {
		return "", err
	}
	if err := json.Unmarshal(edit, &is); err != nil {
		return "", err
	}
	var missing []string
	for name := range was {
		if _, there := is[name]; !there {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return strings.Join(missing, ", "), nil
}
