// Package console is what all commands share: the streams of the process, its exit
// codes and signals, the connection to a service, what is asked at the terminal, and
// how records are printed. It knows package client and no command.
package console

import (
	"fmt"
	"io"
	"time"
)

// Console is what a command sees of the process it runs in.
type Console struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Now    func() time.Time
	// Context is the one that the call is made in; empty for none.
	Context Context
	// Columns is how wide a line may be; 0 for any width.
	Columns int
	// Color says whether stdout takes escape sequences.
	Color bool
	// Editor is the shell command that edits a file.
	Editor string
	// Env reads the environment that the caller gave; see LookupEnv.
	Env func(string) (string, bool)
}

// LookupEnv returns a variable of the environment, as [os.LookupEnv] does.
func (c *Console) LookupEnv(name string) (string, bool) {
	if c.Env == nil {
		return "", false
	}
	return c.Env(name)
}

// Say writes to stderr what is not the command's output.
func (c *Console) Say(format string, args ...any) {
	fmt.Fprintf(c.Stderr, "holdpoint: "+format+"\n", args...)
}
