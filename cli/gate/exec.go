package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/cli/console"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/prompt"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Exec asks for approval of one exact command and runs it if approved.
type Exec struct {
	console.Connection
	console.Recipients
	console.Named
	Session          string         `name:"session-id" aliases:"session" placeholder:"ID" help:"Session of the run, one active run at a time (default: a new one)."`
	Reason           string         `placeholder:"TEXT" help:"Reason to show to the person who decides."`
	Hint             []string       `sep:"none" placeholder:"LEVEL:TEXT" help:"Remark to show to the person who decides, at level info, warn or danger. Repeatable."`
	Timeout          *time.Duration `placeholder:"DURATION" help:"Time limit for a decision (default: none)."`
	Key              *string        `placeholder:"KEY" help:"Idempotency key. Repeating the command with the same key continues the same request and never runs the command twice."`
	Rerun            bool           `help:"With --key: run the command even if it was already started and the outcome is unknown."`
	Lease            time.Duration  `default:"10s" placeholder:"DURATION" help:"How long after the last heartbeat of this process another call with the same key may take over (default ${default})."`
	Env              []string       `name:"env" sep:"none" placeholder:"NAME[=VALUE]" help:"Environment variable for the command, shown to the person who decides and editable; without =VALUE its current value. Repeatable."`
	ExcludeRequester bool           `name:"exclude-requester" help:"Someone else must allow it: not the principal of this token, nor anyone who works in its session. The service must require tokens."`
	Command          []string       `arg:"" passthrough:"" name:"command" help:"Command and arguments, after --."`
}

// Help returns the text below the flags in --help.
func (c *Exec) Help() string {
	return `The person who decides sees the command line, its arguments, the directory and the variables of --env, and may edit them. Exactly the approved command runs, at most once, with stdin, stdout, stderr and signals passed through; see docs/security.md.

` + console.ExitCodesHelp
}

// callInput is a command as shown to the person who decides, and as they may edit it.
type callInput struct {
	Command string   `json:"command"`
	Argv    []string `json:"argv"`
	Cwd     string   `json:"cwd"`
	// Env has the variables named by --env.
	Env map[string]string `json:"env,omitempty"`
	// Resolved is what the command resolves to on this machine. It cannot be edited.
	Resolved *resolved `json:"resolved,omitempty"`
	// Variables are set in this environment, are not named by --env, and change which
	// program or library runs.
	Variables map[string]string `json:"variables,omitempty"`
}

