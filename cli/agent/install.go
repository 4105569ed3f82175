package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// hookSeconds is how long a hook waits: a week. agentSeconds is the agent's own timeout. It
// is longer, so that the hook always ends the wait: an agent continues without a hook that
// timed out.
const (
	hookSeconds  = 7 * 24 * 3600
	agentSeconds = hookSeconds + 60
)

// HookInstall adds the hook to an agent's settings.
type HookInstall struct {
	console.Format
	Agent    string `arg:"" enum:"claude-code,codex,gemini-cli,qwen-code,copilot-cli" help:"Agent: claude-code, codex, gemini-cli, qwen-code or copilot-cli."`
	Event    string `placeholder:"EVENT" help:"PreToolUse (gemini-cli: BeforeTool) for every matching tool call. claude-code defaults to PermissionRequest: only calls it would ask you about."`
	Matcher  string `default:"*" placeholder:"PATTERN" help:"Tools to match (default ${default})."`
	Settings string `placeholder:"PATH" help:"Settings file (default: of this project for claude-code and copilot-cli, otherwise of this user)."`
	Server   string `placeholder:"URL" help:"Server address for the hook."`
	console.CertificatePaths
	DryRun bool `help:"Print the new settings without changing the file."`
}

// Run writes the settings or prints them.
func (c *HookInstall) Run(terminal *console.Console) error {
	of, err := agentNamed(c.Agent)
	if err != nil {
		return err
	}
	event := cmp.Or(c.Event, of.events[0])
	switch {
	case !slices.Contains(of.events, event):
		return console.Usage("--event of %s must be %s", of.name, strings.Join(of.events, " or "))
	case of.noMatcher && c.Matcher != "*":
		return console.Usage("%s calls its hooks for every tool: omit --matcher", of.name)
	}
	path := c.Settings
	if path == "" {
		if path, err = of.settingsPath(); err != nil {
			return err
		}
	}
	before, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = []byte("{}"), nil
	}
	if err != nil {
		return err
	}
	var flags string
	if c.Server != "" {
		flags += " --server " + console.QuoteArgument(c.Server)
	}
	if err := c.Absolute(c.Server); err != nil {
		return err
	}
	for _, file := range []struct{ flag, path string }{{"ca", c.CA}, {"client-cert", c.ClientCert}, {"client-key", c.ClientKey}} {
		if file.path != "" {
			flags += " --" + file.flag + " " + console.QuoteArgument(file.path)
		}
	}
	command := of.command(flags)
	after, changed, err := withHook(before, of, event, c.Matcher, command)
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
		return console.PrintJSON(terminal.Stdout, installed{path, event, command, changed})
	case !changed:
		terminal.Say("%s has the hook already", path)
		return nil
	}
	terminal.Say("%s: %s now asks by %s", path, event, command)
	return nil
}

// installed is the result as JSON.
type installed struct {
	Settings string `json:"settings"`
	Event    string `json:"event"`
	Command  string `json:"command"`
	Changed  bool   `json:"changed"`
}

// ours is the start of every command that this package installs.
const ours = "holdpoint hook "

// withHook adds a hook to settings and leaves all other members in place. It replaces an
// earlier holdpoint hook for the same tools; with two hooks a person would be asked twice.
// It reports whether the settings change.
func withHook(settings []byte, of *codingAgent, event, matcher, command string) (after []byte, changed bool, err error) {
	root, err := members(settings)
	if err != nil {
		return nil, false, err
	}
	hooks, err := members(root.get("hooks", "{}"))
	if err != nil {
		return nil, false, fmt.Errorf("hooks: %w", err)
	}
	var entries []jsontext.Value
	if err := json.Unmarshal(hooks.get(event, "[]"), &entries); err != nil {
		return nil, false, fmt.Errorf("hooks.%s: %w", event, err)
	}
	entry, err := json.Marshal(of.entry(matcher, command))
	if err != nil {
		return nil, false, err
	}
	at := slices.IndexFunc(entries, func(one jsontext.Value) bool { return isOurs(one, of, matcher) })
	switch {
	case at < 0:
		entries = append(entries, entry)
	case sameJSON(entries[at], entry):
		after, err = indented(settings)
		return after, false, err
	default:
		entries[at] = entry
	}
	list, err := json.Marshal(entries)
	if err != nil {
		return nil, false, err
	}
	hooks = hooks.set(event, list)
	if of.noMatcher {
		root = root.set("version", root.get("version", "1"))
	}
	after, err = indented(root.set("hooks", hooks.text()).text())
	return after, true, err
}

// isOurs reports whether an entry has exactly one hook, by holdpoint and for a matcher.
func isOurs(entry jsontext.Value, of *codingAgent, matcher string) bool {
	var known struct {
		Matcher string `json:"matcher"`
		Bash    string `json:"bash"`
		Hooks   []struct {
			Command string `json:"command"`
		} `json:"hooks"`
	}
	if json.Unmarshal(entry, &known) != nil {
		return false
	}
	if of.noMatcher {
		return strings.HasPrefix(known.Bash, ours)
	}
	return known.Matcher == matcher && len(known.Hooks) == 1 && strings.HasPrefix(known.Hooks[0].Command, ours)
}

// sameJSON reports whether two texts are the same value. It compares integers by their
// digits, because large ids can be equal as doubles.
func sameJSON(one, other jsontext.Value) bool {
	first, err := canonical.Text(one)
	if err != nil {
		return false
	}
	second, err := canonical.Text(other)
	return err == nil && bytes.Equal(first, second)
}

func indented(text jsontext.Value) ([]byte, error) {
	text = bytes.Clone(text)
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// object is a JSON object that keeps its order.
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
		return nil, errors.New("has extra text after the JSON object")
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
		name, _ := jsontext.AppendQuote(nil, one.name) // a name from valid JSON is valid
		parts[i] = string(name) + ":" + string(one.value)
	}
	return jsontext.Value("{" + strings.Join(parts, ",") + "}")
}

// replaceFile writes a file atomically.
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
