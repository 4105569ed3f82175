package agent

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/mcptools"
)

// commandTools are the tools for which Codex takes only the command of an edited input. For the others it
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

// hiddenOfCodex reads what Codex's input of the hook leaves out of a command: its directory, its shell, and whether it
// gets a terminal. It says why no decision could hold: Codex calls no hook for what the model types into a terminal,
// "git log" becomes a shell that way, and another shell can be any program. The session's transcript says it, unless the
// session has none or the call is one of a script.
func hiddenOfCodex(ctx context.Context, asked *hookInput) string {
	if asked.ToolName != "Bash" || asked.Transcript == "" || strings.HasPrefix(asked.ToolUseID, ofScript) {
		return ""
	}
	var run commandRun
	awaitLine(ctx, asked.Transcript, func(text []byte, cut bool) (found bool) {
		found, run = commandIn(text, cut, asked.ToolUseID)
		return found
	})
	switch {
	case run.Terminal:
		return "Nothing was allowed: this command would get a terminal, and nobody would be asked about what is typed there later. Make this call again without tty."
	case run.Shell != "":
		return "Nothing was allowed: this command would run in a shell that nobody is shown. Make this call again without shell."
	case strings.HasPrefix(run.Directory, "~"):
		return "Nothing was allowed: where this command would run depends on the home directory. Make this call again with the whole path in workdir."
	case filepath.IsAbs(run.Directory):
		asked.directory = filepath.Clean(run.Directory)
	case run.Directory != "":
		asked.directory = filepath.Join(asked.Cwd, run.Directory)
	}
	return ""
}

// commandRun is how a command runs.
type commandRun struct {
	Directory string `json:"workdir"`
	Shell     string `json:"shell"`
	Terminal  bool   `json:"tty"`
}

// commandIn finds a call in the lines of Codex's transcript, the last with this id, and returns how its command runs. What
// cannot be read may have a terminal: spaces can move tty out of what is read of a line. cut says that the first line has
// lost its beginning.
func commandIn(text []byte, cut bool, callID string) (found bool, run commandRun) {
	for line := range bytes.Lines(text) {
		if cut {
			cut = false
			found = bytes.Contains(line, []byte(`"call_id":"`+callID+`"`)) // which stands behind the arguments
			run.Terminal = found
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
		found, run = true, commandRun{}
		// Codex reads what this does not, such as a name that is there twice.
		if json.Unmarshal([]byte(read.Payload.Arguments), &run) != nil {
			run.Terminal = true
		}
	}
	return found, run
}
