package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// execCommand asks for approval of one exact command and runs it when it is given.
type execCommand struct {
	connection
	Session string        `placeholder:"ID" help:"The session that it belongs to, one run at a time (default: one of its own)."`
	Reason  string        `placeholder:"TEXT" help:"Why it should run, for the person who decides."`
	Timeout time.Duration `placeholder:"DURATION" help:"How long there is to decide; without it, as long as it takes."`
	Key     string        `placeholder:"KEY" help:"Names this request on the service. Calling again with the same key takes up the same request, and never runs the command a second time."`
	Rerun   bool          `help:"With --key: run the command although an earlier call started it and how that ended is not known."`
	Lease   time.Duration `default:"10s" placeholder:"DURATION" help:"How long after this process was last heard of another call with the same key may take over (default ${default})."`
	Command []string      `arg:"" passthrough:"" name:"command" help:"The command and its arguments, after --."`
}

// Help is shown under the flags.
func (c *execCommand) Help() string {
	return `The person who decides sees the command line, its arguments and the directory, and may change them; what was approved is what runs, with stdin, stdout and stderr passed through and signals forwarded.

` + exitCodesHelp
}

// callInput is a command as it is shown to the person who decides, and as they may
// send it back.
type callInput struct {
	Command string   `json:"command"`
	Argv    []string `json:"argv"`
	Cwd     string   `json:"cwd"`
}

