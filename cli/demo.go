package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"github.com/holdpoint/holdpoint/client"
)

// demoCommand walks a newcomer through a whole wait: a service and two agents in a
// process of their own, which is killed in the middle.
type demoCommand struct {
	Directory string `placeholder:"PATH" help:"Where the demo keeps its database and lets its agents work; a new temporary directory when left out, which is removed at the end."`
	Play      bool   `help:"Play both sides, also at a terminal."`
}

// demo is one walk.
type demo struct {
	console   *console
	directory string
	process   *demoProcess
	// person answers at the terminal; nil when the demo plays both sides.
	person *prompter
	client *client.Client
	url    string
	// runs are those that the demo made, in order.
	runs []string
}

// Run walks through the demo. It fails when anything is not as it says.
func (c *demoCommand) Run(ctx context.Context, console *console) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	directory, remove, err := c.directory()
	if err != nil {
		return err
	}
	defer remove()
	d := &demo{console: console, directory: directory, process: &demoProcess{directory: directory}}
	if !c.Play && isTerminal(console.stdin) {
		d.person = &prompter{lines: bufio.NewScanner(&endingReader{ctx: ctx, from: console.stdin}), to: console.stderr}
	}
	return d.walk(ctx)
}

// directory makes the demo's directory. remove removes it, unless somebody chose it.
func (c *demoCommand) directory() (directory string, remove func(), err error) {
	remove = func() {}
	if c.Directory != "" {
		directory, err = filepath.Abs(c.Directory)
	} else if directory, err = os.MkdirTemp("", "holdpoint-demo-*"); err == nil {
		remove = func() { _ = os.RemoveAll(directory) } // nobody needs it
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(directory, demoWork), 0o700)
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("make a directory: %w", err)
	}
	return directory, remove, nil
}

// isTerminal reports whether a person may be at the other end.
func isTerminal(input any) bool {
	file, ok := input.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// walk goes through the acts, and leaves no process behind. Where a signal ended it,
// that is what it says.
func (d *demo) walk(ctx context.Context) error {
	defer d.stop()
	for _, act := range []func(context.Context) error{d.begin, d.shellPlan, d.interview, d.lookBack} {
		if err := act(ctx); err != nil {
			var ended signalled
			if errors.As(context.Cause(ctx), &ended) {
				return failed(signalCode(ended.signal), "stopped; nothing is left of the demo")
			}
			return err
		}
	}
	return nil
}

// tell prints a paragraph of the demo.
func (d *demo) tell(format string, args ...any) {
	fmt.Fprintln(d.console.stdout, printable(fmt.Sprintf(format, args...), true))
}

func (d *demo) begin(ctx context.Context) error {
	if d.person == nil {
		d.tell("This is a demo that plays both sides: the agents, and the person who decides.")
	} else {
		d.tell("Two agents are going to ask you things. What you type decides.")
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	d.tell("The service and the agents run in process %d, at %s. Everything that waits is in %s.",
		d.process.pid(), d.url, filepath.Join(d.directory, demoDatabase))
	return nil
}

// start starts the process and connects to it.
func (d *demo) start(ctx context.Context) error {
	url, err := d.process.start(ctx)
	if err != nil {
		return err
	}
	if d.client != nil {
		d.client.Close()
	}
	d.url = url
	d.client, err = client.New(url, client.WithActor("you"), client.WithUserAgent("holdpoint/"+version()))
	return err
}

func (d *demo) stop() {
	if d.client != nil {
		d.client.Close()
	}
	d.process.kill()
}

// lookBack shows what is on record.
func (d *demo) lookBack(ctx context.Context) error {
	d.tell("\n3. What is on record:")
	for _, runID := range d.runs {
		view, err := d.client.GetRun(ctx, runID)
		if err != nil {
			return err
		}
		d.tell("   run %s of agent %s: %s", view.RunID, view.AgentID, view.Status)
		events, err := collect(d.client.AllRunEvents(ctx, runID, client.EventListParams{}), 0)
		if err != nil {
			return err
		}
		begun := map[string]int{}
		for i := range events {
			event, err := readDemoEvent(&events[i])
			if err != nil {
				return err
			}
			d.tell("     %2s  %s", events[i].ID, event.line())
			if event.Type == "tool_call" {
				begun[event.ID]++
			}
			if begun[event.ID] > 1 {
				return fmt.Errorf("%s ran %d times", event.ID, begun[event.ID])
			}
		}
	}
	d.tell("\nNothing was lost, and nothing ran twice. To go on:\n" +
		"   holdpoint serve                         the service, for good\n" +
		"   holdpoint exec -- rm -rf build          any command, once somebody has allowed it\n" +
		"   go run ./examples/shellplan             this agent, against your service")
	return nil
}
