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

// greet prints the service's address, the location of its data, and a command to try. It is open
// if no call needs a token now.
func (s *service) greet(terminal *console.Console, url string, open bool) {
	program, flag := console.Program(), ""
	if url != console.DefaultServerURL {
		flag = " --server " + prompt.QuoteArgument(url)
	}
	inbox, decide, callers, curled := "Inbox: open "+url+" in a browser\n", "decide in the inbox, or in a third", "every program on this machine", prompt.QuoteArgument(url+"/v1/approvals")
	if path, isSocket := strings.CutPrefix(url, unixScheme); isSocket {
		// Only its owner may use the socket, and no browser can.
		inbox, decide, callers = "", "decide in a third", "every program of this user"
		curled = "--unix-socket " + prompt.QuoteArgument(path) + " http://localhost/v1/approvals"
	}
	openness := "Calls need a token: " + program + " tokens create --help"
	switch {
	case open && !isLoopback(s.listener):
		openness = "WARNING: no authentication, and other machines may reach this service. Anyone who can reach it can decide."
	case s.Auth == authNone:
		openness = "--auth=none: no call needs a token, so " + callers + " can decide."
	case open:
		openness = "No tokens exist yet, so " + callers + " can decide. Create one:\n\n  " +
			program + " tokens create" + flag + " --name admin --role admin"
	}
	fmt.Fprintf(terminal.Stdout, `%[1]sholdpoint %[2]s listens on %[3]s
Its data: %[4]s
%[5]s

Try it, in another terminal:

  %[6]s exec%[7]s --reason "to see it wait" -- echo it ran

and %[8]s:

  %[6]s approvals list%[7]s
  %[6]s approvals allow%[7]s HANDLE

or list pending approvals over HTTP:

  curl %[9]s

Process %[10]d; stop it with Ctrl-C, test a crash with: kill -9 %[10]d
`, inbox, console.Version(), url, s.Describe(), openness, program, flag, decide, curled, os.Getpid())
}
