package tasks

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// Extension is the name of the extension in capabilities.
	Extension = "io.modelcontextprotocol/tasks"
	// Revision is the revision of the protocol from which on a call may become a task.
	Revision = "2026-07-28"
)

// The methods of the extension.
const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
)

// ErrUnknown is wrapped by the error of a [Keeper] that has no such task for this caller.
var ErrUnknown = errors.New("no such task")

// Keeper keeps tasks. Its errors that are no [jsonrpc.Error] and do not wrap [ErrUnknown] are
// internal errors to the client, with their text.
type Keeper interface {
	// Get returns the task as a client of the given capabilities is shown it.
	Get(ctx context.Context, taskID string, capabilities *mcp.ClientCapabilities) (*Task, error)
	// Update takes what a client of the given capabilities says to input requests. What is not
	// asked, or not any more, is ignored.
	Update(ctx context.Context, taskID string, capabilities *mcp.ClientCapabilities, responses map[string]jsontext.Value) error
	// Cancel gives a task up. One that is over stays as it is.
	Cancel(ctx context.Context, taskID string) error
}

// Created returns the error by which the handler of a tool answers with a task. The task must be
// durable, and the client must have [Declared] the extension.
func Created(task *Task) error { return &taskError{task} }

type taskError struct{ task *Task }

// Error is seen by nobody where [Serve] was called.
func (a *taskError) Error() string { return "the call became the task " + a.task.ID }

// Declared reports whether the client takes a task for the result of this call.
func Declared(call *mcp.CallToolRequest) bool {
	return call.ProtocolVersion() >= Revision && declared(call.ClientCapabilities())
}

func declared(capabilities *mcp.ClientCapabilities) bool {
	if capabilities == nil {
		return false
	}
	_, has := capabilities.Extensions[Extension]
	return has
}

// Required returns the error of a call that cannot be answered without a task, to a client that
// takes none.
func Required() error {
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must declare the extension " + Extension,
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + Extension + `":{}}}}`),
	}
}

// Offer puts the extension among the capabilities of a server.
func Offer(capabilities *mcp.ServerCapabilities) {
	capabilities.AddExtension(Extension, map[string]any{})
}

type named struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

type updated struct {
	mcp.ParamsBase
	TaskID         string                    `json:"taskId"`
	InputResponses map[string]jsontext.Value `json:"inputResponses"`
}

// Serve has a server answer the methods of the extension, and turns what [Created] returned into
// results. Over HTTP it needs [CheckName], too.
func Serve(server *mcp.Server, keeper Keeper) error {
	err := errors.Join(
		mcp.AddReceivingCustomMethod(server, methodGet, func(ctx context.Context, _ *mcp.ServerSession, params *named) (*detailed, error) {
			if params == nil || params.TaskID == "" {
				return nil, refusal(ErrUnknown)
			}
			task, err := keeper.Get(ctx, params.TaskID, capabilitiesOf(ctx))
			if err != nil {
				return nil, refusal(err)
			}
			return task.detailed(), nil
		}),
		mcp.AddReceivingCustomMethod(server, methodUpdate, func(ctx context.Context, _ *mcp.ServerSession, params *updated) (*acknowledged, error) {
			if params == nil || params.TaskID == "" {
				return nil, refusal(ErrUnknown)
			}
			if params.InputResponses == nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "inputResponses is missing"}
			}
			return acknowledge(keeper.Update(ctx, params.TaskID, capabilitiesOf(ctx), params.InputResponses))
		}),
		mcp.AddReceivingCustomMethod(server, methodCancel, func(ctx context.Context, _ *mcp.ServerSession, params *named) (*acknowledged, error) {
			if params == nil || params.TaskID == "" {
				return nil, refusal(ErrUnknown)
			}
			return acknowledge(keeper.Cancel(ctx, params.TaskID))
		}),
	)
	server.AddReceivingMiddleware(receive)
	return err
}

func acknowledge(err error) (*acknowledged, error) {
	if err != nil {
		return nil, refusal(err)
	}
	return &acknowledged{ResultType: resultComplete}, nil
}

// refusal returns an error as the protocol has it.
func refusal(err error) error {
	var known *jsonrpc.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, ErrUnknown):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: ErrUnknown.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

type capabilitiesKey struct{}

func capabilitiesOf(ctx context.Context) *mcp.ClientCapabilities {
	capabilities, _ := ctx.Value(capabilitiesKey{}).(*mcp.ClientCapabilities)
	return capabilities
}

// receive refuses the methods of the extension to clients that have not declared it, and returns
// the tasks that handlers made.
func receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if method == methodGet || method == methodUpdate || method == methodCancel {
			client, is := request.(interface {
				ClientCapabilities() *mcp.ClientCapabilities
			})
			if !is || !declared(client.ClientCapabilities()) {
				return nil, Required()
			}
			ctx = context.WithValue(ctx, capabilitiesKey{}, client.ClientCapabilities())
		}
		result, err := next(ctx, method, request)
		var made *taskError
		if errors.As(err, &made) {
			return &created{header: made.task.header(resultTask)}, nil
		}
		return result, err
	}
}
