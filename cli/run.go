package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/holdpoint/holdpoint/cli/agent"
	"github.com/holdpoint/holdpoint/cli/audit"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/cli/contexts"
	"github.com/holdpoint/holdpoint/cli/database"
	"github.com/holdpoint/holdpoint/cli/demo"
	"github.com/holdpoint/holdpoint/cli/gate"
	"github.com/holdpoint/holdpoint/cli/operate"
	"github.com/holdpoint/holdpoint/cli/serve"
	"github.com/holdpoint/holdpoint/cli/tokens"
	"github.com/holdpoint/holdpoint/cli/watch"
)

// program is the whole command line.
type program struct {
	Demo        demo.Command        `cmd:"" help:"Watch a demo: a service, two agents, and a kill -9 in the middle."`
	Serve       serve.Command       `cmd:"" help:"Run the service."`
	Config      configCommand       `cmd:"" help:"Show the configuration of serve."`
	Migrate     database.Migrate    `cmd:"" help:"Show or migrate a database's schema."`
	Backup      database.Backup     `cmd:"" help:"Copy a SQLite database, even while the service is running."`
	Doctor      database.Doctor     `cmd:"" help:"Check the database for inconsistencies (read-only)."`
	Exec        gate.Exec           `cmd:"" help:"Run a command once a person has approved it."`
	Ask         gate.Ask            `cmd:"" help:"Ask a person a question and print the answer."`
	MCP         agent.MCP           `cmd:"" name:"mcp" help:"Serve an agent's tools (Model Context Protocol) on stdin and stdout."`
	Hook        agent.Hook          `cmd:"" help:"Decide tool calls of coding agents through their hooks."`
	Watch       watch.Command       `cmd:"" help:"Watch pending requests live and decide with one key."`
	Why         operate.Why         `cmd:"" help:"Explain what a run or a request is waiting for."`
	Approvals   operate.Approvals   `cmd:"" help:"List and decide pending approvals."`
	Questions   operate.Questions   `cmd:"" help:"List and answer open questions."`
	Rules       operate.Rules       `cmd:"" help:"List, create and revoke standing rules."`
	Runs        operate.Runs        `cmd:"" help:"List, show and cancel runs."`
	Workers     operate.Workers     `cmd:"" help:"List active workers."`
	Sessions    operate.Sessions    `cmd:"" help:"List and show sessions."`
	Mailbox     operate.Mailbox     `cmd:"" help:"Inspect and repair a session's mailbox."`
	Effects     operate.Effects     `cmd:"" help:"Inspect and retry follow-up deliveries to sessions, webhooks and people."`
	Intake      database.Intake     `cmd:"" help:"Inspect runs of other programs' transactions that could not be created."`
	Webhooks    operate.Webhooks    `cmd:"" help:"Manage webhooks, which post events to other systems."`
	Channels    operate.Channels    `cmd:"" help:"List and test notification channels."`
	Contexts    contexts.Contexts   `cmd:"" help:"Manage named services with their tokens."`
	Secrets     database.Secrets    `cmd:"" help:"Manage the encryption keys of sensitive values."`
	Me          operate.Me          `cmd:"" help:"Manage where and when you are notified."`
	WhoAmI      operate.WhoAmI      `cmd:"" name:"whoami" help:"Show your identity and permissions."`
	Tokens      tokens.Tokens       `cmd:"" help:"Manage API tokens."`
	Audit       audit.Audit         `cmd:"" help:"Export and verify the audit log."`
	DemoService demo.ServiceCommand `cmd:"" name:"demo-service" hidden:""`
	Completion  completionCommand   `cmd:"" help:"Print a shell completion script."`
	Man         manCommand          `cmd:"" help:"Print the manual page."`
	Version     versionCommand      `cmd:"" help:"Print the version."`
}

