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

// family creates a parent's session, a child's, and a claimed run of the child.
func family(t *testing.T, c *client.Client) (parent, child string, run *api.Claim) {
	t.Helper()
	asked := must(c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "coder"}))(t)
	asking := must(c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "helper", ParentSessionID: asked.SessionID}))(t)
	made := must(c.CreateRun(t.Context(), client.CreateRunParams{SessionID: asking.SessionID, Claim: &api.ClaimOptions{WorkerID: "w"}}))(t)
	return asked.SessionID, asking.SessionID, made.Claim
}

func blue(requestID string) client.AnswerQuestionParams {
	return client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: requestID, Answers: []api.UserQuestionAnswer{{QuestionID: "color", FreeformAnswer: "blue"}},
	}}
}

// untilSome polls until there is a result: effects on other sessions run after the reply to a
// decision.
func untilSome[T any](t *testing.T, ask func(context.Context) ([]T, error)) []T {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-ticker.C {
		some := must(ask(t.Context()))(t)
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

	// Without parking: the answer goes to the mailbox.
	asked := must(c.AskParent(ctx, runID, fence, question("q1", "Which color?"), client.AskParentOptions{RequesterProjectIDs: []string{"p"}}))(t)
	require.Equal(t, api.KindParentClarification, asked.Clarification.Kind)
	require.NotNil(t, asked.Run.Lease)
	unnamed := must(c.AskParent(ctx, runID, fence, api.UserQuestionRequest{Questions: question("", "Why?").Questions}, client.AskParentOptions{}))(t)
	require.Len(t, unnamed.Clarification.PendingQuestionIDs, 1, "the client made an id")
	_, err := c.AskParent(ctx, runID, fence, question("q1", "What else?"), client.AskParentOptions{})
	require.ErrorIs(t, err, client.ErrIDConflict)
	_, err = c.AskParent(ctx, runID, "9", question("q2", "Why?"), client.AskParentOptions{})
	require.ErrorIs(t, err, client.ErrLeaseLost)
	open := must(c.ListQuestions(ctx, client.PendingListParams{SessionID: parent}))(t)
	require.Len(t, open.Items, 2)
	for _, item := range open.Items {
		require.Equal(t, "helper", item.RequesterAgentID)
		require.Equal(t, runID, item.RequesterRunID)
	}
	must(c.AnswerSessionQuestion(ctx, parent, blue("q1")))(t)
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

	// The same answer again succeeds; a different one gets the recorded decision.
	for range 2 {
		done := must(c.AnswerRunQuestion(ctx, asked.Clarification.RunID, blue("q1")))(t)
		require.Equal(t, api.StatusCompleted, done.Status)
	}
	_, err = c.AnswerRunQuestion(ctx, asked.Clarification.RunID, client.AnswerQuestionParams{
		Resolution: api.UserQuestionResolution{RequestID: "q1", Declined: true},
	})
	require.ErrorIs(t, err, client.ErrNotWaiting)
	require.ErrorIs(t, err, client.ErrAlreadyDecided)

	// Parked.
	parked := must(c.AskParent(ctx, runID, fence, question("q3", "Which color?"), client.AskParentOptions{Park: true, Checkpoint: api.JSON(`3`)}))(t)
	require.Nil(t, parked.Run.Lease)
	require.Equal(t, &api.WaitingOn{SessionID: parent, RunID: parked.Clarification.RunID, RequestID: "q3"}, parked.Run.WaitingOn)
	must(c.CancelQuestion(ctx, parked.Clarification.RunID, "q3", client.CancelQuestionParams{Justification: "never mind"}))(t)
	must(c.WaitRun(ctx, runID, client.UntilDecided))(t)
	claim = must(c.ClaimRun(ctx, runID, api.ClaimOptions{WorkerID: "w2"}))(t)
	require.True(t, claim.Resume.Clarification.Declined)
	require.Equal(t, "never mind", *claim.Resume.Clarification.Justification)
	require.Equal(t, "3", string(claim.Checkpoint))

	// An ended child has dead letters.
	must(c.CompleteRun(ctx, runID, claim.Lease.Fence, nil))(t)
	must(c.InterruptSession(ctx, parent, ""))(t)
	letters := untilSome(t, func(ctx context.Context) ([]api.MessageView, error) { return c.DeadLetters(ctx, child) })
	require.Equal(t, api.MessageDeadLetter, letters[0].State)
	require.Contains(t, letters[0].LastError, "closed")
	again := must(c.ReplayMessage(ctx, child, letters[0].MessageID))(t)
	require.Equal(t, api.MessageDeadLetter, again.State)

	// The follow-up effects.
	var owed []api.EffectView
	for effect, err := range c.AllEffects(ctx, client.EffectListParams{SessionID: parent, PageParams: client.PageParams{Limit: 1}}) {
		require.NoError(t, err)
		owed = append(owed, effect)
	}
	require.Len(t, owed, 3)
	retried := must(c.RetryEffect(ctx, parent, owed[0].EffectID))(t)
	require.Equal(t, api.EffectDone, retried.State)
	_, err = c.RetryEffect(ctx, parent, "nothing")
	require.ErrorIs(t, err, client.ErrNotFound)
	failed := must(c.ListEffects(ctx, client.EffectListParams{State: api.EffectFailed}))(t)
	require.Empty(t, failed.Items)

	// Without a parent.
	alone := must(c.CreateRun(ctx, client.CreateRunParams{Claim: &api.ClaimOptions{WorkerID: "w"}}))(t)
	_, err = c.AskParent(ctx, alone.RunID, alone.Claim.Lease.Fence, question("q", "Why?"), client.AskParentOptions{})
	require.ErrorIs(t, err, client.ErrNoParent)
}

func TestAWorkerAsksItsParentAtTheRealService(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	parent := must(c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "coder"}))(t)
	child := must(c.CreateSession(t.Context(), client.CreateSessionParams{AgentID: "helper", ParentSessionID: parent.SessionID}))(t)
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
	run := must(c.CreateSessionRun(t.Context(), child.SessionID, client.CreateRunParams{Input: "x"}))(t)
	for _, id := range []string{"q1", "q2"} {
		asked := untilSome(t, func(ctx context.Context) ([]api.PendingQuestionView, error) {
			page, err := c.ListQuestions(ctx, client.PendingListParams{SessionID: parent.SessionID})
			if err != nil {
				return nil, err
			}
			return page.Items, nil
		})
		require.Equal(t, id, asked[0].Request.ID)
		must(c.AnswerRunQuestion(t.Context(), asked[0].RunID, blue(id)))(t)
	}
	ended := must(c.WaitRun(t.Context(), run.RunID, client.UntilTerminal))(t)
	require.JSONEq(t, `["Which color?: blue","Which color?: blue"]`, string(ended.Output))
}
