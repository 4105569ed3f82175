package client

import (
	"context"
	"iter"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

// AnswerQuestionParams answer or decline one open question request.
type AnswerQuestionParams struct {
	Resolution api.UserQuestionResolution
	// IdempotencyKey is made by the client when empty. Give one of your own to let a
	// later process repeat the call.
	IdempotencyKey string
	// Wait is for [Client.AnswerSessionQuestion] only; see ResolveApprovalsParams.
	Wait time.Duration
}

type answerQuestionBody struct {
	Key        string                     `json:"idempotency_key,omitempty"`
	Resolution api.UserQuestionResolution `json:"resolution"`
}

// AnswerRunQuestion answers a question of a run. A parent clarification is completed
// by it, and the very same answer again succeeds. Errors: [ErrNotFound];
// [ErrExpired]; [ErrNotWaiting], with [ErrAlreadyDecided] when the question was
// settled before; [ErrRunState]; [ErrIdempotencyConflict]; [ErrInvalid] when the
// answer does not fit, with the code saying why.
func (c *Client) AnswerRunQuestion(ctx context.Context, runID string, params AnswerQuestionParams) (*RunResult, error) {
	k, err := newKey(params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return c.keyedRun(ctx, k, answerQuestionBody{k.member, params.Resolution}, "/v1/runs", runID, "questions")
}

// AnswerSessionQuestion answers a question of the session's active run, or else of a
// parent clarification that waits in the session, and returns the session. Errors: as of [Client.AnswerRunQuestion].
func (c *Client) AnswerSessionQuestion(ctx context.Context, sessionID string, params AnswerQuestionParams) (*SessionResult, error) {
	k, err := newKey(params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return c.keyedSession(ctx, k, answerQuestionBody{k.member, params.Resolution}, params.Wait, sessionID, "questions")
}

// CancelQuestionParams cancel an open question. Both members may be empty.
type CancelQuestionParams struct {
	Justification string
	// IdempotencyKey is made by the client when empty.
	IdempotencyKey string
}

type cancelQuestionBody struct {
	Key           string `json:"idempotency_key,omitempty"`
	Justification string `json:"justification,omitempty"`
}

// CancelQuestion cancels an open question, and with it the run; a parent clarification
// is completed, declined. Errors:
// [ErrNotFound]; [ErrExpired]; [ErrNotWaiting], with [ErrAlreadyDecided] when the
// question was settled before; [ErrIdempotencyConflict].
func (c *Client) CancelQuestion(ctx context.Context, runID, requestID string, params CancelQuestionParams) (*RunResult, error) {
	k, err := newKey(params.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	return c.keyedRun(ctx, k, cancelQuestionBody{k.member, params.Justification}, "/v1/runs", runID, "questions", requestID, "cancel")
}

// ListQuestions returns one page of open questions in the order of session, run and
// request id.
func (c *Client) ListQuestions(ctx context.Context, params PendingListParams) (*Page[api.PendingQuestionView], error) {
	path, err := params.path("questions")
	if err != nil {
		return nil, err
	}
	return get[Page[api.PendingQuestionView]](ctx, c, path, params.query())
}

// AllQuestions walks all pages of [Client.ListQuestions]. It ends after the first
// error.
func (c *Client) AllQuestions(ctx context.Context, params PendingListParams) iter.Seq2[api.PendingQuestionView, error] {
	return walk(params.PageParams, func(page PageParams) (*Page[api.PendingQuestionView], error) {
		params.PageParams = page
		return c.ListQuestions(ctx, params)
	})
}
