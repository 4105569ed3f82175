package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"mvdan.cc/sh/v3/syntax"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/auth"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/internal/loopback"
)

// HookDoctor checks an installed hook.
type HookDoctor struct {
	console.Format
	Agent    string `arg:"" optional:"" default:"claude-code" enum:"claude-code,codex,gemini-cli,qwen-code,copilot-cli" help:"Agent (default ${default})."`
	Settings string `placeholder:"PATH" help:"Settings file (default: where hook install writes)."`
}

// Help returns the text below the flags in --help.
func (c *HookDoctor) Help() string {
	return `Run it in the environment in which the agent runs: it uses the same HOLDPOINT_… variables and context.

"ok" holds. "open" is something that the agent, or somebody else with its rights, can still do; docs/agents.md says how to close it. "note" was not checked. "fails" means that the hook does not work.

Exit codes: 0 the hook works, 1 it does not.`
}

// The verdicts of a check.
const (
	holds     = "ok"
	open      = "open"
	unchecked = "note"
	fails     = "fails"
)

// finding is the result of one check.
type finding struct {
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
}

type findings []finding

func (f *findings) add(verdict, format string, arguments ...any) {
	*f = append(*f, finding{verdict, fmt.Sprintf(format, arguments...)})
}

// Run checks the hook and prints the findings.
func (c *HookDoctor) Run(ctx context.Context, terminal *console.Console) error {
	of, err := agentNamed(c.Agent)
	if err != nil {
		return err
	}
	path := c.Settings
	if path == "" {
		if path, err = of.settingsPath(); err != nil {
			return err
		}
	}
	var found findings
	commands, unread := hooksIn(path)
	switch {
	case unread != nil:
		found.add(fails, "%s: %s", path, unread)
	case len(commands) == 0:
		found.add(fails, "%s has no hook of holdpoint: run holdpoint hook install %s", path, c.Agent)
	default:
		found.add(holds, "%s has the hook", path)
		if writable(path) {
			found.add(open, "this user can change %s, so an agent of this user can remove the hook: use the agent's managed settings, or run the agent as another user", path)
		}
	}
	if off := of.switchedOff(path); off != "" {
		found.add(fails, "%s", off)
	}
	if misfit := of.misfit(ctx); misfit != "" {
		found.add(open, "%s", misfit)
	}
	if directory, unknown := os.Getwd(); unknown == nil {
		found.checkFolder(of, directory)
	}
	for _, command := range commands {
		if !strings.HasSuffix(command, " || "+of.otherwise) {
			found.add(open, "what stands behind || is not what hook install writes now, and if the hook fails %s may go on with the call: run hook install again", of.name)
		}
		found.checkCommand(ctx, terminal, command)
	}
	if c.JSON {
		err = console.PrintJSON(terminal.Stdout, map[string]findings{"findings": found})
	} else {
		for _, one := range found {
			fmt.Fprintf(terminal.Stdout, "%-6s %s\n", one.Verdict, console.Printable(one.Detail, false))
		}
	}
	for _, one := range found {
		if one.Verdict == fails && err == nil {
			err = console.ExitWith(console.ExitError)
		}
	}
	return err
}

