package serve

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/prompt"
)

// announce logs what greet prints, for a program that reads every line as JSON.
func announce(logger *slog.Logger, url, data string, open, reachable bool) {
	about := []any{slog.String("version", console.Version()), slog.String("url", url), slog.String("database", data), slog.Bool("token_required", !open)}
	if open && reachable {
		logger.Warn("listening without authentication: anyone who can reach this service can decide", about...)
		return
	}
	logger.Info("listening", about...)
}

// greet prints the service's address, the location of its data, and a command to try.
func greet(terminal *console.Console, url, data string, open, reachable bool) {
	program, flag := console.Program(), ""
	if url != console.DefaultServerURL {
		flag = " --server " + url
	}
	curled := url
	if path, isSocket := strings.CutPrefix(url, unixScheme); isSocket {
		curled = "--unix-socket " + prompt.QuoteArgument(path) + " http://localhost"
	}
	openness := "Calls need a token: " + program + " tokens create --help"
	switch {
	case open && !reachable:
		openness = "No tokens exist yet, so every program on this machine can decide. Create one:\n\n  " +
			program + " tokens create" + flag + " --name admin --role admin"
	case open:
		openness = "WARNING: no authentication, and other machines may reach this service. Anyone who can reach it can decide."
	}
	fmt.Fprintf(terminal.Stdout, `Inbox: open %[2]s in a browser
holdpoint %[1]s listens on %[2]s
Its data: %[3]s
%[4]s

Try it, in another terminal:

  %[5]s exec%[6]s --reason "to see it wait" -- echo it ran

and decide in the inbox, or in a third:

  %[5]s approvals list%[6]s
  %[5]s approvals allow%[6]s HANDLE

or list pending approvals over HTTP:

  curl %[7]s/v1/approvals

Process %[8]d; stop it with Ctrl-C, test a crash with: kill -9 %[8]d
`, console.Version(), url, data, openness, program, flag, curled, os.Getpid())
}
