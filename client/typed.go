package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/holdpoint/holdpoint/api"
)

// Typed returns a [Handler] that decodes the run's input into In, as [Task.DecodeInput] does,
// and completes the run with the returned value. A nil value, such as that of an Out of type
// any, completes it without an output. The value has no effect if the handler has ended the
// run itself, for example with [Task.Fail]. A run whose input does not fit In, or whose output has
// no JSON form, fails at once, because a retry would not help.
func Typed[In, Out any](handle func(ctx context.Context, task *Task, input In) (Out, error)) Handler {
	return func(ctx context.Context, task *Task) error {
		var input In
		if err := task.DecodeInput(&input); err != nil {
			return &permanentError{err}
		}
		output, err := handle(ctx, task, input)
		if err != nil {
			return err
		}
		if task.output, err = encodeMember("output", output); err != nil {
			return &permanentError{err}
		}
		return nil
	}
}

// permanentError is the outcome of a handler that no retry can change.
type permanentError struct{ cause error }

func (e *permanentError) Error() string { return e.cause.Error() }
func (e *permanentError) Unwrap() error { return e.cause }

// ApproveInput asks for approval and waits in place, like [Task.Approve], and decodes the
// input that may run, with the approver's edits, into the value that into points to, as
// [Task.DecodeInput] does. It replaces the whole value, and leaves it unchanged on an error. The
// error is an [api.NotAllowedError] if the approval was denied or has expired; a handler that
// returns it fails the run without a retry. Other errors: the errors of Approve, and an error
// if the input does not fit the value.
func (t *Task) ApproveInput(ctx context.Context, request api.ApprovalRequest, into any) error {
	nameRequest("approval", &request.ID, &request.ToolCallID)
	settled, err := t.await(ctx, pendingRequest{approval: &request})
	if err == nil {
		err = decodeApproved(settled.approval, into)
	}
	if notAllowed := new(api.NotAllowedError); err != nil && !errors.As(err, &notAllowed) {
		return fmt.Errorf("approval %s: %w", request.ID, err)
	}
	return err
}

// decodeApproved is [api.SettledApproval.Approved] as a handler's input was decoded: the api knows
// the tags of encoding/json only, and a member that it misses would be a zero value.
func decodeApproved(settled *api.SettledApproval, into any) error {
	var input api.JSON
	if err := settled.Approved(&input); err != nil {
		return err
	}
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode the approved input of %s: into must be a pointer, not %T", settled.Request.ToolName, into)
	}
	// A new value: a member that the approver removed must not keep its earlier value.
	decoded := reflect.New(target.Type().Elem())
	if err := decodeJSON(input, decoded.Interface()); err != nil {
		return fmt.Errorf("decode the approved input of %s: %w", settled.Request.ToolName, err)
	}
	target.Elem().Set(decoded.Elem())
	return nil
}