// hooksIn returns the commands in a settings file that call the hook.
func hooksIn(path string) (commands []string, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var settings struct {
		Hooks map[string][]struct {
			Bash  string `json:"bash"`
			Hooks []struct {
				Command string `json:"command"`
			} `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, fmt.Errorf("its hooks cannot be read: %w", err)
	}
	for _, event := range slices.Sorted(maps.Keys(settings.Hooks)) {
		for _, entry := range settings.Hooks[event] {
			for _, one := range append(entry.Hooks, struct {
				Command string `json:"command"`
			}{entry.Bash}) {
				if isHook(one.Command) {
					commands = append(commands, one.Command)
				}
			}
		}
	}
	return commands, nil
}

// checkCommand checks one installed command.
func (f *findings) checkCommand(ctx context.Context, terminal *console.Console, command string) {
	argv, err := argvOf(command)
	if err != nil {
		f.add(fails, "the command cannot be read: %s", err)
		return
	}
	f.checkProgram(argv[0])
	if _, given := console.FlagValue(argv, "--context"); given {
		contexts, err := console.LoadContexts(terminal.LookupEnv)
		with := *terminal
		if err == nil {
			with.Context, err = contexts.Choose(argv, terminal.LookupEnv)
		}
		if err != nil {
			f.add(fails, "%s", err)
			return
		}
		terminal = &with
	}
	var keys []string
	connection := console.Connection{Server: cmp.Or(terminal.Context.Server, console.DefaultServerURL)}
	given := map[string]*string{
		"--server": &connection.Server, "--token-file": &connection.TokenFile,
		"--ca": &connection.CA, "--client-cert": &connection.ClientCert, "--client-key": &connection.ClientKey,
	}
	fixed := false
	for i := 1; i < len(argv); i++ {
		flag, value, joined := strings.Cut(argv[i], "=")
		if !joined && i+1 < len(argv) {
			value = argv[i+1]
		}
		if into := given[flag]; into != nil {
			*into = value
			fixed = fixed || flag == "--server"
		}
		switch name, onCall := strings.CutPrefix(value, "oncall:"); {
		case flag == "--signed-by":
			keys = append(keys, value)
		case flag == "--escalation":
			f.add(unchecked, "only the service's configuration says whether it has the escalation %q: if it has not, every call is denied", value)
		case flag == "--notify" && onCall:
			f.add(unchecked, "only the service's configuration says whether it has the on-call source %q: if it has not, every call is denied", name)
		}
	}
	if !fixed {
		if named, set := terminal.LookupEnv("HOLDPOINT_SERVER"); set && named != "" {
			connection.Server = named
		}
		f.add(open, "the hook takes its service from HOLDPOINT_SERVER, which the agent can set: run hook install again")
	}
	if connection.TokenFile == "" {
		connection.TokenFile, _ = terminal.LookupEnv("HOLDPOINT_TOKEN_FILE")
	}
	connection.FromEnvironment(terminal.LookupEnv)
	if connection.Server == terminal.Context.Server {
		connection.Complete(terminal.Context)
	}
	if parsed, err := url.Parse(console.ServerURL(connection.Server)); err == nil && parsed.Scheme == "http" && !loopback.Is(parsed.Hostname()) {
		f.add(open, "%s has no TLS: anyone between the hook and the service can read the token", connection.Server)
	}
	f.checkService(ctx, terminal, &connection, keys)
}

// checkFolder checks the directory in which the agent is started.
func (f *findings) checkFolder(of *codingAgent, directory string) {
	for at := directory; of.startsInItsFolder && at != filepath.Dir(at); at = filepath.Dir(at) {
		if createsIn(filepath.Dir(at)) {
			f.add(open, "this user can remove or rename %s, and once %s is gone %s makes calls without the hook: start the agent where this user can write no directory above", at, directory, of.name)
			return
		}
	}
}

func (f *findings) checkProgram(program string) {
	info, err := os.Stat(program)
	switch {
	case !filepath.IsAbs(program):
		f.add(open, "the agent's PATH says which program %s is: run hook install again", program)
	case err != nil:
		f.add(fails, "%s is not there: run hook install again", program)
	case info.IsDir() || info.Mode()&0o111 == 0:
		f.add(fails, "%s cannot be run", program)
	case writable(program):
		f.add(open, "this user can replace %s: install it as another user", program)
	default:
		f.add(holds, "%s is the program, and this user cannot replace it", program)
	}
}

// checkService asks the service for its keys and what the token may do. The keys are looked up first,
// without the token, so that it is not sent to a stranger.
func (f *findings) checkService(ctx context.Context, terminal *console.Console, connection *console.Connection, keys []string) {
	err := connection.Call(func(opened *client.Client) error {
		if len(keys) == 0 {
			f.add(open, "the hook trusts any service at %s: run hook install again", connection.Server)
			_, err := opened.Keys(ctx)
			return err
		}
		read, err := pinned(ctx, opened, keys)
		if err != nil {
			return err
		}
		f.add(holds, "%s has a key that the hook was installed with; allowing a call takes its signature", connection.Server)
		if read.newer {
			f.add(unchecked, "%s has a newer key: if it signs with that one, the hook denies every call: run hook install again", connection.Server)
		}
		return nil
	})
	if err == nil {
		err = connection.AfterApply(terminal)
	}
	var me *api.Me
	if err == nil {
		err = connection.Call(func(opened *client.Client) error {
			read, err := opened.Me(ctx)
			me = read
			return err
		})
	}
	switch {
	case err != nil:
		f.add(fails, "%s: %s", connection.Server, firstLine(err))
	case me.Via == "open":
		f.add(open, "the service asks for no token, so the agent can allow its own calls: give people tokens and the agent one of role agent")
	case auth.RoleMay(me.Role, auth.Decide):
		f.add(open, "the agent's token has the role %s and can allow its own calls: give the agent one of role agent", me.Role)
	default:
		f.add(holds, "the agent's token has the role %s and cannot decide", me.Role)
		f.checkContexts(ctx, terminal, connection)
	}
}

// checkContexts looks for tokens and certificates that decide in the file of contexts, which every program of this user
// can read.
func (f *findings) checkContexts(ctx context.Context, terminal *console.Console, hook *console.Connection) {
	contexts, err := console.LoadContexts(terminal.LookupEnv)
	if err != nil {
		f.add(unchecked, "the contexts cannot be read, and may have a token that decides: %s", firstLine(err))
		return
	}
	for _, name := range contexts.Names() {
		one := contexts.Contexts[name]
		if one.Token == "" && one.ClientKey == "" || !sameServer(one.Server, hook.Server) {
			continue // a token is only sent to its own server
		}
		one.CA = cmp.Or(one.CA, hook.CA)
		with := *terminal
		with.Context, with.Env = one, nil
		connection := console.Connection{Server: one.Server}
		err := connection.AfterApply(&with)
		if err == nil {
			err = connection.Call(func(opened *client.Client) error {
				me, err := opened.Me(ctx)
				if err == nil && auth.RoleMay(me.Role, auth.Decide) {
					f.add(open, "the context %q has the role %s, so an agent of this user can allow its own calls with it: run the agent as another user", name, me.Role)
				}
				return err
			})
		}
		if err != nil {
			f.add(unchecked, "the context %q: %s", name, firstLine(err))
		}
	}
}

// sameServer reports whether two addresses are the same but for the name of this machine and a slash at the end.
func sameServer(one, other string) bool {
	plain := func(address string) string {
		parsed, err := url.Parse(console.ServerURL(address))
		if err != nil {
			return address
		}
		if loopback.Is(parsed.Hostname()) {
			parsed.Host = "localhost:" + parsed.Port()
		}
		return strings.TrimRight(parsed.String(), "/")
	}
	return plain(one) == plain(other)
}

// argvOf returns the words of the first command of a shell line.
func argvOf(line string) ([]string, error) {
	parsed, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, err
	}
	var argv []string
	syntax.Walk(parsed, func(node syntax.Node) bool {
		call, is := node.(*syntax.CallExpr)
		if is && argv == nil {
			for _, word := range call.Args {
				argv = append(argv, textOf(word))
			}
		}
		return argv == nil
	})
	if len(argv) == 0 {
		return nil, errors.New("it calls nothing")
	}
	return argv, nil
}

// textOf returns a word without its quotes, as [github.com/holdpoint/holdpoint/prompt.QuoteArgument] or people write them.
func textOf(word *syntax.Word) string {
	var text strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			text.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, is := inner.(*syntax.Lit); is {
					text.WriteString(lit.Value)
				}
			}
		}
	}
	return text.String()
}

// writable reports whether this user can write a file, or replace it or a link to it in its
// directory.
func writable(path string) bool {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_ = file.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return mayWrite(path, err) || slices.ContainsFunc(directoriesOf(path), createsIn)
}

// mayWrite reports whether this user may write a file that was opened for writing with this error.
// The system refuses that for a running program, and Linux does so before it looks at a read-only mount.
func mayWrite(path string, err error) bool {
	return err == nil || errors.Is(err, syscall.ETXTBSY) && accessible(path)
}

func createsIn(directory string) bool {
	probe, err := os.CreateTemp(directory, ".holdpoint-*")
	if err != nil {
		return false
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return true
}
