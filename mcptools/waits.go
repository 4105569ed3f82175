package mcptools

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
)

// Signer signs the data that clients carry between two calls. Every replica must be able to verify
// it. A signature for one purpose is invalid for any other.
type Signer interface {
	Sign(purpose string, payload []byte) (string, error)
	// Verify returns the payload. Errors: [ErrUnsigned]; others when verification was not possible.
	Verify(ctx context.Context, purpose, text string) ([]byte, error)
}

// Signing purposes.
const (
	purposeTask  = "holdpoint-mcp-task"
	purposeState = "holdpoint-mcp-state"
)

// Waits manages the runs behind tool calls: what the client sees while its run waits, and how it
// takes part. It is the [tasks.Keeper] of a server.
type Waits struct {
	options *Options
	readers map[string]Reader
}

// Reading is the state of a run.
type Reading struct {
	Run *api.RunView
	// Result is the call's result; nil while there is none, and for a run that ended without one.
	Result *mcp.CallToolResult
	// Message says why a finished run has no result.
	Message string
	// Spent: the decision was already read.
	Spent bool
}

// Reader reads the runs of one tool, and moves them on where needed. It does not wait.
type Reader func(ctx context.Context, runID string) (Reading, error)

// Register sets the Reader for a tool's runs.
func (w *Waits) Register(tool string, read Reader) { w.readers[tool] = read }

// handle is the payload of a task's id.
type handle struct {
	Tool  string `json:"tool"`
	RunID string `json:"run_id"`
	// Principal is the owner of the task.
	Principal string `json:"principal"`
}

// Park returns an error with which a tool's handler answers with a task for a run.
func (w *Waits) Park(ctx context.Context, call *mcp.CallToolRequest, tool string, reading Reading) error {
	text, err := json.Marshal(handle{Tool: tool, RunID: reading.Run.RunID, Principal: w.options.Principal})
	if err != nil {
		return err
	}
	taskID, err := w.options.Signer.Sign(purposeTask, text)
	if err != nil {
		return err
	}
	return tasks.Created(w.task(ctx, taskID, reading, call.ClientCapabilities()))
}

// open returns the payload of a task's id. Errors: [tasks.ErrUnknown], including for a task of
// another principal.
func (w *Waits) open(ctx context.Context, taskID string) (handle, error) {
	text, err := w.options.Signer.Verify(ctx, purposeTask, taskID)
	switch {
	case errors.Is(err, ErrUnsigned):
		return handle{}, tasks.ErrUnknown
	case err != nil:
		return handle{}, err
	}
	var said handle
	if json.Unmarshal(text, &said) != nil || said.Principal != w.options.Principal || w.readers[said.Tool] == nil {
		return handle{}, tasks.ErrUnknown
	}
	return said, nil
}

// Get implements [tasks.Keeper].
func (w *Waits) Get(ctx context.Context, taskID string, capabilities *mcp.ClientCapabilities) (*tasks.Task, error) {
	said, err := w.open(ctx, taskID)
	if err != nil {
		return nil, err
	}
	reading, err := w.readers[said.Tool](ctx, said.RunID)
	if err != nil {
		return nil, unknown(err)
	}
	return w.task(ctx, taskID, reading, capabilities), nil
}

// unknown converts an error to one of [tasks.Keeper].
func unknown(err error) error {
	if errors.Is(err, client.ErrNotFound) && !client.Away(err) {
		return fmt.Errorf("%w: %w", tasks.ErrUnknown, err)
	}
	return errors.New(explain(err))
}

// Poll intervals. A client that waits for days need not poll every second.
const (
	firstPollMs = 1_000
	lastPollMs  = 10_000
	// pollShare is the fraction of the past wait by which one more interval may extend it.
	pollShare = 60
)

