package agent

import (
	"bytes"
	"context"
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/mcptools"
)

// commandTools are the tools of Codex of whose edited input it takes the command alone. Of all others it
// takes the whole input.
var commandTools = map[string]bool{"Bash": true, "apply_patch": true}

// commandAnswer is the answer for Codex, which would run an edited command with everything else of the call as it
// was, such as in its directory.
func commandAnswer(asked hookInput, decided mcptools.Permission) any {
	if decided.Behavior == api.BehaviorAllow && commandTools[asked.ToolName] && !editsCommandAlone(asked.ToolInput, decided.UpdatedInput) {
		decided = mcptools.Permission{Behavior: api.BehaviorDeny, Message: `nothing was allowed: of an edit this agent heeds "command" alone, and this one changes more`}
	}
	return specificAnswer(asked, decided)
}

// editsCommandAlone reports whether an edit has all members of the input, and at most another command.
func editsCommandAlone(input, edit api.JSON) bool {
	var was, is map[string]jsontext.Value
	if json.Unmarshal(input, &was) != nil || json.Unmarshal(edit, &is) != nil {
		return false
	}
	was["command"] = is["command"]
	return maps.EqualFunc(was, is, sameJSON)
}

// ofScript begins the ids of calls that a script of Codex's code mode makes. The transcript has the script alone.
const ofScript = "exec-"

// typesLater says why no decision about a call of Codex could hold: the command would get a terminal, and
// Codex calls no hook for what the model types there later. "git log" becomes a shell that way. The hook's
// input does not say so, the session's transcript does, unless the session has none or the call is one of a
// script.
func typesLater(ctx context.Context, asked hookInput) string {
	if asked.ToolName != "Bash" || asked.Transcript == "" || strings.HasPrefix(asked.ToolUseID, ofScript) {
		return ""
	}
	terminal := false
	awaitLine(ctx, asked.Transcript, func(text []byte, cut bool) (found bool) {
		found, terminal = terminalIn(text, cut, asked.ToolUseID)
		return found
	})
	if !terminal {
		return ""
	}
	return "Nothing was allowed: this command would get a terminal, and nobody would be asked about what is typed there later. Make this call again without tty."
}

// terminalIn finds a call in the lines of Codex's transcript, the last with this id, and reports
// whether it asks for a terminal, or may: spaces can move tty out of what is read of a line. cut says
// that the first line has lost its beginning.
func terminalIn(text []byte, cut bool, callID string) (found, terminal bool) {
	for line := range bytes.Lines(text) {
		if cut {
			cut = false
			found = bytes.Contains(line, []byte(`"call_id":"`+callID+`"`)) // which stands behind the arguments
			terminal = found
			continue
		}
		var read struct {
			Payload struct {
				Type      string `json:"type"`
				CallID    string `json:"call_id"`
				Arguments string `json:"arguments"`
			} `json:"payload"`
		}
		if json.Unmarshal(line, &read) != nil || read.Payload.Type != "function_call" || read.Payload.CallID != callID {
			continue // also what other lines have in these members, and a line that is still being written
		}
		var arguments struct {
			TTY bool `json:"tty"`
		}
		// Codex reads what this does not, such as a name that is there twice.
		unread := json.Unmarshal([]byte(read.Payload.Arguments), &arguments)
		found, terminal = true, arguments.TTY || unread != nil
	}
	return found, terminal
}
