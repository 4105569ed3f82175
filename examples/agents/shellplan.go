package agents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// ShellPlanAgent is the agent id of a [ShellPlan].
const ShellPlanAgent = "shell-plan"

// ShellPlan runs a plan of shell commands, one after the other. The run's input has them in
// "plan", a list, or one per line in "prompt" or in the last of "messages".
type ShellPlan struct {
	// Directory is the working directory of the commands, as an absolute path: a rule that a person writes with a
	// decision holds only there.
	Directory string
}

// shellProgress is the agent's checkpoint.
type shellProgress struct {
	// Next is the next step.
	Next int `json:"next"`
	// Begun reports that the next step may have run. After a worker has died its result is
	// unknown, and a command that a person had to allow is not run again without asking.
	Begun   bool         `json:"begun"`
	Results []stepResult `json:"results"`
}

type stepResult struct {
	Command string `json:"command"`
	Status  string `json:"status"` // done, failed, denied or unknown
	Output  string `json:"output,omitempty"`
}

// Handle is the [client.Handler] of the agent. It starts from the top at every claim and
// continues from its checkpoint.
func (a *ShellPlan) Handle(ctx context.Context, task *client.Task) error {
	plan, err := planOf(task)
	if err != nil {
		return err
	}
	progress := shellProgress{Results: []stepResult{}}
	if _, err := task.DecodeCheckpoint(&progress); err != nil {
		return err
	}
	for progress.Next < len(plan) {
		result, err := a.step(ctx, task, plan, &progress)
		if err != nil {
			return err
		}
		if err := task.Output(ctx, fmt.Sprintf("%s: %s", result.Status, result.Command)); err != nil {
			return err
		}
		progress.Results = append(progress.Results, result)
		progress.Next, progress.Begun = progress.Next+1, false
		if err := task.SaveCheckpoint(ctx, progress); err != nil {
			return err
		}
	}
	return task.Complete(ctx, map[string]any{"steps": progress.Results})
}

// step runs one command, and asks first if needed.
func (a *ShellPlan) step(ctx context.Context, task *client.Task, plan []string, progress *shellProgress) (stepResult, error) {
	call := toolCall{ID: fmt.Sprintf("step-%d", progress.Next+1), Name: "bash", Input: bashInput{plan[progress.Next]}}
	if Risky(call.Input.Command) {
		if progress.Begun {
			return stepResult{call.Input.Command, "unknown", "the worker died while it ran; it was not run again"}, nil
		}
		decision, err := a.ask(ctx, task, call, progress, len(plan))
		if err != nil {
			return stepResult{}, err
		}
		if decision.Outcome != api.OutcomeAllowed {
			return stepResult{call.Input.Command, "denied", decision.Reason}, nil
		}
		// The person may have edited the command.
		if decision.UpdatedInput != nil {
			if err := decode(decision.UpdatedInput, &call.Input); err != nil {
				return stepResult{}, err
			}
		}
		progress.Begun = true
		if err := task.SaveCheckpoint(ctx, progress); err != nil {
			return stepResult{}, err
		}
	}
	if err := task.Emit(ctx, toolEvent{Type: "tool_call", toolCall: call}); err != nil {
		return stepResult{}, err
	}
	result := a.run(ctx, call.Input.Command)
	return result, task.Emit(ctx, toolResultEvent{Type: "tool_result", ID: call.ID, Name: call.Name, Output: result})
}

// ask returns the decision about a call. Until there is one, it releases the run and
// returns [client.ErrSuspended]; the next claim calls it again and gets the decision.
func (a *ShellPlan) ask(ctx context.Context, task *client.Task, call toolCall, progress *shellProgress, steps int) (api.Resolution, error) {
	input, err := client.EncodeJSON(call.Input)
	if err != nil {
		return api.Resolution{}, err
	}
	checkpoint, err := client.EncodeJSON(progress)
	if err != nil {
		return api.Resolution{}, err
	}
	resume, err := task.Suspend(ctx, api.Suspension{
		SuspensionID: call.ID,
		Approvals: []api.ApprovalRequest{{
			ID: call.ID, ToolName: call.Name, Input: input, Directory: a.Directory,
			Reason:      fmt.Sprintf("step %d of %d of the plan", progress.Next+1, steps),
			Description: "Run this shell command?",
			InputSchema: api.JSON(`{"type":"object","required":["command"],"properties":{"command":{"type":"string","minLength":1}}}`),
		}},
		Checkpoint: checkpoint,
	})
	if err != nil {
		return api.Resolution{}, err
	}
	if settled := resume.Approval(call.ID); settled != nil {
		return settled.Resolution, nil
	}
	return api.Resolution{}, fmt.Errorf("the resume has no decision about %s", call.ID)
}

// commandTimeout bounds the run time of a command.
const commandTimeout = time.Minute

func (a *ShellPlan) run(ctx context.Context, text string) stepResult {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	output := &shortOutput{}
	command := exec.CommandContext(ctx, "sh", "-c", text)
	command.Dir = a.Directory
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.Directory}
	command.Stdout, command.Stderr = output, output
	command.WaitDelay = time.Second // for processes that it leaves running
	err := command.Run()
	result := stepResult{Command: text, Status: "done", Output: strings.ToValidUTF8(string(output.kept), "")}
	if err != nil {
		result.Status, result.Output = "failed", result.Output+err.Error()
	}
	return result
}

// maxShownOutput bounds the stored output of a command.
const maxShownOutput = 4 << 10

// shortOutput keeps the beginning of the output.
type shortOutput struct{ kept []byte }

func (o *shortOutput) Write(piece []byte) (int, error) {
	o.kept = append(o.kept, piece[:min(len(piece), maxShownOutput-len(o.kept))]...)
	return len(piece), nil
}

// harmless are commands that only read, whatever their arguments.
var harmless = []string{"cat", "echo", "head", "ls", "pwd", "true", "wc"}

// plainCommand is a single command without any shell syntax.
var plainCommand = regexp.MustCompile(`^ *[a-z]+( +[A-Za-z0-9._/,:@+-]+)* *$`)

// Risky reports whether a person must allow a command: every command that is not known to
// be read-only. It lists harmless commands instead of dangerous ones, because no list of
// dangerous ones is complete.
func Risky(command string) bool {
	return !plainCommand.MatchString(command) || !slices.Contains(harmless, strings.Fields(command)[0])
}
