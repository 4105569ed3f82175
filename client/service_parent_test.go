package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// family makes a parent's session, a child's, and a claimed run of the child.
func family(t *testing.T, c *client.Client) (parent, child string, run *api.Claim) {
	t.Helper()
	asked, err := c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "coder"})
	require.NoError(t, err)
	asking, err := c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "helper", ParentSessionID: asked.SessionID})
	require.NoError(t, err)
	made, err := c.CreateRun(t.Context(), client.CreateRunParams{SessionID: asking.SessionID, Claim: &api.ClaimOptions{WorkerID: "w"}})
	require.NoError(t, err)
	return asked.SessionID, asking.SessionID, made.Claim
}

func blue(requestID string) client.AnswerQuestionParams {
	return client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: requestID, Answers: []api.UserQuestionAnswer{{QuestionID: "color", FreeformAnswer: "blue"}},
	}}
}

// untilSome asks until there is something: what a decision owes to another session
// is carried out after its reply.
func untilSome[T any](t *testing.T, ask func(context.Context) ([]T, error)) []T {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-ticker.C {
		some, err := ask(t.Context())
		require.NoError(t, err)
		if len(some) > 0 {
			return some
		}
		require.True(t, time.Now().Before(deadline), "nothing came")
	}
}

func TestAskingTheParentOfTheRealService(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	ctx := t.Context()
	parent, child, claim := family(t, c)
	runID, fence := claim.Run.RunID, claim.Lease.Fence

	// Without waiting: the answer comes into the mailbox.
	asked, err := c.AskParent(ctx, runID, fence, question("q1", "Which color?"), client.AskParentOptions{RequesterProjectIDs: []string{"p"}})
	require.NoError(t, err)
	require.Equal(t, api.KindParentClarification, asked.Clarification.Kind)
	require.NotNil(t, asked.Run.Lease)
	unnamed, err := c.AskParent(ctx, runID, fence, api.UserQuestionRequest{Questions: question("", "Why?").Questions}, client.AskParentOptions{})
	require.NoError(t, err)
	require.Len(t, unnamed.Clarification.PendingQuestionIDs, 1, "the client made an id")
	_, err = c.AskParent(ctx, runID, fence, question("q1", "What else?"), client.AskParentOptions{})
	require.ErrorIs(t, err, client.ErrIDConflict)
	_, err = c.AskParent(ctx, runID, "9", question("q2", "Why?"), client.AskParentOptions{})
	require.ErrorIs(t, err, client.ErrLeaseLost)
	open, err := c.ListQuestions(ctx, client.PendingListParams{SessionID: parent})
	require.NoError(t, err)
	require.Len(t, open.Items, 2)
	for _, item := range open.Items {
		require.Equal(t, "helper", item.RequesterAgentID)
		require.Equal(t, runID, item.RequesterRunID)
	}
	_, err = c.AnswerSessionQuestion(ctx, parent, blue("q1"))
	require.NoError(t, err)
	messages := untilSome(t, func(ctx context.Context) ([]api.MessageView, error) { return c.Mailbox(ctx, child) })
	require.Equal(t, api.MessagePending, messages[0].State)
	var answer api.ClarificationAnswer
	require.NoError(t, json.Unmarshal(messages[0].Payload, &answer))
	require.Equal(t, "Which color?: blue", answer.Summary)
	for range 2 {
		require.NoError(t, c.AcknowledgeMessage(ctx, child, messages[0].MessageID))
	}
	_, err = c.ReplayMessage(ctx, child, messages[0].MessageID)
	require.ErrorIs(t, err, client.ErrNotFound)
	require.ErrorIs(t, c.AcknowledgeMessage(ctx, child, "nothing"), client.ErrNotFound)

	// The very same answer again succeeds, a different one is told what was decided.
	for range 2 {
		done, err := c.AnswerRunQuestion(ctx, asked.Clarification.RunID, blue("q1"))
		require.NoError(t, err)
		require.Equal(t, api.StatusCompleted, done.Status)
	}
	_, err = c.AnswerRunQuestion(ctx, asked.Clarification.RunID, client.AnswerQuestionParams{
		Resolution: api.UserQuestionResolution{RequestID: "q1", Declined: true},
	})
	require.ErrorIs(t, err, client.ErrNotWaiting)
	require.ErrorIs(t, err, client.ErrAlreadyDecided)

	// Parked.
	parked, err := c.AskParent(ctx, runID, fence, question("q3", "Which color?"), client.AskParentOptions{Park: true, Checkpoint: api.JSON(`3`)})
	require.NoError(t, err)
	require.Nil(t, parked.Run.Lease)
	require.Equal(t, &api.WaitingOn{SessionID: parent, RunID: parked.Clarification.RunID, RequestID: "q3"}, parked.Run.WaitingOn)
	_, err = c.CancelQuestion(ctx, parked.Clarification.RunID, "q3", client.CancelQuestionParams{Justification: "never mind"})
	require.NoError(t, err)
	_, err = c.WaitRun(ctx, runID, client.UntilDecided)
	require.NoError(t, err)
	claim, err = c.ClaimRun(ctx, runID, api.ClaimOptions{WorkerID: "w2"})
	require.NoError(t, err)
	require.True(t, claim.Resume.Clarification.Declined)
	require.Equal(t, "never mind", *claim.Resume.Clarification.Justification)
	require.Equal(t, "3", string(claim.Checkpoint))

	// A child that is over has dead letters.
	_, err = c.CompleteRun(ctx, runID, claim.Lease.Fence, nil)
	require.NoError(t, err)
	_, err = c.InterruptSession(ctx, parent, "")
	require.NoError(t, err)
	letters := untilSome(t, func(ctx context.Context) ([]api.MessageView, error) { return c.DeadLetters(ctx, child) })
	require.Equal(t, api.MessageDeadLetter, letters[0].State)
	require.Contains(t, letters[0].LastError, "closed")
	again, err := c.ReplayMessage(ctx, child, letters[0].MessageID)
	require.NoError(t, err)
	require.Equal(t, api.MessageDeadLetter, again.State)

	// What was owed.
	var owed []api.EffectView
	for effect, err := range c.AllEffects(ctx, client.EffectListParams{SessionID: parent, PageParams: client.PageParams{Limit: 1}}) {
		require.NoError(t, err)
		owed = append(owed, effect)
	}
	require.Len(t, owed, 3)
	retried, err := c.RetryEffect(ctx, parent, owed[0].EffectID)
	require.NoError(t, err)
	require.Equal(t, api.EffectDone, retried.State)
	_, err = c.RetryEffect(ctx, parent, "nothing")
	require.ErrorIs(t, err, client.ErrNotFound)
	failed, err := c.ListEffects(ctx, client.EffectListParams{State: api.EffectFailed})
	require.NoError(t, err)
	require.Empty(t, failed.Items)

	// Nobody to ask.
	alone, err := c.CreateRun(ctx, client.CreateRunParams{Claim: &api.ClaimOptions{WorkerID: "w"}})
	require.NoError(t, err)
	_, err = c.AskParent(ctx, alone.RunID, alone.Claim.Lease.Fence, question("q", "Why?"), client.AskParentOptions{})
	require.ErrorIs(t, err, client.ErrNoParent)
}

