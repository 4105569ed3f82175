package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/auth/signing"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/canonical"
	"github.com/holdpoint/holdpoint/prompt"
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
	Server   string `default:"http://127.0.0.1:4000" from:"HOLDPOINT_SERVER" placeholder:"URL" help:"Server address, which the hook keeps whatever the agent's environment says (default ${default}; $$HOLDPOINT_SERVER)."`
	console.CertificatePaths
	console.Recipients
	Defer  bool `help:"Headless claude-code: end the agent's process instead of waiting for a decision. holdpoint hook resume resumes it then. Implies --event PreToolUse."`
	DryRun bool `help:"Print the new settings without changing the file."`
}

// Help returns the text below the flags in --help.
func (c *HookInstall) Help() string {
	return `The installed command has the path of this program, the address of the service and the ids of its public keys. The hook allows a call only with a grant that one of these keys signed, so nothing else that answers at that address can allow one. If the service does not answer now, the keys are left out: install again when it does. holdpoint hook doctor says what is left open.`
}

// Run writes the settings or prints them.
func (c *HookInstall) Run(ctx context.Context, terminal *console.Console) error {
	of, err := agentNamed(c.Agent)
	if err != nil {
		return err
	}
	event := cmp.Or(c.Event, of.events[0])
	agentID := of.name
	if c.Defer {
		event, agentID = cmp.Or(c.Event, preToolUse), deferringAgent(of.name)
	}
	switch {
	case c.Defer && (of != deferring || event != preToolUse):
		return console.Usage("--defer is for %s of %s", preToolUse, deferring.name)
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
	c.findCertificates(terminal)
	if err := c.Absolute(c.Server); err != nil {
		return err
	}
	if _, err := c.Chosen(); err != nil {
		return err
	}
	keys, unread := c.keys(ctx)
	if errors.Is(unread, errEphemeral) {
		return unread
	}
	program, err := programPath()
	if err != nil {
		return err
	}
	command := of.command(program, agentID, c.flags(keys))
	after, changed, err := withHook(before, of, event, c.Matcher, command)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", path, err)
	}
	if unread != nil {
		terminal.Say("the hook will trust any service at %s, because its keys could not be read (%s): install again when the service answers", c.Server, firstLine(unread))
	}
	for _, misfit := range []string{of.misfit(ctx), of.switchedOff(path)} {
		if misfit != "" {
			terminal.Say("%s", misfit)
		}
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
	terminal.Say("%s: %s now calls %s", path, event, command)
	if c.Defer {
		terminal.Say("run holdpoint hook resume %s as well: it resumes the agent after each decision", of.name)
	}
	return nil
}

// flags returns the flags of the installed command, which allows only what one of these keys signed.
func (c *HookInstall) flags(keys []string) string {
	flags := " --server " + prompt.QuoteArgument(c.Server)
	if c.Defer {
		flags = " --defer" + flags
	}
	for _, file := range []struct{ flag, path string }{{"ca", c.CA}, {"client-cert", c.ClientCert}, {"client-key", c.ClientKey}} {
		if file.path != "" {
			flags += " --" + file.flag + " " + prompt.QuoteArgument(file.path)
		}
	}
	if c.Escalation != nil {
		flags += " --escalation=" + prompt.QuoteArgument(*c.Escalation)
	}
	for _, selector := range c.Notify {
		flags += " --notify=" + prompt.QuoteArgument(selector)
	}
	for _, id := range keys {
		flags += " --signed-by=" + prompt.QuoteArgument(id) // an id may begin with a hyphen
	}
	return flags
}

// findCertificates fills in missing paths from where the server's address may come from: the
// environment and the context.
func (c *HookInstall) findCertificates(terminal *console.Console) {
	found := console.Certificates(c.CertificatePaths)
	found.FromEnvironment(terminal.LookupEnv)
	if c.Server == terminal.Context.Server {
		found.Complete(terminal.Context)
	}
	c.CertificatePaths = console.CertificatePaths(found)
}

// installed is the result as JSON.
type installed struct {
	Settings string `json:"settings"`
	Event    string `json:"event"`
	Command  string `json:"command"`
	Changed  bool   `json:"changed"`
}

// mostKeys is the maximum number of keys in a hook's command. The newest are taken: replicas without a
// key file leave a key behind each time they start.
const mostKeys = 4

// errEphemeral: a hook that is installed with the key would deny every call after a restart of the service.
var errEphemeral = errors.New("the service's signing key is lost when it restarts, and the hook would then deny every call: " +
	"start the service with --signing-key-file PATH (HOLDPOINT_SIGNING_KEY_FILE), and install again; nothing was changed")

// keys returns the ids of the service's newest public keys. Errors: errEphemeral.
func (c *HookInstall) keys(ctx context.Context) (ids []string, err error) {
	connection := console.Connection{Server: c.Server, Certificates: console.Certificates(c.CertificatePaths)}
	err = connection.Call(func(opened *client.Client) error {
		read, err := opened.Keys(ctx)
		if err != nil {
			return err
		}
		if read.Ephemeral {
			return errEphemeral
		}
		checked, err := signing.NewPublic(*read)
		if err != nil {
			return err
		}
		for _, key := range checked.Set().Keys {
			ids = append(ids, key.Kid)
		}
		if len(ids) == 0 {
			return errors.New("it has no Ed25519 key")
		}
		return nil
	})
	return ids[:min(len(ids), mostKeys)], err
}

// programPath returns the absolute path of this program: the one by which a person calls it, so that
// an upgrade behind a link keeps the hook.
func programPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if found, err := exec.LookPath("holdpoint"); err == nil {
		found, err = filepath.Abs(found)
		if target, broken := filepath.EvalSymlinks(found); err == nil && broken == nil && target == self {
			return found, nil
		}
	}
	if strings.Contains(self, "go-build") {
		return "", console.Usage("the hook needs a program that stays, and go run deletes this one: build it first, with go build -o ~/.local/bin/holdpoint ./cmd/holdpoint")
	}
	return self, nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// isHook reports whether a command of an agent's settings calls this program's hook. The program may
// have any path and name; what the shell says when the hook fails is in each installed command.
func isHook(command string) bool {
	program, _, found := strings.Cut(command, " hook ")
	return found && (filepath.Base(strings.Trim(program, "'")) == "holdpoint" || strings.Contains(command, hookFailed))
}

// withHook adds a hook to settings and leaves all other members in place. It replaces an
// earlier holdpoint hook for the same tools; with two hooks a person would be asked twice.
// It reports whether the settings change.
func withHook(settings []byte, of *codingAgent, event, matcher, command string) (after []byte, changed bool, err error) {
	root, err := canonical.Members(settings)
	if err != nil {
		return nil, false, err
	}
	hooks, err := canonical.Members(memberOf(root, "hooks", "{}"))
	if err != nil {
		return nil, false, fmt.Errorf("hooks: %w", err)
	}
	var entries []jsontext.Value
	if err := json.Unmarshal(memberOf(hooks, event, "[]"), &entries); err != nil {
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
	hooks = withMember(hooks, event, list)
	if of.noMatcher {
		root = withMember(root, "version", memberOf(root, "version", "1"))
	}
	after, err = indented(canonical.Join(withMember(root, "hooks", canonical.Join(hooks))))
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
		return isHook(known.Bash)
	}
	return known.Matcher == matcher && len(known.Hooks) == 1 && isHook(known.Hooks[0].Command)
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

// memberOf returns the value of a member, or otherwise.
func memberOf(members []canonical.Member, name, otherwise string) jsontext.Value {
	for _, one := range members {
		if one.Is(name) {
			return one.Value
		}
	}
	return jsontext.Value(otherwise)
}

// withMember sets a member in its place, or adds it at the end.
func withMember(members []canonical.Member, name string, value []byte) []canonical.Member {
	for i, one := range members {
		if one.Is(name) {
			members[i].Value = value
			return members
		}
	}
	quoted, _ := jsontext.AppendQuote(nil, name) // the names of agents' members are ASCII
	return append(members, canonical.Member{Name: quoted, Value: value})
}
