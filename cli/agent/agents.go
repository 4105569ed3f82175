package agent

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/mcptools"
)

// The events that agents call a hook for, and that are decided.
const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
	beforeTool        = "BeforeTool"
)

// codingAgent describes the hooks of one agent. All of them send the JSON of hookInput.
type codingAgent struct {
	name string
	// events are those that a decision can be given to; the first is what is installed
	// when nothing was said.
	events []string
	// settings is the file that configures its hooks: of the project, or of the user's home.
	settings     string
	ofUser       bool
	homeVariable string // names the directory of an ofUser file, in place of its first part
	// noMatcher: its hooks are called for every tool.
	noMatcher bool
	// entry is what one event of the settings holds.
	entry func(matcher, command string) any
	// otherwise is what the shell does when the hook did not end well. It must block the
	// call: most agents go on after a hook that has failed.
	otherwise string
	// answersByInput: an answer to its question tool goes back as an edited input. The others read
	// it as the reason of a denial.
	answersByInput bool
	// answer is what the agent reads on stdout.
	answer func(asked hookInput, decided mcptools.Permission) any
}

// codingAgents are those whose hooks are known, each by the version that it was tried with or
// read from: docs/agents.md.
var codingAgents = []codingAgent{
	{
		name: "claude-code", events: []string{permissionRequest, preToolUse}, settings: ".claude/settings.json",
		entry: matched(1), otherwise: blocks, answersByInput: true, answer: specificAnswer,
	},
	{
		name: "codex", events: []string{preToolUse}, settings: ".codex/hooks.json", ofUser: true, homeVariable: "CODEX_HOME",
		entry: matched(1), otherwise: blocks, answer: specificAnswer,
	},
	{
		name: "gemini-cli", events: []string{beforeTool}, settings: ".gemini/settings.json", ofUser: true,
		entry: matched(1000), otherwise: blocks, answer: decisionAnswer,
	},
	{
		// It reads 1000 and more as milliseconds. Its updatedInput is documented and has no effect.
		name: "qwen-code", events: []string{preToolUse}, settings: ".qwen/settings.json", ofUser: true,
		entry: matched(1000), otherwise: blocks, answer: uneditedAnswer,
	},
	{
		name: "copilot-cli", events: []string{preToolUse}, settings: ".github/hooks/holdpoint.json", noMatcher: true,
		entry: unmatched, otherwise: denies, answer: flatAnswer,
	},
}

// agentNamed returns the agent of a flag, whose values are those names.
func agentNamed(name string) (*codingAgent, error) {
	at := slices.IndexFunc(codingAgents, func(one codingAgent) bool { return one.name == name })
	if at < 0 {
		return nil, fmt.Errorf("the hooks of %q are not known", name)
	}
	return &codingAgents[at], nil
}

// What the shell does when the hook was killed, could not be started or could not read its
// input: code 2 blocks the call with what stands on stderr, and one agent reads stdout alone.
const (
	blocks = "{ echo 'holdpoint hook has failed: nothing was allowed' >&2; exit 2; }"
	denies = `echo '{"permissionDecision":"deny","permissionDecisionReason":"holdpoint hook has failed: nothing was allowed"}'`
)

// command is what the agent is to call.
func (a *codingAgent) command(flags string) string {
	line := "holdpoint hook"
	if a.name != codingAgents[0].name {
		line += " --hooks-of " + a.name
	}
	return line + " --agent-id " + a.name + flags + " || " + a.otherwise
}

// told returns a decision as this agent can be told it. An agent that takes no answer from a hook
// would ask its own user once more.
func (a *codingAgent) told(decided mcptools.Permission) mcptools.Permission {
	if decided.Told == "" || a.answersByInput {
		return decided
	}
	return mcptools.Permission{Behavior: api.BehaviorDeny, Message: decided.Told}
}

// settingsPath is where the hooks are configured.
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

// matched is an entry for the tools of a pattern. unitsPerSecond is how the agent counts its
// time limit.
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

// unmatched is an entry for every tool.
func unmatched(_, command string) any {
	return struct {
		Type    string `json:"type"`
		Bash    string `json:"bash"`
		Timeout int    `json:"timeoutSec"`
	}{"command", command, agentSeconds}
}

// specificAnswer is the answer of hooks in the manner of Claude Code.
func specificAnswer(asked hookInput, decided mcptools.Permission) any {
	type specific struct {
		Event string `json:"hookEventName"`
		// The next three are of PreToolUse.
		PermissionDecision       api.Behavior `json:"permissionDecision,omitempty"`
		PermissionDecisionReason string       `json:"permissionDecisionReason,omitempty"`
		UpdatedInput             api.JSON     `json:"updatedInput,omitzero"`
		// Decision is of PermissionRequest.
		Decision *mcptools.Permission `json:"decision,omitempty"`
	}
	answer := specific{Event: asked.Event}
	if asked.Event == permissionRequest {
		answer.Decision = &decided
	} else {
		answer.PermissionDecision = decided.Behavior
		answer.PermissionDecisionReason = reasonOf(decided)
		answer.UpdatedInput = decided.UpdatedInput
	}
	return struct {
		Specific specific `json:"hookSpecificOutput"`
	}{answer}
}

// uneditedAnswer is that of an agent that runs the model's input whatever the hook answers.
func uneditedAnswer(asked hookInput, decided mcptools.Permission) any {
	if decided.Behavior == api.BehaviorAllow && edited(asked, decided) {
		decided = mcptools.Permission{Behavior: api.BehaviorDeny, Message: "nothing was allowed: what was allowed is an edit, and this agent would run the call as it was"}
	}
	return specificAnswer(asked, decided)
}

// decisionAnswer is the answer of hooks in the manner of Gemini CLI, which documents that an
// edited input is merged into the model's: what an edit leaves out would run nevertheless.
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

// flatAnswer is the answer of hooks in the manner of GitHub Copilot CLI.
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

// edited reports whether what was allowed is another input than what was asked.
func edited(asked hookInput, decided mcptools.Permission) bool {
	return len(decided.UpdatedInput) > 0 && !sameJSON(jsontext.Value(asked.ToolInput), jsontext.Value(decided.UpdatedInput))
}

// leftOut returns a member of an input that an edit does not have.
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
