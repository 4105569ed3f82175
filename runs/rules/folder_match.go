package rules

import (
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/rules/shellcmd"
)

// fileNames are the members that name the one file of a call.
var fileNames = shellcmd.WordSet("path file filename filepath targetfile relativepath absolutepath relpath abspath notebookpath")

// actionNames are the members that say what a call does with its file.
var actionNames = shellcmd.WordSet("action operation op mode method verb permission permissions overwrite recursive force append delete editmode")

// plainPlace reports whether a path names the same place for every program: no URL, no variable, and
// no blank at an end.
func plainPlace(path string) bool {
	return strings.TrimSpace(path) == path && !strings.ContainsAny(path, "$%`") && !strings.Contains(path, "://") && !strings.HasPrefix(Folded(path), "file:")
}

// leastFolders is the number of segments that an absolute folder needs: a rule about /home or /etc
// is too wide to be remembered with a press.
const leastFolders = 2

// tooWide reports whether a folder is too wide to be remembered with a press.
func tooWide(folder string) bool {
	return absolute(folder) && strings.Count(folder, "/") <= leastFolders
}

// FolderMatch returns a match for every call of a tool about a file in the same folder, or in one
// below it, and the folder with a slash at its end. Members that change the effect of the call must
// be equal. It returns false if there is none: the tool runs commands, or the input does not name
// one file in a folder.
func FolderMatch(tool string, input api.JSON) (match api.RuleMatch, folder string, found bool) {
	call := Call{ToolName: tool, Input: input, Budget: NewBudget(1)}
	call.decode()
	file := ""
	for _, name := range sortedNames(call.members) {
		switch {
		case meaningOf(tool, name) == meansCommand, fileNames[foldedName(name)] && file != "":
			return match, "", false
		case fileNames[foldedName(name)]:
			file = name
		}
	}
	path, there := call.param(file)
	if file == "" || !there || document.Kind(call.members[file]) != '"' || !literal(file, path) || cleaned(path) != path || climbs(path) || !plainPlace(path) {
		return match, "", false
	}
	folder = path[:strings.LastIndex(path, "/")+1]
	if folder == "" || tooWide(folder) {
		return match, "", false
	}
	bases, all := call.folders(file)
	if !all {
		return match, "", false
	}
	for _, base := range bases {
		if !absolute(folder) && tooWide(strings.TrimRight(cleaned(base), "/")+"/"+folder) {
			return match, "", false
		}
	}
	rule := Rule{ToolName: tool, Effect: api.RuleAllow, Match: api.RuleMatch{Params: map[string]string{file: folder + "**"}}}
	match, found = rule.remembered(&call, func(name string) bool {
		name = foldedName(name)
		return contextNames[name] || pathNames[name] || actionNames[name]
	})
	return match, folder, found
}
