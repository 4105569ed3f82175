package prompt

import (
	"encoding/json"
	"fmt"
	"net/url"
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
	deleteFile  = "Delete a file"
	openPage    = "Open a page"
	sendRequest = "Send a request"
	sendMessage = "Send a message"
)

// Member names that agents use.
var (
	replacements = [][2]string{{"old_string", "new_string"}, {"old_str", "new_str"}, {"old_text", "new_text"}, {"oldText", "newText"}}
	paths        = []string{"file_path", "path", "filename", "file", "notebook_path"}
)

// editor are the commands of a text editor, with a member that each has.
var editor = map[string]string{"create": "file_text", "insert": "insert_line", "str_replace": "old_str", "undo_edit": "path", "view": "path"}

// members is an input that is an object.
type members map[string]api.JSON

// Action says in a verb phrase what a tool call with this input does, such as "Edit 2 files". It is empty
// where the members of the input do not tell.
func Action(input api.JSON) string {
	var m members
	if json.Unmarshal(input, &m) != nil {
		return ""
	}
	for _, shape := range []func(members) string{command, edit, patch, write, link, message} {
		if action := shape(m); action != "" {
			return action
		}
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

// edits reports whether a command is one of a text editor.
func (m members) edits(command string) bool {
	member, known := editor[command]
	_, named := m.first("path")
	_, has := m[member]
	return known && named && has
}

func command(m members) string {
	line, found := m.first("command", "cmd")
	if found && m.edits(line) {
		return ""
	}
	if found || m.texts("command") || m.texts("cmd") || m.texts("argv") {
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

func write(m members) string {
	_, named := m.first(paths...)
	if _, filled := m.first("content", "contents", "file_text"); named && filled {
		return writeFile
	}
	return ""
}

// link also tells a request from the opening of a page: by its method, else by whether it has a body.
func link(m members) string {
	text, _ := m.first("url", "uri")
	page, err := url.Parse(text)
	if err != nil || page.Host == "" || page.Scheme != "http" && page.Scheme != "https" {
		return ""
	}
	method, given := m.first("method")
	if !given && m.sends() || given && !strings.EqualFold(method, "GET") && !strings.EqualFold(method, "HEAD") {
		return sendRequest
	}
	return openPage
}

// sends reports whether a request has a body.
func (m members) sends() bool {
	for _, name := range []string{"body", "data", "json"} {
		if value := m[name]; value != nil && string(value) != "null" {
			return true
		}
	}
	return false
}

func message(m members) string {
	_, body := m.first("body", "text", "message")
	if _, to := m.first("to"); body && (to || m.texts("to")) {
		return sendMessage
	}
	return ""
}
