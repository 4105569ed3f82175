// Package console holds what all commands share: standard streams, exit codes, signals, the
// connection to a service, prompts, and printing. It uses package client and imports no
// command.
package console

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// Console is the process as a command sees it.
type Console struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Now    func() time.Time
	// Context is the selected context; empty for none.
	Context Context
	// Columns is the maximum width of a line; 0 for any width.
	Columns int
	// Rows is the height of the screen; 0 if stdout is not a terminal.
	Rows int
	// Color reports whether stdout accepts escape sequences.
	Color bool
	// Editor is the shell command that edits a file.
	Editor string
	// Env reads the caller's environment; see LookupEnv.
	Env func(string) (string, bool)
}

// LookupEnv returns an environment variable, like [os.LookupEnv].
func (c *Console) LookupEnv(name string) (string, bool) {
	if c.Env == nil {
		return "", false
	}
	return c.Env(name)
}

// Say writes a message, not output, to stderr.
func (c *Console) Say(format string, args ...any) {
	fmt.Fprintf(c.Stderr, "holdpoint: "+format+"\n", args...)
}

// Confirmed asks a question on stdout and reports whether the answer is yes.
func (c *Console) Confirmed(format string, args ...any) bool {
	fmt.Fprintf(c.Stdout, format+" Type yes: ", args...)
	answer, _ := bufio.NewReader(io.LimitReader(c.Stdin, 64)).ReadString('\n') // end of input counts as no
	return strings.TrimSpace(answer) == "yes"
}
