package mcptools

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
)

// asked is what the state of a call carries to its next round.
type asked struct {
	RunID string `json:"run_id"`
}

// put puts a call before people, and answers with what was decided or with the way in which this
// client waits for it: a task where it knows tasks, a form for the person at it where that person
// may decide, else a call that is held. A wait of 0 only looks.
func (t *tools) put(ctx context.Context, request *mcp.CallToolRequest, wait waitFor, raise func(context.Context) (string, error)) (*mcp.CallToolResult, error) {
	tool := request.Params.Name
	runID, dismissed, err := t.resume(ctx, request)
	if refused := new(refusedError); errors.As(err, &refused) {
		return show(tool, nil, refused), nil
	}
	if err != nil {
		return nil, err
	}
	if runID == "" {
		if runID, err = raise(ctx); err != nil {
			if ctx.Err() != nil && runID != "" && tool != checkDecision {
				err = errors.Join(err, t.withdraw(ctx, runID)) // it may be raised all the same
			}
			return show(tool, nil, err), nil
		}
	}
	awaiting, stop := ctx, func() {}
	if t.Signer != nil && wait != 0 {
		reading, err := t.waits.readers[tool](ctx, runID)
		switch {
		case err != nil:
			// The call is held, through an outage too.
		case reading.Result != nil:
			return reading.Result, nil
		case over(reading.Run.Status):
		case tasks.Declared(request):
			return nil, t.waits.Park(ctx, request, tool, reading)
		case !dismissed:
			forms := t.waits.Forms(ctx, reading.Run, request.ClientCapabilities())
			if len(forms) > 0 && request.ProtocolVersion() >= tasks.Revision {
				state, err := t.waits.State(request, asked{runID})
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{InputRequests: forms, RequestState: state}, nil
			}
			awaiting, stop = t.dialog(ctx, request.Session, reading.Run, forms)
		}
	}
	defer stop()
	decided, err := t.asker.Await(awaiting, runID, wait.duration())
	if err != nil && ctx.Err() != nil && tool != checkDecision {
		err = errors.Join(err, t.withdraw(ctx, runID))
	}
	return show(tool, decided, err), nil
}

// inputRequired is the result of a call that asks the person at the client. That of the SDK has a
// content of null besides.
type inputRequired struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	RequestState  string              `json:"requestState,omitempty"`
}

func withoutContent(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		if asks, is := result.(*mcp.CallToolResult); is && err == nil && asks.NeedsInput() {
			return &inputRequired{ResultType: "input_required", InputRequests: asks.InputRequests, RequestState: asks.RequestState}, nil
		}
		return result, err
	}
}

// refusedError is why a decision of the person at the client was not recorded.
type refusedError struct {
	runID string
	cause error
}

func (r *refusedError) Error() string {
	return fmt.Sprintf("nothing was decided: %s. It waits for others: call check_decision with the run_id %s", explain(r.cause), r.runID)
}

// resume takes up the call that a requestState is from: what the person at the client said to it
// is recorded. It returns no run without a state, and reports whether the form was dismissed.
func (t *tools) resume(ctx context.Context, request *mcp.CallToolRequest) (runID string, dismissed bool, err error) {
	if t.Signer == nil {
		return "", false, nil
	}
	var carried asked
	if again, err := t.waits.ReadState(ctx, request, &carried); err != nil || !again {
		return "", false, err
	}
	run, err := t.Client.GetRun(ctx, carried.RunID)
	if err != nil {
		return "", false, &refusedError{carried.RunID, err}
	}
	forms := t.waits.Forms(ctx, run, request.ClientCapabilities())
	given := map[string]*mcp.ElicitResult{}
	for id, response := range request.Params.InputResponses {
		if answer, is := response.(*mcp.ElicitResult); is && forms[id] != nil {
			given[id] = answer
			dismissed = dismissed || answer.Action != "accept"
		}
	}
	if err := t.waits.Decide(ctx, run, given); err != nil {
		return "", false, &refusedError{carried.RunID, err}
	}
	return carried.RunID, dismissed, nil
}

// dialog shows forms to the person at a client of an earlier revision while its call is held. The
// context that it returns ends when a decision is refused, with why as its cause.
func (t *tools) dialog(ctx context.Context, session *mcp.ServerSession, run *api.RunView, forms mcp.InputRequestMap) (awaiting context.Context, stop func()) {
	asking, end := context.WithCancel(ctx)
	awaiting, refuse := context.WithCancelCause(ctx)
	var dialogs sync.WaitGroup
	for id, request := range forms {
		dialogs.Go(func() {
			form, _ := request.(*mcp.ElicitParams)
			answer, err := session.Elicit(asking, form)
			if err != nil {
				return // others may decide
			}
			if err := t.waits.Decide(asking, run, map[string]*mcp.ElicitResult{id: answer}); err != nil && asking.Err() == nil {
				refuse(&refusedError{run.RunID, err})
			}
		})
	}
	return awaiting, func() {
		end()
		dialogs.Wait()
		refuse(nil)
	}
}

// raise puts a call before people, or finds the one with its key.
func (t *tools) raise(ctx context.Context, call ask.Call) (runID string, err error) {
	if call.SessionID == "" && call.Key != "" {
		call.Key = t.Principal + "\x00" + call.Key
	}
	return t.asker.Raise(ctx, call)
}

// withdraw takes back what a call asked that its client has cancelled. What was asked by one whose
// connection is gone stays, for the one that asks again.
func (t *tools) withdraw(ctx context.Context, runID string) error {
	if t.Leaving != nil && t.Leaving() {
		return nil
	}
	withdrawing, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	return t.asker.Withdraw(withdrawing, runID, "the agent has cancelled the call")
}

// show returns what a tool answers.
func show(tool string, decided *ask.Answer, err error) *mcp.CallToolResult {
	var shown *mcp.CallToolResult
	var failed error
	switch {
	case tool == permissionPrompt:
		shown, failed = permitted(PermissionOf(decided, err))
	case err != nil:
		return failure(err)
	default:
		shown, failed = success(decisionOf(decided))
	}
	if failed != nil {
		return failure(failed)
	}
	return shown
}

// reader reads the runs of a tool of agents.
func (t *tools) reader(tool string) Reader {
	return func(ctx context.Context, runID string) (Reading, error) {
		decided, err := t.asker.Await(ctx, runID, 0)
		if errors.Is(err, ask.ErrForeign) {
			run, unread := t.Client.GetRun(ctx, runID)
			return Reading{Run: run, Result: show(tool, nil, err)}, unread
		}
		if err != nil {
			return Reading{}, err
		}
		reading := Reading{Run: decided.Run}
		switch {
		case decided.Run.Status == api.StatusCancelled || decided.Run.Status == api.StatusInterrupted:
			reading.Message = sentence(decided)
		case decided.Outcome != "" || decided.Ended != "":
			reading.Result = show(tool, decided, nil)
		}
		return reading, nil
	}
}

func over(status api.Status) bool {
	return status == api.StatusCompleted || status == api.StatusFailed || status == api.StatusInterrupted || status == api.StatusCancelled
}
