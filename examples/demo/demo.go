// Package demo shows a newcomer two waits: an agent that asks before it runs shell
// commands, and one that interviews a person. The service and both agents run in a separate
// process, which is killed during the first wait. The program embeds it as holdpoint demo.
// The package uses only the Go client.
package demo

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// Files in the demo's directory.
const (
	// Database is the database of the service.
	Database = "holdpoint.db"
	// URLFile has the URL of the service once it is ready.
	URLFile = "url"
	// WorkDirectory is the working directory of the agents.
	WorkDirectory = "work"

	logFile = "log"
)

// Person decides and answers the agents' requests.
type Person interface {
	// Line prompts and reads one line. If ctx ends first, it returns the cause.
	Line(ctx context.Context, prompt string) (string, error)
	// Answers asks the questions of a request and returns the resolution with the answers.
	// If ctx ends first, it returns the cause.
	Answers(ctx context.Context, request *api.UserQuestionRequest, resolution api.UserQuestionResolution) (api.UserQuestionResolution, error)
}

// Demo is one run of the demo. All fields but Person and Open must be set.
type Demo struct {
	// Directory is an absolute path; its WorkDirectory must exist.
	Directory string
	// Program is the path of a program, and Arguments its name and arguments. It must serve
	// Database, write URLFile, run the agents (see Work), and end with its stdin. When it
	// is started again, it gets its previous address as --listen HOST:PORT.
	Program   string
	Arguments []string
	// Person decides at a terminal. Without Person and Open, the demo plays both sides.
	Person Person
	// Open opens the inbox in a browser, where somebody decides in place of Person.
	Open func(url string) error
	// Tell prints a paragraph.
	Tell func(text string)
	// Explain returns the text for an answer that was refused.
	Explain func(err error) string

	process process
	client  *client.Client
	url     string
	// runs are the runs of the demo, in order.
	runs []string
}

// Walk runs all acts. It returns an error if anything differs from what the demo says, and
// leaves no process behind.
func (d *Demo) Walk(ctx context.Context) error {
	defer d.stop()
	for _, act := range []func(context.Context) error{d.begin, d.shellPlan, d.interview, d.lookBack} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *Demo) tell(format string, args ...any) { d.Tell(fmt.Sprintf(format, args...)) }

func (d *Demo) begin(ctx context.Context) error {
	switch {
	case d.Open != nil:
		d.tell("Two agents are going to ask you things. What you do in the inbox decides.")
	case d.Person != nil:
		d.tell("Two agents are going to ask you things. What you type decides.")
	default:
		d.tell("This is a demo that plays both sides: the agents, and the person who decides.")
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	d.tell("The service and the agents run in process %d, at %s. Everything that waits is in %s.",
		d.process.pid(), d.url, filepath.Join(d.Directory, Database))
	if d.Open != nil {
		if err := d.Open(d.url); err != nil {
			d.tell("No browser could be started (%v). Open %s in one.", err, d.url)
		}
	}
	return nil
}

// start starts the process and connects to it.
func (d *Demo) start(ctx context.Context) error {
	url, err := d.process.start(ctx, d)
	if err != nil {
		return err
	}
	if d.client != nil {
		d.client.Close()
	}
	d.url = url
	d.client, err = client.New(url, client.WithActor("you"))
	return err
}

func (d *Demo) stop() {
	if d.client != nil {
		d.client.Close()
	}
	d.process.kill()
}

// lookBack shows the recorded decisions.
func (d *Demo) lookBack(ctx context.Context) error {
	d.tell("\n3. What is on record:")
	for _, runID := range d.runs {
		view, err := d.client.GetRun(ctx, runID)
		if err != nil {
			return err
		}
		d.tell("   run %s of agent %s: %s", view.RunID, view.AgentID, view.Status)
		begun := map[string]int{}
		for entry, err := range d.client.AllRunEvents(ctx, runID, client.EventListParams{}) {
			if err != nil {
				return err
			}
			event, err := readEvent(&entry)
			if err != nil {
				return err
			}
			d.tell("     %2s  %s", entry.ID, event.line())
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
		"   holdpoint exec -- rm -rf build          any command, once someone has allowed it\n" +
		"   go run ./examples/shellplan             this agent, against your service")
	return nil
}