// callInputSchema is the schema of an edited input. Argv wins over command; a command alone
// is run by /bin/sh.
const callInputSchema = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "minLength": 1, "description": "the command line; when only this is edited, /bin/sh runs it"},
		"argv": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "the program and its arguments; wins over command when edited"},
		"cwd": {"type": "string", "minLength": 1, "description": "the directory to run it in"},
		"env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "variables that it gets besides the environment of the caller; it does not get one that is removed here, even if the caller has it"},
		"resolved": {"type": "object", "description": "the files that the command runs, as they were when it was asked about; not to be changed"},
		"variables": {"type": "object", "description": "variables of the caller that change which program runs; not to be changed"}
	},
	"anyOf": [{"required": ["argv"]}, {"required": ["command"]}],
	"additionalProperties": false
}`

// Run waits for the decision and carries it out.
func (c *Exec) Run(ctx context.Context, terminal *console.Console) error {
	input, err := c.input()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	hints, err := c.hints()
	if err != nil {
		return err
	}
	escalation, err := c.Chosen()
	if err != nil {
		return err
	}
	shown, err := json.Marshal(input)
	if err != nil {
		return fmt.Errorf("encode the command: %w", err)
	}
	request := api.ApprovalRequest{
		ToolName: "exec", Input: shown,
		Scope: "command", Reason: c.Reason, Hints: hints, InputSchema: api.JSON(callInputSchema), ExcludeRequester: c.ExcludeRequester,
		Escalation: escalation,
	}
	return c.Call(func(opened *client.Client) error {
		e := &execution{rerun: c.Rerun, asked: request, gate: newGate(opened, terminal, settings{
			connection: c.Connection, noun: "exec", key: c.Key, session: c.Session, about: c.About(""), lease: c.Lease, timeout: console.Limit(c.Timeout), input: input,
		})}
		e.named = func(suffix string) { e.asked.ID, e.asked.ToolCallID = "approval-"+suffix, "approval-"+suffix }
		e.suspension = func(afterMs *int64) *api.Suspension {
			request := e.asked
			request.ExpiresAfterMs = afterMs
			return &api.Suspension{SuspensionID: request.ID, Approvals: []api.ApprovalRequest{request}, Hold: true}
		}
		return e.run(ctx, sameExec{input, c.Session, c.ExcludeRequester})
	})
}

// sameExec is the part of a call that must be the same for calls with one key.
type sameExec struct {
	Input            callInput `json:"input"`
	Session          string    `json:"session"`
	ExcludeRequester bool      `json:"exclude_requester,omitzero"`
}

func (c *Exec) check() error {
	if err := cmp.Or(checkKey(c.Key), console.CheckTimeout(c.Timeout), c.CheckLabel()); err != nil {
		return err
	}
	switch {
	case c.Lease < time.Second || c.Lease > time.Hour:
		return console.Usage("--lease must be between 1s and 1h")
	case c.Rerun && c.Key == nil:
		return console.Usage("--rerun needs --key")
	}
	return nil
}

// input returns the command to show. It refuses a command that cannot be shown exactly,
// because a person must approve what actually runs.
func (c *Exec) input() (callInput, error) {
	argv := c.Command
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 || argv[0] == "" {
		return callInput{}, console.Usage("give a command, after --")
	}
	if len(c.Command) == len(argv) && strings.HasPrefix(argv[0], "-") {
		return callInput{}, console.UnknownFlagError{Flag: argv[0]}
	}
	cwd, err := os.Getwd()
	if err == nil {
		cwd, err = filepath.EvalSymlinks(cwd)
	}
	if err != nil {
		return callInput{}, fmt.Errorf("find the working directory: %w", err)
	}
	env, err := c.env()
	if err != nil {
		return callInput{}, err
	}
	means, err := resolve(argv, cwd)
	if err != nil {
		return callInput{}, console.Failed(startCode(err), "nothing was asked: the command cannot be started: %w", err)
	}
	return callInput{
		Command: prompt.QuoteLine(argv), Argv: argv, Cwd: cwd, Env: env, Resolved: &means, Variables: loadingVariables(env),
	}, nil
}

// env returns the variables that --env names.
func (c *Exec) env() (map[string]string, error) {
	if len(c.Env) == 0 {
		return nil, nil
	}
	env := make(map[string]string, len(c.Env))
	for _, given := range c.Env {
		name, value, has := strings.Cut(given, "=")
		if !has {
			if value, has = os.LookupEnv(name); !has {
				return nil, console.Usage("--env %s: not set here; give it a value", name)
			}
		}
		switch _, twice := env[name]; {
		case name == "" || !utf8.ValidString(name) || !utf8.ValidString(value):
			return nil, console.Usage("--env %q could not be shown to the person who decides", given)
		case twice:
			return nil, console.Usage("--env %s is given twice", name)
		case name == console.TokenVariable:
			return nil, console.Usage("--env %s: the command must not get the token", name)
		}
		env[name] = value
	}
	return env, nil
}

// execution is one call of exec.
type execution struct {
	gate
	rerun bool
	// asked is the request of this call. Only a decision about it has an effect.
	asked api.ApprovalRequest
	relay *relay
	// code is set once this call has finished with the run.
	code int
}

func (e *execution) run(ctx context.Context, same sameExec) error {
	e.relay = newRelay(forwardedSignals...)
	defer e.relay.stop()
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e.relay.direct(func(received os.Signal) {
		e.relay.release()
		cancel(console.SignalError{Signal: received})
	})
	view, err := e.wait(ctx, waiting, same, e.act)
	switch {
	case errors.Is(err, errTimedOut):
		return console.ExitWith(e.sayReport(execReport{Outcome: string(api.OutcomeExpired), ExitCode: console.ExitExpired}))
	case err != nil:
		return err
	case view != nil:
		return e.finished(ctx, view)
	default:
		return console.ExitWith(e.code)
	}
}

// act carries out the decision.
func (e *execution) act(ctx context.Context, claim *api.Claim) (done bool, err error) {
	settled, err := decisionOn(e.asked, claim.Resume)
	if err != nil {
		return true, e.refuse(ctx, claim, "NOTHING WAS RUN", err)
	}
	if settled.Resolution.Outcome == api.OutcomeAllowed {
		return e.start(ctx, claim, settled)
	}
	report := reportOf(settled.Resolution)
	e.code = e.sayReport(report)
	return true, e.recordEnd(ctx, &keeper{gate: &e.gate, fence: claim.Lease.Fence}, report)
}

// decisionOn returns the decision about the request of this call, or an error that says how
// the decisions differ from it. A caller that holds a claim of the run, or has guessed its
// key, can raise other requests on it, which a rule or an unwary person allows. So all
// members by which a rule could have matched are compared.
func decisionOn(asked api.ApprovalRequest, resume *api.Resume) (api.SettledApproval, error) {
	if count := len(resume.Approvals) + len(resume.Questions); count != 1 || len(resume.Approvals) != 1 {
		return api.SettledApproval{}, fmt.Errorf("it carries %d decisions, %d of them on approvals, and this call asked for one approval", count, len(resume.Approvals))
	}
	settled := resume.Approvals[0]
	mine, err := document.Digest(asked.Input)
	if err != nil {
		return api.SettledApproval{}, err
	}
	theirs, err := document.Digest(settled.Request.Input)
	if err != nil {
		return api.SettledApproval{}, err
	}
	switch given := settled.Request; {
	case given.ID != asked.ID || settled.Resolution.RequestID != asked.ID:
		return api.SettledApproval{}, fmt.Errorf("it is about request %s, and this call asked %s", given.ID, asked.ID)
	case theirs != mine:
		return api.SettledApproval{}, fmt.Errorf("its input is %s", prompt.Compact(given.Input))
	case given.ToolName != asked.ToolName || given.ToolCallID != asked.ToolCallID || len(given.PatternKeys) > 0 || given.Directory != asked.Directory:
		return api.SettledApproval{}, fmt.Errorf("it is about tool %s, call %s, pattern keys %q, directory %q", given.ToolName, given.ToolCallID, given.PatternKeys, given.Directory)
	}
	return settled, nil
}

// recordEnd records the end of the run, and claims the run again if the lease was lost. The
// command has ended in any case, so a failure is only printed.
func (e *execution) recordEnd(ctx context.Context, keeper *keeper, report execReport) error {
	output, err := json.Marshal(report)
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	if e.key == "" {
		// Without a key no later call can look for it.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
	}
	var pause console.Backoff
	for !keeper.takenOver {
		err = e.complete(ctx, keeper.fence, output)
		if !errors.Is(err, client.ErrLeaseLost) {
			break
		}
		keeper.reclaim(ctx)
		if err = pause.Sleep(ctx); err != nil {
			break
		}
	}
	switch {
	case keeper.takenOver:
		e.terminal.Say("run %s was ended or taken over by someone else; the outcome of this command is not recorded", e.params.RunID)
	case err != nil:
		e.terminal.Say("the outcome of run %s is not recorded: %v", e.params.RunID, err)
	}
	return nil
}

// by returns who decided and why, as far as known.
func by(who, why string) string {
	var text strings.Builder
	if who != "" {
		text.WriteString(" by " + who)
	}
	if why != "" {
		text.WriteString(": " + why)
	}
	return console.Printable(text.String(), false)
}

// execReport is the output of a run of exec. A later call with the same key ends with it.
type execReport struct {
	// Outcome is "exited", "not_started", or the request's outcome if it was not allowed.
	Outcome string `json:"outcome"`
	// ExitCode is the exit code of exec.
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	// Argv is the command that ran. Edited reports that the person who decided changed it.
	Argv   []string `json:"argv,omitempty"`
	Cwd    string   `json:"cwd,omitempty"`
	Edited bool     `json:"edited,omitzero"`
	// Reason is why it did not run.
	Reason     string `json:"reason,omitempty"`
	ResolvedBy string `json:"resolved_by,omitempty"`
}

const (
	outcomeExited     = "exited"
	outcomeNotStarted = "not_started"
)

// reportOf returns the report of a command that was not allowed.
func reportOf(resolution api.Resolution) execReport {
	report := execReport{
		Outcome: string(resolution.Outcome), ExitCode: console.ExitDenied,
		Reason: cmp.Or(resolution.Reason, resolution.Justification), ResolvedBy: resolution.ResolvedBy,
	}
	if resolution.Outcome == api.OutcomeExpired {
		report.ExitCode = console.ExitExpired
	}
	return report
}

// sayReport says why nothing ran, if so, and returns the exit code.
func (e *execution) sayReport(report execReport) int {
	switch report.Outcome {
	case outcomeExited:
	case outcomeNotStarted:
		e.terminal.Say("the command could not be started: %s", console.Printable(report.Reason, false))
	case string(api.OutcomeExpired):
		e.terminal.Say("nobody decided in time; the command was not run")
	default:
		e.terminal.Say("%s%s", report.Outcome, by(report.ResolvedBy, report.Reason))
	}
	return report.ExitCode
}
