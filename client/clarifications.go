package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdpoint/holdpoint/api"
)

// AskParentOptions configure a question to the parent's session. All members may be empty.
type AskParentOptions struct {
	// Park lets the run wait for the answer and ends its lease; the next claim has the
	// answer in Resume.Clarification. Otherwise the run continues, and the answer goes to
	// its session's mailbox ([Client.Mailbox]).
	Park bool
	// Checkpoint is stored with Park, and must otherwise be nil.
	Checkpoint api.JSON
	// The ids of both contexts are shown to the person who answers, at most 64 each.
	RequesterProjectIDs []string
	RequesterChannelIDs []string
	ParentProjectIDs    []string
	ParentChannelIDs    []string
}

// AskParent asks the parent's session on behalf of a run. If the ids of the request and of
// the tool call are both empty, the client generates one, so that the call can be retried.
// The same question is not asked twice. Errors besides a worker's usual ones:
// [ErrNoParent]; [ErrSessionEnded] if the parent's session accepts no questions;
// [ErrIDConflict] if the id is in use; [ErrRateLimited] with [api.CodeMailboxFull] until messages
// of the run's session are acknowledged; [ErrInvalid].
func (c *Client) AskParent(ctx context.Context, runID, fence string, request api.UserQuestionRequest, options AskParentOptions) (*api.AskParentReply, error) {
	if request.ID == "" && request.ToolCallID == "" {
		request.ID = newID("question")
	}
	return work(ctx, c, at("/v1/runs", runID, "clarifications"), api.AskParentBody{
		Fence: &fence, Request: request, Park: options.Park, Checkpoint: options.Checkpoint,
		RequesterProjectIDs: options.RequesterProjectIDs, RequesterChannelIDs: options.RequesterChannelIDs,
		ParentProjectIDs: options.ParentProjectIDs, ParentChannelIDs: options.ParentChannelIDs,
	}, func(reply *api.AskParentReply) bool { return hasRunID(&reply.Run) })
}

// AskParent asks the parent's session.
//
// With Park it ends the lease and returns [ErrSuspended], which the handler must return.
// The handler is called again once there is an answer, and then the same call returns it.
// So a handler may start from the top every time; the question needs a stable id of its own
// or of a tool call. An answer may be Declined, as it is if the question expired or was
// cancelled, or if the parent's session was interrupted or has ended.
//
// Without Park it returns nil once the question is open in the parent's session, and the
// handler continues; see [Client.Mailbox] for the answer.
//
// Errors: as [Client.AskParent].
func (t *Task) AskParent(ctx context.Context, request api.UserQuestionRequest, options AskParentOptions) (*api.ClarificationAnswer, error) {
	ctx, done := t.whileLeased(ctx)
	defer done()
	if !options.Park {
		if _, err := t.client.AskParent(ctx, t.RunID(), t.Fence(), request, options); err != nil {
			return nil, t.handleRefusal(err)
		}
		return nil, nil
	}
	if request.ID == "" && request.ToolCallID != "" {
		request.ID = "question-request-" + request.ToolCallID // like the service
	}
	if request.ID == "" {
		return nil, fmt.Errorf("%w: a question that the run is parked for needs an id", ErrInvalid)
	}
	if resume := t.claim.Resume; resume != nil && resume.Clarification != nil && resume.Clarification.RequestID == request.ID {
		return t.answered(ctx, request)
	}
	var result *api.AskParentReply
	err := t.endLease(ErrSuspended, func() (ended bool, err error) {
		result, err = t.client.AskParent(ctx, t.RunID(), t.Fence(), request, options)
		return err == nil && result.Run.Lease == nil, err
	})
	switch {
	case errors.Is(err, ErrIDConflict):
		// It may be the same question with another checkpoint.
		answer, historyErr := t.answered(ctx, request)
		if errors.Is(historyErr, errUnknownRequest) {
			return nil, err
		}
		return answer, historyErr
	case err != nil:
		return nil, err
	case result.Run.Lease == nil:
		return nil, ErrSuspended
	}
	return t.answered(ctx, request)
}

// answered returns the answer to a question that the run was parked for. It compares the
// recorded question, so that no answer counts for another one. It returns errUnknownRequest
// if no such question was settled.
func (t *Task) answered(ctx context.Context, request api.UserQuestionRequest) (*api.ClarificationAnswer, error) {
	if err := t.readHistory(ctx); err != nil {
		return nil, err
	}
	t.mu.Lock()
	settled, known := t.settled[request.ID]
	t.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("question %s: %w", request.ID, errUnknownRequest)
	}
	if err := settled.answers(pendingRequest{question: &request}); err != nil {
		return nil, err
	}
	answer := settled.question.Resolution
	return &api.ClarificationAnswer{
		RequestID: answer.RequestID, Declined: answer.Declined, Summary: answer.Summary,
		Answers: answer.Answers, Value: answer.Value, Justification: answer.Justification,
		RuntimePayload: answer.RuntimePayload, Traceparent: settled.question.Request.Traceparent,
	}, nil
}