// task returns a run as a task.
func (w *Waits) task(ctx context.Context, taskID string, reading Reading, capabilities *mcp.ClientCapabilities) *tasks.Task {
	run := reading.Run
	shown := &tasks.Task{
		ID: taskID, Status: tasks.StatusWorking, Message: reading.Message, CreatedAtMs: run.SubmittedAtMs, UpdatedAtMs: run.UpdatedAtMs,
		PollIntervalMs: min(max((w.options.NowMs()-run.SubmittedAtMs)/pollShare, firstPollMs), lastPollMs),
	}
	switch {
	case reading.Result != nil:
		shown.Status, shown.Result = tasks.StatusCompleted, reading.Result
	case run.Status == api.StatusFailed:
		shown.Status, shown.Message = tasks.StatusFailed, run.Error
		shown.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: run.Error}
	case run.Status == api.StatusCancelled || run.Status == api.StatusInterrupted:
		shown.Status = tasks.StatusCancelled
	case run.Status.Waiting():
		shown.Message = "Waiting for a person."
		if requests := w.Forms(ctx, run, capabilities); len(requests) > 0 {
			shown.Status, shown.InputRequests = tasks.StatusInputRequired, requests
		}
	}
	return shown
}

// Update implements [tasks.Keeper]. Only an accepted form decides. A declined form leaves its
// request to others.
func (w *Waits) Update(ctx context.Context, taskID string, capabilities *mcp.ClientCapabilities, responses map[string]jsontext.Value) error {
	said, err := w.open(ctx, taskID)
	if err != nil {
		return err
	}
	run, err := w.options.Client.GetRun(ctx, said.RunID)
	if err != nil {
		return unknown(err)
	}
	asked := w.Forms(ctx, run, capabilities)
	given := map[string]*filledForm{}
	for handle, text := range responses {
		var answer filledForm
		if isForm(asked[handle]) && json.Unmarshal(text, &answer) == nil {
			given[handle] = &answer
		}
	}
	switch lost, err := w.decide(ctx, run, given); {
	case lost:
		return errors.New("it is not known whether this was recorded: " + explain(err))
	case err != nil:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "nothing was decided: " + explain(err)}
	}
	return nil
}

// Cancel implements [tasks.Keeper].
func (w *Waits) Cancel(ctx context.Context, taskID string) error {
	said, err := w.open(ctx, taskID)
	if err != nil {
		return err
	}
	_, err = w.options.Client.CancelRun(ctx, said.RunID, "the client has cancelled the task")
	if err == nil || errors.Is(err, client.ErrRunState) || errors.Is(err, client.ErrAlreadyDecided) {
		return nil
	}
	return unknown(err)
}

// decide records the client's decisions about a run's open requests, by their handles. A request that was decided
// meanwhile keeps its decision. lost reports whether a decision may be on record despite the error. Errors: errors of
// the client.
func (w *Waits) decide(ctx context.Context, run *api.RunView, given map[string]*filledForm) (lost bool, err error) {
	var approved []api.ApprovalResolution
	for _, request := range run.PendingApprovals {
		if resolution, said := approvalOf(&request, given[request.Handle]); said {
			approved = append(approved, resolution)
		}
	}
	var failed []error
	if len(approved) > 0 {
		_, err := w.options.Client.ResolveRunApprovals(ctx, run.RunID, client.ResolveApprovalsParams{Resolutions: approved})
		failed = append(failed, err)
	}
	for _, request := range run.PendingQuestions {
		if resolution, said := answerOf(&request, given[request.Handle]); said {
			_, err := w.options.Client.AnswerRunQuestion(ctx, run.RunID, client.AnswerQuestionParams{Resolution: resolution})
			failed = append(failed, err)
		}
	}
	failed = slices.DeleteFunc(failed, func(err error) bool {
		return err == nil || errors.Is(err, client.ErrAlreadyDecided) || errors.Is(err, client.ErrNotWaiting) || errors.Is(err, client.ErrRunState)
	})
	// A service that refuses a call because of its rate has recorded nothing.
	lost = slices.ContainsFunc(failed, func(err error) bool {
		return client.Away(err) && (errors.Is(err, client.ErrUnavailable) || !errors.Is(err, client.ErrRateLimited))
	})
	return lost, errors.Join(failed...)
}
