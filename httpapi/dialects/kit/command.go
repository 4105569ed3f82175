package kit

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// shells are the names of tools whose input is a command line, in lower case.
var shells = map[string]bool{
	"bash": true, "sh": true, "zsh": true, "shell": true, "cmd": true, "powershell": true, "pwsh": true,
	"terminal": true, "exec": true, "command": true, "exec_command": true, "execute_command": true, "run_command": true,
	"shell_command": true, "run_shell_command": true, "run_terminal_cmd": true, "local_shell": true,
}

// besideCommand are the members of a shell's input without which the command still says
// what runs. Any other may matter more than the command.
var besideCommand = map[string]bool{
	"command": true, "cwd": true, "workdir": true, "timeout": true, "timeout_ms": true,
	"description": true, "reason": true, "threadId": true, "turnId": true, "itemId": true,
}

// CommandLine returns what an approval is about, for clients that show one line: the
// command where the tool is a shell and its input says nothing else, otherwise the name
// of the tool and the whole input. Nothing that stands beside the input is in it.
// Plain reports the former.
func CommandLine(approval *api.ApprovalRequest) (line string, plain bool) {
	input := approval.Input
	if shells[strings.ToLower(approval.ToolName)] {
		command := input
		if document.Kind(input) == '{' {
			command = nil
			for name, value := range Members(input) {
				if !besideCommand[name] {
					command = nil
					break
				}
				if name == "command" {
					command = value
				}
			}
		}
		if line := CommandText(command); line != "" {
			return line, true
		}
	}
	if kind := document.Kind(input); kind == 'n' || kind == 0 {
		return approval.ToolName, false
	}
	return approval.ToolName + " " + Compact(input), false
}

// CommandText returns a command, which is a text or a list of words; "" for anything else.
func CommandText(command api.JSON) string {
	if list, ok := Texts(command); ok {
		return strings.Join(list, " ")
	}
	return Text(command)
}
