package kit

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/visible"
	"github.com/holdpoint/holdpoint/runs/document"
)

// shells are the tools whose input is a command line, in lower case.
var shells = map[string]bool{
	"bash": true, "sh": true, "zsh": true, "shell": true, "cmd": true, "powershell": true, "pwsh": true,
	"terminal": true, "exec": true, "command": true, "exec_command": true, "execute_command": true, "run_command": true,
	"shell_command": true, "run_shell_command": true, "run_terminal_cmd": true, "local_shell": true,
}

// besideCommand are the members of a shell's input that do not change what runs, or that a dialect shows
// next to the line (the folder). Any other member may matter more than the command.
var besideCommand = map[string]bool{
	"command": true, "cwd": true, "workdir": true, "timeout": true, "timeout_ms": true,
	"description": true, "reason": true, "threadId": true, "turnId": true, "itemId": true,
}

// CommandLine describes an approval in one line: the command if the tool is a shell and its input
// has nothing else of importance (plain is then true), otherwise the tool's name and the whole
// input. Metadata is not included. What a person would not see in it, or would take for something else, is escaped as by
// [visible.Escape]: clients show the line as it is.
func CommandLine(approval *api.ApprovalRequest) (line string, plain bool) {
	line, plain = commandLine(approval)
	return visible.Escape(line), plain
}

func commandLine(approval *api.ApprovalRequest) (line string, plain bool) {
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

// Described returns the agent's description of an approval after its hints, and after the directory of the call: the
// original contracts have no other member for them.
func Described(hints []api.Hint, directory, description string) string {
	if directory != "" {
		description = strings.TrimSuffix("In "+directory+": "+description, ": ")
	}
	var lines []string
	for i := range hints {
		lines = append(lines, string(hints[i].Level)+": "+hints[i].Text)
	}
	if description != "" {
		lines = append(lines, description)
	}
	return strings.Join(lines, "\n")
}

// CommandText returns a command as text, from a string or a list of words; "" for anything else.
func CommandText(command api.JSON) string {
	if list, ok := Texts(command); ok {
		return strings.Join(list, " ")
	}
	return Text(command)
}