// grammar returns what a command line is read by: the one command that it begins with, or the whole program. Reading the
// tags of every command takes half of the time in which a command starts, and a hook starts at each call of a tool.
func grammar(args []string) any {
	for _, command := range reflect.VisibleFields(reflect.TypeFor[program]()) {
		if len(args) > 0 && args[0] == cmp.Or(command.Tag.Get("name"), strings.ToLower(command.Name)) && !slices.Contains(describesAll, args[0]) {
			return reflect.New(reflect.StructOf([]reflect.StructField{command})).Interface()
		}
	}
	return &program{}
}

// describesAll are the commands that print what they know of the others.
var describesAll = []string{"completion", "man"}

// Run runs one command line, given without the program's name, and returns the exit code;
// see the package comment. lookupEnv is [os.LookupEnv] or a replacement. serve, exec and
// ask catch signals while they run. When ctx ends, a command ends as if it had received
// SIGTERM.
func Run(ctx context.Context, args []string, lookupEnv func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	terminal := console.New(lookupEnv, stdin, stdout, stderr)
	if err := refuseBytes(args); err != nil {
		return fail(terminal, args, console.ExitUsage, err)
	}
	if slices.Equal(args, []string{"--version"}) {
		printVersion(terminal)
		return console.ExitDone
	}
	args = helpFirst(args)
	helped := false
	parser, err := kong.New(grammar(args),
		kong.Name("holdpoint"),
		serve.Vars(),
		kong.Description("Lets agents wait for people: durable approvals and questions.\n\n"+console.ExitCodesHelp),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		// The last resolver that has a value wins, so the environment precedes the file.
		kong.Resolvers(inContext(terminal, lookupEnv), &configFile{lookupEnv: lookupEnv}, environment(lookupEnv)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(terminal),
		kong.Bind(serve.Again(func() (*serve.Command, error) { return serveAgain(args, lookupEnv) })),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		terminal.Say("error: %v", err)
		return console.ExitError
	}
	addExamples(parser.Model.Node, nil)
	own := ownWords(parser.Model.Node, args)
	// The help of a command needs no context.
	var noContext error
	if usesContext(own) || len(own) == 0 && len(args) > 0 { // "--" in front of the command
		noContext = chooseContext(terminal, own, lookupEnv)
	}
	command, err := parser.Parse(args)
	if helped {
		return console.ExitDone
	}
	if noContext != nil {
		code, cause := console.CodeOf(noContext)
		return fail(terminal, own, code, cause)
	}
	if err != nil {
		code := fail(terminal, own, console.ExitUsage, unknownCommand(aboutFile(err)))
		if !asksJSON(own) {
			terminal.Say("see: %s --help", strings.TrimSpace(console.Program()+" "+selected(err)))
		}
		return code
	}
	if err := refuseEmpty(command); err != nil {
		return fail(terminal, own, console.ExitUsage, err)
	}
	code, cause := console.CodeOf(command.Run())
	var unknown console.UnknownFlagError
	switch {
	case cause == nil && code == console.ExitDone:
		return code
	case errors.As(cause, &unknown):
		return fail(terminal, own, console.ExitUsage, withSuggestion(unknown, command.Flags()))
	case cause != nil:
		return fail(terminal, own, code, cause)
	}
	return code
}

// unexpected matches kong's error for a word that is not a command, with its suggestion.
var unexpected = regexp.MustCompile(`^unexpected argument (\S+)(?:, did you mean "(.+)"\?)?$`)

// unknownCommand returns the error for a word in place of a command; other errors unchanged.
func unknownCommand(err error) error {
	var refused *kong.ParseError
	match := unexpected.FindStringSubmatch(err.Error())
	if match == nil || !errors.As(err, &refused) || refused.Context == nil {
		return err
	}
	node := refused.Context.Model.Node
	for _, step := range refused.Context.Path {
		if step.Command != nil {
			node = step.Command
		}
	}
	if node.Leaf() {
		return err
	}
	word, suggestion := match[1], match[2]
	if suggestion != "" && editDistance(word, suggestion)*3 <= len(word) {
		return fmt.Errorf("unknown command %q; did you mean %q?", word, suggestion)
	}
	return fmt.Errorf("unknown command %q", word)
}

// selected returns the command selected by an invalid command line.
func selected(err error) string {
	var refused *kong.ParseError
	if !errors.As(err, &refused) || refused.Context == nil {
		return ""
	}
	var names []string
	for _, step := range refused.Context.Path {
		if step.Command != nil {
			names = append(names, step.Command.Name)
		}
	}
	return strings.Join(names, " ")
}

// environment sets flags that were not given from the variable in their "from" tag. Kong's
// own env tag would read the process's environment instead of the caller's.
func environment(lookupEnv func(string) (string, bool)) kong.Resolver {
	var resolve kong.ResolverFunc = func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if !flag.Tag.Has("from") {
			return nil, nil
		}
		if value, there := lookupEnv(flag.Tag.Get("from")); there && value != "" {
			return value, nil
		}
		return nil, nil
	}
	return resolve
}