// callInputSchema is what an edited input must fit. Argv wins over command; a
// command alone is a line for /bin/sh.
const callInputSchema = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "minLength": 1, "description": "the command line; when only this is edited, /bin/sh runs it"},
		"argv": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "the program and its arguments; wins over command when edited"},
		"cwd": {"type": "string", "minLength": 1, "description": "the directory to run it in"}
	},
	"anyOf": [{"required": ["argv"]}, {"required": ["command"]}],
	"additionalProperties": false
}`

// Run waits for the decision and carries it out.
func (c *execCommand) Run(ctx context.Context, console *console) error {
	input, err := c.input()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	opened, err := c.open()
	if err != nil {
		return err
	}
	defer opened.Close()

	ids := newGateIDs("exec", "approval", c.Session, c.Key)
	shown, err := json.Marshal(input)
	if err != nil {
		return fmt.Errorf("encode the command: %w", err)
	}
	request := api.ApprovalRequest{
		ID: ids.request, ToolCallID: ids.request, ToolName: "exec", Input: shown,
		Scope: "command", Reason: c.Reason, InputSchema: api.JSON(callInputSchema),
		ExpiresAfterMs: deadline(c.Timeout),
	}
	e := &execution{
		gate: gate{
			connection: c.connection, Client: opened, console: console, noun: "exec", key: c.Key, lease: c.Lease,
			params: client.CreateRunParams{
				SessionID: ids.session, RunID: ids.run, Input: input,
				Suspend: &api.Suspension{SuspensionID: ids.request, Approvals: []api.ApprovalRequest{request}},
			},
		},
		rerun: c.Rerun,
	}
	return e.run(ctx, sameExec{input, c.Session})
}

// sameExec is what two calls with one key must agree on.
type sameExec struct {
	Input   callInput `json:"input"`
	Session string    `json:"session"`
}

func (c *execCommand) check() error {
	switch {
	case c.Timeout < 0 || c.Timeout > 0 && c.Timeout < time.Millisecond:
		return usage("--timeout must be at least 1ms")
	case c.Lease < time.Second || c.Lease > time.Hour:
		return usage("--lease must be between 1s and 1h")
	case c.Rerun && c.Key == "":
		return usage("--rerun needs --key")
	}
	return nil
}

// input returns the command as it will be shown. What could not be shown exactly is
// refused: a person must not approve anything but what would run.
func (c *execCommand) input() (callInput, error) {
	argv := c.Command
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 || argv[0] == "" {
		return callInput{}, usage("say which command, after --")
	}
	for i, argument := range argv {
		if !utf8.ValidString(argument) {
			return callInput{}, usage("argument %d is not valid UTF-8, so it could not be shown to the person who decides", i)
		}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return callInput{}, fmt.Errorf("find the working directory: %w", err)
	}
	return callInput{Command: quoteLine(argv), Argv: argv, Cwd: cwd}, nil
}

func deadline(timeout time.Duration) *int64 {
	if timeout == 0 {
		return nil
	}
	afterMs := timeout.Milliseconds()
	return &afterMs
}

// execution is one call of exec.
type execution struct {
	gate
	rerun bool
	relay *relay
	// code is set once this call is done with the run.
	code int
}

func (e *execution) run(ctx context.Context, same sameExec) error {
	e.relay = newRelay(forwardedSignals...)
	defer e.relay.stop()
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.relay.direct(func(received os.Signal) {
		stopCatching(e.relay)
		cancel(signalled{received})
	})

	view, err := e.open(waiting, same)
	if err == nil {
		view, err = e.drive(waiting, view, e.act)
	}
	var ended signalled
	switch {
	case errors.As(err, &ended):
		return e.withdraw(ctx, ended)
	case err != nil:
		return err
	case view != nil:
		return e.found(ctx, view)
	default:
		return exitWith(e.code)
	}
}

// act carries out what was decided.
func (e *execution) act(ctx context.Context, claim *api.Claim) (done bool, err error) {
	if len(claim.Resume.Approvals) == 0 {
		return true, fmt.Errorf("run %s carries no approval", claim.Run.RunID)
	}
	settled := claim.Resume.Approvals[len(claim.Resume.Approvals)-1]
	if settled.Resolution.Outcome == api.OutcomeAllowed {
		return e.start(ctx, claim, settled)
	}
	report := reportOf(settled.Resolution)
	e.code = e.tell(report)
	return true, e.keep(ctx, &keeper{gate: &e.gate, fence: claim.Lease.Fence}, report)
}

// keep records how the run ended, under a lease that may have to be taken again.
// The decision stands whether or not that succeeds, so a failure is only told.
func (e *execution) keep(ctx context.Context, keeper *keeper, report execReport) error {
	output, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	if e.key == "" {
		// Nobody can come back for it.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
	}
	var pause backoff
	for !keeper.takenOver {
		err = e.record(ctx, keeper.fence, output)
		if !errors.Is(err, client.ErrLeaseLost) {
			break
		}
		keeper.reclaim(ctx)
		if err = pause.sleep(ctx); err != nil {
			break
		}
	}
	switch {
	case keeper.takenOver:
		e.console.say("run %s was ended or taken over by somebody else; how this command ended is not on record", e.params.RunID)
	case err != nil:
		e.console.say("how run %s ended is not on record: %v", e.params.RunID, err)
	}
	return nil
}

// found is how a call ends that finds the run over.
func (e *execution) found(ctx context.Context, view *api.RunView) error {
	var report execReport
	switch {
	case view.Status == api.StatusCompleted && json.Unmarshal(view.Output, &report) == nil && report.Outcome != "":
		if report.Outcome == outcomeExited || report.Outcome == outcomeNotStarted {
			e.console.say("this command ran to its end before, as run %s; it is not run again", view.RunID)
		}
		return exitWith(e.tell(report))
	case view.Status == api.StatusCancelled || view.Status == api.StatusInterrupted:
		settled, err := e.outcomeOf(ctx)
		if err != nil {
			return err
		}
		e.console.say("%s%s; the command was not run by this call", view.Status, by(settled.ResolvedBy, view.Error))
		return exitWith(exitDenied)
	case view.Status == api.StatusFailed:
		return fmt.Errorf("run %s failed: %s", view.RunID, printable(view.Error, true))
	default:
		return fmt.Errorf("run %s was completed by somebody else; the command was not run by this call", view.RunID)
	}
}

// by says who and why, as far as it is known.
func by(who, why string) string {
	var text strings.Builder
	if who != "" {
		text.WriteString(" by " + who)
	}
	if why != "" {
		text.WriteString(": " + why)
	}
	return printable(text.String(), false)
}