func TestAWorkerAsksItsParentAtTheRealService(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	parent, err := c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "coder"})
	require.NoError(t, err)
	child, err := c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "helper", ParentSessionID: parent.SessionID})
	require.NoError(t, err)
	work(t, c, func(ctx context.Context, task *client.Task) error {
		var summaries []string
		for _, id := range []string{"q1", "q2"} {
			answer, err := task.AskParent(ctx, question(id, "Which color?"), client.AskParentOptions{Park: true})
			if err != nil {
				return err
			}
			summaries = append(summaries, answer.Summary)
		}
		return task.Complete(ctx, summaries)
	})
	run, err := c.CreateSessionRun(t.Context(), child.SessionID, client.CreateRunParams{Input: "x"})
	require.NoError(t, err)
	for _, id := range []string{"q1", "q2"} {
		asked := untilSome(t, func(ctx context.Context) ([]api.PendingQuestionView, error) {
			page, err := c.ListQuestions(ctx, client.PendingListParams{SessionID: parent.SessionID})
			if err != nil {
				return nil, err
			}
			return page.Items, nil
		})
		require.Equal(t, id, asked[0].Request.ID)
		_, err := c.AnswerRunQuestion(t.Context(), asked[0].RunID, blue(id))
		require.NoError(t, err)
	}
	ended, err := c.WaitRun(t.Context(), run.RunID, client.UntilTerminal)
	require.NoError(t, err)
	require.JSONEq(t, `["Which color?: blue","Which color?: blue"]`, string(ended.Output))
}