// serveAgain reads the command line, environment and configuration file of serve again, and refuses what serve refuses
// at its start.
func serveAgain(args []string, lookupEnv func(string) (string, bool)) (*serve.Command, error) {
	var program program
	terminal := &console.Console{Stdout: io.Discard, Stderr: io.Discard, Env: lookupEnv}
	parser, err := kong.New(&program, serve.Vars(), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}),
		kong.Resolvers(&configFile{lookupEnv: lookupEnv}, environment(lookupEnv)), kong.Bind(terminal))
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(args); err != nil {
		return nil, aboutFile(err)
	}
	return &program.Serve, program.Serve.Check(terminal)
}

// withoutContext are the commands that call no service, or manage contexts. They must work
// even if the current context does not exist.
var withoutContext = []string{
	"contexts", "serve", "config", "migrate", "backup", "doctor", "intake", "secrets", "demo", "demo-service", "completion", "man", "version",
}

// usesContext reports whether a command line may call the service of a context.
func usesContext(args []string) bool {
	if len(args) == 0 || slices.Contains(withoutContext, args[0]) {
		return false
	}
	if _, named := console.FlagValue(args, "--context"); named {
		return true
	}
	if args[0] == "tokens" {
		_, inDatabase := console.FlagValue(args, "--database")
		return !inDatabase
	}
	if args[0] == "audit" && len(args) > 1 && args[1] == "verify" {
		keys, _ := console.FlagValue(args, "--keys")
		return audit.IsURL(keys)
	}
	return true
}

// chooseContext returns the context of the call.
func chooseContext(terminal *console.Console, args []string, lookupEnv func(string) (string, bool)) error {
	contexts, err := console.LoadContexts(lookupEnv)
	if err != nil {
		return err
	}
	terminal.Context, err = contexts.Choose(args, lookupEnv)
	return err
}

// inContext sets the flags of a connection from the context of the call. Flags and environment variables
// take precedence.
func inContext(terminal *console.Console, lookupEnv func(string) (string, bool)) kong.Resolver {
	var resolve kong.ResolverFunc = func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		values := map[string]string{"HOLDPOINT_SERVER": terminal.Context.Server, "HOLDPOINT_ACTOR": terminal.Context.Actor}
		variable := flag.Tag.Get("from")
		if given, _ := lookupEnv(variable); variable == "" || given != "" || values[variable] == "" {
			return nil, nil
		}
		return values[variable], nil
	}
	return resolve
}

type versionCommand struct {
	console.Format
}

// Run prints one line.
func (c *versionCommand) Run(terminal *console.Console) error {
	if c.JSON {
		return console.PrintJSON(terminal.Stdout, map[string]string{
			"version": console.Version(), "go_version": runtime.Version(), "os": runtime.GOOS, "architecture": runtime.GOARCH,
		})
	}
	printVersion(terminal)
	return nil
}

func printVersion(terminal *console.Console) {
	fmt.Fprintf(terminal.Stdout, "holdpoint %s (%s %s/%s)\n", console.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
