package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// program is the whole command line.
type program struct {
	Demo        demoCommand        `cmd:"" help:"See it work: a service, two agents, and a kill -9 in the middle."`
	Serve       serveCommand       `cmd:"" help:"Run the service."`
	Migrate     migrateCommands    `cmd:"" help:"Look at a database's schema, or move it."`
	Doctor      doctorCommand      `cmd:"" help:"Look for rows that break what must always hold; changes nothing."`
	Exec        execCommand        `cmd:"" help:"Run a command once a person has approved it."`
	Ask         askCommand         `cmd:"" help:"Ask a person a question and print the answer."`
	Approvals   approvalCommands   `cmd:"" help:"See and decide what waits for approval."`
	Questions   questionCommands   `cmd:"" help:"See and answer open questions."`
	Rules       ruleCommands       `cmd:"" help:"See, write and revoke standing rules."`
	Runs        runCommands        `cmd:"" help:"See and cancel runs."`
	Sessions    sessionCommands    `cmd:"" help:"See sessions."`
	Mailbox     mailboxCommands    `cmd:"" help:"See and repair what a session was sent."`
	Effects     effectCommands     `cmd:"" help:"See and repair what decisions owe to other sessions."`
	DemoService demoServiceCommand `cmd:"" hidden:""`
	Version     versionCommand     `cmd:"" help:"Print the version of this program."`
}

// console is what a command sees of the process it runs in.
type console struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	lookupEnv func(string) (string, bool)
	now       func() time.Time
}

// say tells the person at the terminal something that is not the command's output.
func (c *console) say(format string, args ...any) {
	fmt.Fprintf(c.stderr, "holdpoint: "+format+"\n", args...)
}

// Run carries out one command line, without the program's name, and returns the
// process's exit code; the package comment lists them. lookupEnv is that of package
// os. serve, exec and ask catch signals while they run. When ctx ends, a command
// ends as if it had been sent SIGTERM.
func Run(ctx context.Context, args []string, lookupEnv func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	console := &console{stdin: stdin, stdout: stdout, stderr: stderr, lookupEnv: lookupEnv, now: time.Now}
	var program program
	helped := false
	parser, err := kong.New(&program,
		kong.Name("holdpoint"),
		kong.Description("A service that lets a run wait for a person, and hands the decision back.\n\n"+exitCodesHelp),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Resolvers(environment(lookupEnv)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(console),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		console.say("error: %v", err)
		return exitError
	}
	command, err := parser.Parse(args)
	if helped {
		return exitDone
	}
	if err != nil {
		console.say("error: %v", err)
		console.say("try: %s --help", strings.TrimSpace("holdpoint "+selected(err)))
		return exitUsage
	}
	code, cause := codeOf(command.Run())
	if cause != nil {
		console.say("error: %s", explain(cause, console.now()))
	}
	return code
}

// selected returns the command that a refused command line got as far as.
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

// environment fills flags that were not given from the variable in their "from"
// tag. Kong's own env tag would read the process's environment, not the caller's.
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
