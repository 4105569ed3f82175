package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/cli/console"
)

// hookSeconds is the limit that the agent sets to the hook: a week.
const hookSeconds = 7 * 24 * 3600

// HookInstall puts the hook into an agent's settings.
type HookInstall struct {
	console.Format
	Agent    string `arg:"" enum:"claude-code" help:"The agent: claude-code."`
	Event    string `default:"PermissionRequest" enum:"PermissionRequest,PreToolUse" placeholder:"EVENT" help:"PermissionRequest for the calls that the agent would ask about, PreToolUse for every call of the matched tools (default ${default})."`
	Matcher  string `default:"*" placeholder:"PATTERN" help:"Which tools (default ${default})."`
	Settings string `placeholder:"PATH" help:"The settings file (default .claude/settings.json, of this project)."`
	Server   string `placeholder:"URL" help:"Where the service is, for the hook."`
	console.CertificatePaths
	DryRun bool `help:"Print the settings as they would be, and change nothing."`
}

// Run writes the settings, or prints them.
func (c *HookInstall) Run(terminal *console.Console) error {
	path := c.Settings
	if path == "" {
		path = filepath.Join(".claude", "settings.json")
	}
	before, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = []byte("{}"), nil
	}
	if err != nil {
		return err
	}
	command := "holdpoint hook --agent-id " + c.Agent
	if c.Server != "" {
		command += " --server " + console.QuoteArgument(c.Server)
	}
	if err := c.Absolute(c.Server); err != nil {
		return err
	}
	for _, file := range []struct{ flag, path string }{{"ca", c.CA}, {"client-cert", c.ClientCert}, {"client-key", c.ClientKey}} {
		if file.path != "" {
			command += " --" + file.flag + " " + console.QuoteArgument(file.path)
		}
	}
	after, changed, err := withHook(before, c.Event, c.Matcher, command)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	switch {
	case c.DryRun:
		_, err := terminal.Stdout.Write(after)
		return err
	case changed:
		if err := replaceFile(path, after); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return console.PrintJSON(terminal.Stdout, installed{path, c.Event, command, changed})
	case !changed:
		terminal.Say("%s has the hook already", path)
		return nil
	}
	terminal.Say("%s: %s now asks by %s", path, c.Event, command)
	return nil
}

// installed says what was done, as JSON.
type installed struct {
	Settings string `json:"settings"`
	Event    string `json:"event"`
	Command  string `json:"command"`
	Changed  bool   `json:"changed"`
}

// hookGroup is what an agent's settings hold for one event and matcher.
type hookGroup struct {
	Matcher string        `json:"matcher"`
	Hooks   []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	// Timeout is in seconds.
	Timeout int `json:"timeout"`
}

// withHook adds a hook to settings, whose other members stay as they are and where they
// are. It reports whether that changes anything.
func withHook(settings []byte, event, matcher, command string) (after []byte, changed bool, err error) {
	root, err := members(settings)
	if err != nil {
		return nil, false, err
	}
	hooks, err := members(root.get("hooks", "{}"))
	if err != nil {
		return nil, false, fmt.Errorf("hooks: %w", err)
	}
	var groups []jsontext.Value
	if err := json.Unmarshal(hooks.get(event, "[]"), &groups); err != nil {
		return nil, false, fmt.Errorf("hooks.%s: %w", event, err)
	}
	for _, group := range groups {
		var known hookGroup
		if json.Unmarshal(group, &known) == nil && known.Matcher == matcher && len(known.Hooks) == 1 && known.Hooks[0].Command == command {
			after, err = indented(settings)
			return after, false, err
		}
	}
	group, err := json.Marshal(hookGroup{Matcher: matcher, Hooks: []hookCommand{{Type: "command", Command: command, Timeout: hookSeconds}}})
	if err != nil {
		return nil, false, err
	}
	list, err := json.Marshal(append(groups, group))
	if err != nil {
		return nil, false, err
	}
	hooks = hooks.set(event, list)
	after, err = indented(root.set("hooks", hooks.text()).text())
	return after, true, err
}

func indented(text jsontext.Value) ([]byte, error) {
	text = bytes.Clone(text)
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// object is a JSON object in its order.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

func members(text jsontext.Value) (object, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	open, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	if open.Kind() != '{' {
		return nil, errors.New("is not a JSON object")
	}
	var read object
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		one := member{name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		one.value = bytes.Clone(value)
		read = append(read, one)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has something behind the JSON object")
	}
	return read, nil
}

func (o object) get(name, otherwise string) jsontext.Value {
	for _, one := range o {
		if one.name == name {
			return one.value
		}
	}
	return jsontext.Value(otherwise)
}

func (o object) set(name string, value jsontext.Value) object {
	for i, one := range o {
		if one.name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

func (o object) text() jsontext.Value {
	parts := make([]string, len(o))
	for i, one := range o {
		name, _ := jsontext.AppendQuote(nil, one.name) // a name that was read is valid
		parts[i] = string(name) + ":" + string(one.value)
	}
	return jsontext.Value("{" + strings.Join(parts, ",") + "}")
}

// replaceFile writes a file whole or not at all.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temporary := path + ".holdpoint"
	if err := os.WriteFile(temporary, text, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
