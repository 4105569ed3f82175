// Package demo runs examples/demo as a command. It creates the directory, starts this
// program again as the process to be killed, and lets a person at the terminal decide. It must not know the
// steps of the demo: examples/demo has them.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cli/browser"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/examples/demo"
)

// Command shows a newcomer a complete wait: a service and two agents run in a separate
// process, which is killed in the middle.
type Command struct {
	Directory string `placeholder:"PATH" help:"Directory for the demo's database and files (default: a temporary one, removed at the end)."`
	Play      bool   `xor:"who" help:"Play both sides, even at a terminal."`
	Open      bool   `xor:"who" help:"Open the inbox in a browser, and decide there."`
}

// Run runs the demo. It returns an error if anything differs from what it says.
func (c *Command) Run(ctx context.Context, terminal *console.Console) error {
	ctx, stop := console.UntilSignal(ctx)
	defer stop()
	directory, remove, err := c.directory()
	if err != nil {
		return err
	}
	defer remove()
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	walk := demo.Demo{
		Directory: directory,
		Program:   program,
		Arguments: []string{"holdpoint", "demo-service", "--directory", directory},
		Tell:      func(text string) { fmt.Fprintln(terminal.Stdout, console.Printable(text, true)) },
		Explain:   func(err error) string { return console.Explain(err, terminal.Now()) },
	}
	switch {
	case c.Open:
		walk.Open = openBrowser
	case !c.Play && console.IsTerminal(terminal.Stdin):
		prompter := console.NewPrompter(terminal)
		defer prompter.Close()
		walk.Person = person{prompter}
	}
	err = walk.Walk(ctx)
	if ended, ok := errors.AsType[console.SignalError](context.Cause(ctx)); ok && err != nil {
		return console.Failed(console.SignalCode(ended.Signal), "stopped; nothing is left of the demo")
	}
	return err
}

// directory returns the demo's directory, and creates it. remove deletes it, unless the
// user chose it.
func (c *Command) directory() (directory string, remove func(), err error) {
	remove = func() {}
	if c.Directory != "" {
		directory, err = filepath.Abs(c.Directory)
	} else if directory, err = os.MkdirTemp("", "holdpoint-demo-*"); err == nil {
		remove = func() { _ = os.RemoveAll(directory) } // not needed afterwards
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(directory, demo.WorkDirectory), 0o700)
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("make a directory: %w", err)
	}
	return directory, remove, nil
}

// person is the person at the terminal.
type person struct{ prompter *console.Prompter }

func (p person) Line(ctx context.Context, prompt string) (string, error) {
	return p.prompter.Within(ctx).Line(prompt)
}

func (p person) Answers(ctx context.Context, request *api.UserQuestionRequest, resolution api.UserQuestionResolution) (api.UserQuestionResolution, error) {
	return p.prompter.Within(ctx).Answers(request, resolution)
}

// openBrowser opens a page. Without a browser, the person can use the address printed in
// the terminal.
func openBrowser(url string) error {
	// The browser's output does not belong in the demo.
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(url)
}
