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
	// Extension is the extension's name in capabilities.
	Extension = "io.modelcontextprotocol/tasks"
	// Revision is the first protocol revision in which a call may become a task.
	Revision = "2026-07-28"
)

// Methods of the extension.
const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
)

// ErrUnknown is wrapped by a [Keeper]'s error when the caller has no such task.
var ErrUnknown = errors.New("no such task")

// Keeper stores tasks. An error that is not a [jsonrpc.Error] and does not wrap [ErrUnknown] is
// reported to the client as an internal error, with its text.
type Keeper interface {
	// Get returns the task as a client with these capabilities sees it.
	Get(ctx context.Context, taskID string, capabilities *mcp.ClientCapabilities) (*Task, error)
	// Update accepts a client's responses to input requests. Responses to requests that are not
	// open are ignored.
	Update(ctx context.Context, taskID string, capabilities *mcp.ClientCapabilities, responses map[string]jsontext.Value) error
	// Cancel cancels a task. A finished task stays unchanged.
	Cancel(ctx context.Context, taskID string) error
}

// Created returns an error with which a tool's handler answers with a task. The task must be
// durable, and the client must have [Declared] the extension.
func Created(task *Task) error { return &taskError{task} }

type taskError struct{ task *Task }

// Error is not shown when [Serve] was called.
func (a *taskError) Error() string { return "the call became the task " + a.task.ID }

// Declared reports whether the client accepts a task as the result of this call.
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

// Required returns the error for a client without task support whose call needs a task.
func Required() error {
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client must declare the extension " + Extension,
		Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + Extension + `":{}}}}`),
	}
}

// Offer adds the extension to a server's capabilities.
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

// Serve makes a server answer the extension's methods and turns [Created] errors into results. Over
// HTTP it also needs [CheckName].
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

// refusal converts an error to a protocol error.
func refusal(err error) error {
	if known, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return known
	}
	if errors.Is(err, ErrUnknown) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: ErrUnknown.Error()}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}

type capabilitiesKey struct{}

func capabilitiesOf(ctx context.Context) *mcp.ClientCapabilities {
	capabilities, _ := ctx.Value(capabilitiesKey{}).(*mcp.ClientCapabilities)
	return capabilities
}

// receive refuses the extension's methods for clients that have not declared it, and returns the
// tasks that handlers created.
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
		if made, ok := errors.AsType[*taskError](err); ok {
			return &created{header: made.task.header(resultTask)}, nil
		}
		return result, err
	}
}
