// Package watch is the command holdpoint watch: it shows pending requests live on a full
// screen, and decides them with single keys. Without a terminal it prints a line of JSON
// per event. The package uses package client and no store.
package watch

import (
	"context"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
)

// Command is the command holdpoint watch.
type Command struct {
	console.Reporting
}

// Help returns the text below the flags in --help.
func (c *Command) Help() string {
	return `Keys: up and down (or k and j) to select, a to allow, d to deny, e to edit and allow, r to allow and write a rule, x to mark several, enter to show the whole input, space and the page keys to scroll, / to search, q to quit; ? lists all. A number and enter answer a question with an option, and a asks for any other answer. A request can be allowed once all of it was on the screen, and its end for half a second. After your decision the next request is selected. If someone else decides the selected request, nothing is selected until you choose again.

Without a terminal, or with --json, prints one line of JSON per event; the first is a snapshot.`
}

// Run watches until the person quits, or the reader of the output ends.
func (c *Command) Run(ctx context.Context, terminal *console.Console) error {
	return c.Call(func(opened *client.Client) error {
		if c.JSON || !console.IsTerminal(terminal.Stdin) || !console.IsTerminal(terminal.Stdout) {
			ctx, stop := console.UntilSignal(ctx)
			defer stop()
			return printEvents(ctx, terminal, opened)
		}
		return c.show(ctx, terminal, opened)
	})
}

// show runs the screen and, concurrently, the stream.
func (c *Command) show(ctx context.Context, terminal *console.Console, opened *client.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	shown := &screen{ctx: ctx, client: opened, server: c.Server, now: terminal.Now, editInput: editInput(terminal), askAnswer: askAnswer(terminal), width: 80, height: 24}
	program := tea.NewProgram(shown, tea.WithContext(ctx), tea.WithInput(terminal.Stdin), tea.WithOutput(terminal.Stdout), tea.WithEnvironment(os.Environ()))
	streamed := make(chan struct{})
	go func() {
		defer close(streamed)
		for event, err := range opened.StreamInbox(ctx) {
			if err != nil {
				program.Send(streamEnded{err})
				return
			}
			program.Send(event)
		}
	}()
	_, err := program.Run()
	cancel()
	<-streamed
	if err != nil {
		return fmt.Errorf("the screen: %w", err)
	}
	return shown.ended
}

// streamEnded reports that the stream has ended.
type streamEnded struct{ err error }

// printEvents prints each item of the stream on a line.
func printEvents(ctx context.Context, terminal *console.Console, opened *client.Client) error {
	for event, err := range opened.StreamInbox(ctx) {
		var line any
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case event.Inbox != nil:
			line = struct {
				Type string `json:"type"`
				api.InboxView
			}{"snapshot", *event.Inbox}
		case event.Event != nil:
			line = event.Event
		default:
			line = map[string]string{"type": "stream_gap", "reason": event.Gap}
		}
		if err := console.PrintJSONLine(terminal.Stdout, line); err != nil {
			return err
		}
	}
	return nil
}
