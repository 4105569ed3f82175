package mcptools

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client/ask"
	"github.com/holdpoint/holdpoint/mcptools/tasks"
)

// asked is the data that a call's state carries to the next round.
type asked struct {
	RunID string `json:"run_id"`
}

// putting describes how a call waits for people.
type putting struct {
	// wait is how long the call waits. Negative means without a limit; 0 only looks.
	wait waitFor
	// call is the call to raise; nil to look at the run runID.
	call  *ask.Call
	runID string
}

// put raises a call and returns its decision, or starts the wait that suits the client: a task
// where the client supports tasks, a form where the person at the client may decide, otherwise a
// held call.
func (t *tools) put(ctx context.Context, request *mcp.CallToolRequest, p putting) (*mcp.CallToolResult, error) {
	tool := request.Params.Name
	runID, dismissed, err := t.resume(ctx, request)
	if refused := new(refusedError); errors.As(err, &refused) {
		return show(tool, nil, refused), nil
	}
	if err != nil {
		return nil, err
	}
	for {
		raised := &raisedCall{runID: runID, release: func() {}}
		switch {
		case runID != "":
		case p.call == nil:
			raised.runID = p.runID
		default:
			if raised, err = t.raise(ctx, request, p); err != nil {
				if ctx.Err() != nil && raised.runID != "" {
					err = errors.Join(err, t.withdraw(ctx, raised.runID)) // the call may have been raised despite the error
				}
				raised.release()
				return show(tool, nil, err), nil
			}
			t.reached.Store(true)
		}
		result, again, err := t.answer(ctx, request, p, raised, dismissed)
		raised.release()
		if !again || runID != "" || p.call == nil {
			return result, err
		}
	}
}

// answer answers a raised call. It reports whether the decision belongs to an earlier call, so that
// this one must be raised again.
func (t *tools) answer(ctx context.Context, request *mcp.CallToolRequest, p putting, raised *raisedCall, dismissed bool) (result *mcp.CallToolResult, again bool, err error) {
	tool := request.Params.Name
	awaiting, stop := ctx, func(bool) {}
	if t.Signer != nil && p.wait != 0 {
		reading, err := t.waits.readers[tool](ctx, raised.runID)
		if err == nil {
			t.reached.Store(true)
		}
		switch {
		case err != nil:
			// The call is held, even through an outage.
		case reading.Result != nil:
			return reading.Result, reading.Spent, nil
		case reading.Run.Status.Terminal():
		case tasks.Declared(request):
			return nil, false, t.waits.Park(ctx, request, tool, reading)
		// The request of a held call ends with the call, before the client could send a form back.
		case !dismissed && (raised.await == nil || request.ProtocolVersion() < tasks.Revision):
			forms := t.waits.Forms(ctx, reading.Run, request.ClientCapabilities())
			if len(forms) > 0 && request.ProtocolVersion() >= tasks.Revision {
				state, err := t.waits.State(request, asked{raised.runID})
				if err != nil {
					return nil, false, err
				}
				return &mcp.CallToolResult{InputRequests: forms, RequestState: state}, false, nil
			}
			awaiting, stop = t.dialog(ctx, request.Session, reading.Run, forms)
		}
	}
	var decided *ask.Answer
	defer func() { stop(decided != nil && (decided.Outcome != "" || decided.Ended != "")) }()
	switch {
	case raised.await != nil:
		decided, err = raised.await(awaiting)
	case p.call == nil && !t.reached.Load():
		decided, err = t.asker.Await(awaiting, raised.runID, p.wait.duration())
	default:
		decided, err = t.asker.AwaitRaised(awaiting, raised.runID, p.wait.duration())
	}
	if err == nil {
		t.reached.Store(true)
	}
	if err != nil && ctx.Err() != nil && p.call != nil {
		err = errors.Join(err, t.withdraw(ctx, raised.runID))
	}
	return show(tool, decided, err), err == nil && decided.Again(), nil
}

// inputRequired is the result of a call that asks the person at the client. The SDK's own type also
// has a null content.
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

// refusedError says why the client's decision was not recorded.
type refusedError struct {
	runID string
	cause error
}

func (r *refusedError) Error() string {
	return fmt.Sprintf("nothing was decided: %s. It waits for others: call check_decision with the run_id %s", explain(r.cause), r.runID)
}

// resume continues the call of a requestState and records the client's decision. Without a state it
// returns no run. It reports whether the form was dismissed.
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
	given := map[string]*filledForm{}
	for handle, response := range request.Params.InputResponses {
		answer, is := response.(*mcp.ElicitResult)
		switch {
		case !is || forms[handle] == nil:
		case !isForm(forms[handle]):
			dismissed = true // the person was handed the link, and is not handed it again by this call
		default:
			if given[handle], err = filled(answer); err != nil {
				return "", false, &refusedError{carried.RunID, err}
			}
			dismissed = dismissed || answer.Action != "accept"
		}
	}
	// A lost decision may be on record: the call reads what is.
	if lost, err := t.waits.decide(ctx, run, given); err != nil && !lost {
		return "", false, &refusedError{carried.RunID, err}
	}
	return carried.RunID, dismissed, nil
}

// raisedCall is a call that was raised.
type raisedCall struct {
	runID string
	// await waits for the decision of a held call; nil for a call that stays open by itself.
	await   func(context.Context) (*ask.Answer, error)
	release func()
}

// raise raises a call, or finds the existing one with its key. A permission prompt is held by this
// process and withdrawn when the process ends. A held call of another tool is kept for a model that asks
// again, and one that is not held for a client that polls its task, or sends back its form or link.
func (t *tools) raise(ctx context.Context, request *mcp.CallToolRequest, p putting) (*raisedCall, error) {
	call := *p.call
	if call.SessionID == "" && call.Key != "" {
		call.Key = t.Principal + "\x00" + call.Key
	}
	parks := t.Signer != nil && (tasks.Declared(request) ||
		request.ProtocolVersion() >= tasks.Revision && t.waits.asks(ctx, &call, request.ClientCapabilities()))
	if parks || request.Params.Name != permissionPrompt {
		var raised *ask.Raised
		var err error
		if parks || p.wait == 0 {
			raised, err = t.asker.RaisePolled(ctx, call, keptFor)
		} else {
			raised, err = t.asker.RaiseKept(ctx, call, keptFor)
		}
		if raised == nil {
			raised = &ask.Raised{}
		}
		return &raisedCall{runID: raised.RunID, release: func() {}}, err
	}
	held, err := t.asker.RaiseHeld(ctx, call)
	if held == nil {
		return &raisedCall{release: func() {}}, err
	}
	return &raisedCall{runID: held.RunID, await: held.Await, release: held.Release}, err
}

// withdraw withdraws the requests of a call that its client cancelled. When only the connection was
// lost they stay open, so that the client can ask again.
func (t *tools) withdraw(ctx context.Context, runID string) error {
	if t.Leaving != nil && t.Leaving() {
		return nil
	}
	withdrawing, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	return t.asker.Withdraw(withdrawing, runID, "the agent has cancelled the call")
}

// show returns a tool's result.
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

// reader returns the Reader of a tool for agents.
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
		expired := decided.Outcome == api.OutcomeExpired && decided.Run.Status == api.StatusCancelled // as the run of a question ends
		switch {
		case decided.Run.Status.Terminal() && decided.Run.Status != api.StatusCompleted && !expired:
			reading.Message = sentence(decided)
		case decided.Outcome != "" || decided.Ended != "":
			reading.Result, reading.Spent = show(tool, decided, nil), decided.Spent
		}
		return reading, nil
	}
}
