package prompt

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/holdpoint/holdpoint/api"
)

// The actions that an input tells by its shape. kinds.js of the page has the same, and tests hold both to
// one table of examples.
const (
	runCommand  = "Run a command"
	editFile    = "Edit a file"
	editFiles   = "Edit %d files"
	writeFile   = "Write a file"
	openPage    = "Open a page"
	sendMessage = "Send a message"
)

// Member names that agents use.
var (
	replacements = [][2]string{{"old_string", "new_string"}, {"old_str", "new_str"}, {"old_text", "new_text"}, {"oldText", "newText"}}
	paths        = []string{"file_path", "path", "filename", "file", "notebook_path"}
)

// members is an input that is an object.
type members map[string]api.JSON

// Action says in a verb phrase what a tool call with this input does, such as "Edit 2 files". It is empty
// where the members of the input do not tell.
func Action(input api.JSON) string {
	var m members
	if json.Unmarshal(input, &m) != nil {
		return ""
	}
	for _, shape := range []func(members) string{command, edit, patch} {
		if action := shape(m); action != "" {
			return action
		}
	}
	_, named := m.first(paths...)
	_, filled := m.first("content", "contents", "file_text")
	link, _ := m.first("url", "uri")
	page, err := url.Parse(link)
	_, body := m.first("body", "text", "message")
	_, to := m.first("to")
	switch {
	case named && filled:
		return writeFile
	case err == nil && page.Host != "" && (page.Scheme == "http" || page.Scheme == "https"):
		return openPage
	case body && (to || m.texts("to")):
		return sendMessage
	}
	return ""
}

// first returns the first of the members that is a string.
func (m members) first(names ...string) (text string, found bool) {
	for _, name := range names {
		if value := m[name]; len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
			return text, true
		}
	}
	return "", false
}

// texts reports whether a member is a list of strings, and not empty.
func (m members) texts(name string) bool {
	var list []*string
	if json.Unmarshal(m[name], &list) != nil {
		return false
	}
	for _, one := range list {
		if one == nil {
			return false
		}
	}
	return len(list) > 0
}

func command(m members) string {
	if _, found := m.first("command", "cmd"); found || m.texts("command") || m.texts("cmd") || m.texts("argv") {
		return runCommand
	}
	return ""
}

// replaces reports whether one text takes the place of another.
func (m members) replaces() bool {
	for _, pair := range replacements {
		_, old := m.first(pair[0])
		_, fresh := m.first(pair[1])
		if old && fresh {
			return true
		}
	}
	return false
}

func edit(m members) string {
	if m.replaces() {
		return editFile
	}
	var edits []members
	if json.Unmarshal(m["edits"], &edits) != nil || len(edits) == 0 {
		return ""
	}
	files := map[string]bool{}
	for _, one := range edits {
		if !one.replaces() {
			return ""
		}
		if path, _ := one.first(paths...); path != "" {
			files[path] = true
		}
	}
	return editing(len(files))
}

func editing(files int) string {
	if files > 1 {
		return fmt.Sprintf(editFiles, files)
	}
	return editFile
}

var (
	patchHeader = regexp.MustCompile(`(?m)^(?:---|\+\+\+|@@|diff |\*\*\* )`)
	patchLine   = regexp.MustCompile(`(?m)^[-+]`)
	fileOfPatch = regexp.MustCompile(`^(?:\*\*\* (?:Add|Update|Delete) File: |diff --git a/.+ b/).`)
	sideOfPatch = regexp.MustCompile(`^(?:\+\+\+|---) (?:[ab]/)?([^\t]+)`)
)

func patch(m members) string {
	text, _ := m.first("patch", "diff", "input")
	if !patchHeader.MatchString(text) || !patchLine.MatchString(text) {
		return ""
	}
	return editing(filesOf(text))
}

// filesOf counts the files with a name that a patch changes.
func filesOf(text string) (files int) {
	named, body := false, false
	for line := range strings.SplitSeq(text, "\n") {
		starts := fileOfPatch.MatchString(line)
		if starts || body && strings.HasPrefix(line, "--- ") {
			named, body = false, false
		}
		side := sideOfPatch.FindStringSubmatch(line)
		if !named && (starts || side != nil && !body && side[1] != "/dev/null") {
			named = true
			files++
		}
		body = body || strings.HasPrefix(line, "@@") || starts && line[0] == '*'
	}
	return files
}
