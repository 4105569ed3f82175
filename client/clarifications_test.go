package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs"
)

// child creates a run in a session that has a parent.
func (b *rig) child(runID string) {
	b.Helper()
	for _, session := range []*runs.CreateSession{{SessionID: "parent"}, {SessionID: "child", ParentSessionID: "parent"}} {
		must(b.service.do(session))(b)
	}
	must(b.client.CreateRun(b.Context(), client.CreateRunParams{RunID: runID, SessionID: "child"}))(b)
}

// clarification returns the parent's run that waits with that request.
func (b *rig) clarification(requestID string) string {
	b.Helper()
	b.service.mu.Lock()
	defer b.service.mu.Unlock()
	for key, request := range b.service.sessions["parent"].Requests {
		if key.RequestID == requestID && request.Open() {
			return key.RunID
		}
	}
	require.FailNow(b, "nothing is asked of the parent", requestID)
	return ""
}

func (b *rig) answer(runID, requestID, text string) {
	b.Helper()
	must(b.client.AnswerRunQuestion(b.Context(), runID, client.AnswerQuestionParams{Resolution: api.UserQuestionResolution{
		RequestID: requestID, Answers: []api.UserQuestionAnswer{{QuestionID: "color", FreeformAnswer: text}},
	}}))(b)
}

// The call does not wait until the mailbox has room: only the handler reads it.
func TestAFullMailboxIsReportedToTheHandler(t *testing.T) {
	t.Parallel()
	for name, park := range map[string]bool{"parked": true, "not parked": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.child("run")
				b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
					asks := strings.HasSuffix(r.URL.Path, "/clarifications")
					if asks {
						w.WriteHeader(http.StatusTooManyRequests)
						_, _ = io.WriteString(w, `{"code":"mailbox_full"}`)
					}
					return asks
				})
				var failed error
				b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
					_, failed = task.AskParent(ctx, question("color", "Which color?"), client.AskParentOptions{Park: park})
					return nil
				})
				b.completes("run")
				var refused *client.Error
				require.ErrorAs(b, failed, &refused)
				require.Equal(b, api.CodeMailboxFull, refused.Code)
				require.Equal(b, 2, b.service.calls("/clarifications"), "as often as the policy says")
			})
		})
	}
}

func TestAParkedTaskIsHandedTheAnswerFromTheTop(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.child("run")
		var answers []string
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			// From the top each time, with two questions in a row. The Resume of the third
			// call only has the second answer.
			for i, id := range []string{"first", "second"} {
				answer, err := task.AskParent(ctx, question(id, "Which color?"), client.AskParentOptions{Park: true, Checkpoint: api.JSON(`1`)})
				if err != nil {
					require.ErrorIs(b, err, client.ErrSuspended)
					return err
				}
				require.False(b, answer.Declined)
				require.Equal(b, id, answer.RequestID)
				answers = append(answers, answer.Summary)
				if i == 0 {
					continue
				}
				require.Equal(b, "second", task.Resume().Clarification.RequestID)
			}
			return task.Complete(ctx, answers)
		})
		synctest.Wait()
		parked := must(b.client.GetRun(b.Context(), "run"))(b)
		require.Equal(b, api.StatusWaitingForUserQuestion, parked.Status)
		require.Empty(b, parked.PendingQuestionIDs)
		require.Equal(b, &api.WaitingOn{SessionID: "parent", RunID: b.clarification("first"), RequestID: "first"}, parked.WaitingOn)
		b.answer(parked.WaitingOn.RunID, "first", "blue")
		synctest.Wait()
		b.answer(b.clarification("second"), "second", "red")
		require.JSONEq(b, `["Which color?: blue","Which color?: blue","Which color?: red"]`, string(b.terminal("run").Output))
		b.end()
		require.Empty(b, b.reported())
	})
}

// A dialect records what an answer means to the worker's runtime.
func TestAParkedTaskGetsTheRuntimePayloadOfTheAnswer(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.child("run")
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			answer, err := task.AskParent(ctx, question("q", "Which color?"), client.AskParentOptions{Park: true})
			if err != nil {
				return err
			}
			require.Equal(b, task.Resume().Clarification, answer)
			require.JSONEq(b, `{"code":7}`, string(answer.RuntimePayload))
			return nil
		})
		synctest.Wait()
		must(b.service.do(&runs.DecideRequests{
			RunID: b.clarification("q"), CancelRequestID: "q", CancelRuntimePayload: api.JSON(`{"code":7}`), Actor: runs.Actor{Name: "ann", Via: api.ViaAPI},
		}))(b)
		b.completes("run")
		require.Empty(b, b.reported())
	})
}

func TestAnAnswerCountsForItsQuestionOnly(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.child("run")
		asked := "Which color?"
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			_, err := task.AskParent(ctx, question("q", asked), client.AskParentOptions{Park: true})
			asked = "Delete everything?"
			return err
		})
		synctest.Wait()
		b.answer(b.clarification("q"), "q", "yes")
		run := b.terminal("run")
		b.end()
		require.Equal(b, api.StatusFailed, run.Status)
		require.Contains(b, run.Error, client.ErrIDConflict.Error())
	})
}

func TestAQuestionWithAnotherCheckpointIsTheSame(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.child("run")
		step := 0
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			step++
			checkpoint := must(client.EncodeJSON(step))(b)
			options := client.AskParentOptions{Park: true, Checkpoint: checkpoint}
			if _, err := task.AskParent(ctx, question("q", "Which color?"), options); err != nil {
				return err
			}
			// The Resume no longer has it once the run has waited for something else.
			_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "ls")}})
			return err
		})
		synctest.Wait()
		b.answer(b.clarification("q"), "q", "blue")
		synctest.Wait()
		b.allow("run", "a")
		b.completes("run")
		require.Equal(b, 3, step)
		require.Empty(b, b.reported())
	})
}

func TestAnUnparkedTaskGoesOn(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.child("run")
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			for range 2 {
				answer := must(task.AskParent(ctx, question("q", "Which color?"), client.AskParentOptions{}))(b)
				require.Nil(b, answer)
			}
			_, err := task.AskParent(ctx, question("q", "Something else?"), client.AskParentOptions{})
			require.ErrorIs(b, err, client.ErrIDConflict)
			_, err = task.AskParent(ctx, api.UserQuestionRequest{Questions: []api.UserQuestion{{Question: "Why?"}}}, client.AskParentOptions{Park: true})
			require.ErrorIs(b, err, client.ErrInvalid, "the next call could not find the answer to it")
			_, err = task.AskParent(ctx, question("r", "Why?"), client.AskParentOptions{Checkpoint: api.JSON(`1`)})
			require.ErrorIs(b, err, client.ErrInvalid)
			return task.Complete(ctx, "went on")
		})
		require.Equal(b, `"went on"`, string(b.terminal("run").Output))
		b.end()
	})
}

func TestAnUnparkedQuestionLeavesWaitsInPlaceAlone(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.child("run")
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			must(task.AskParent(ctx, question("q", "Which color?"), client.AskParentOptions{}))(b)
			must(task.Approve(ctx, approval("before", "ls")))(b)
			// The answer has a number among the run's decisions, and no goroutine waits for
			// it.
			b.answer(b.clarification("q"), "q", "blue")
			must(task.Approve(ctx, approval("after", "ls")))(b)
			require.NoError(b, task.SaveCheckpoint(ctx, "done"))
			require.Equal(b, int64(3), b.service.record("run").Run.ResumeAfter)
			return nil
		})
		synctest.Wait()
		b.allow("run", "before")
		synctest.Wait()
		b.allow("run", "after")
		b.completes("run")
		require.Empty(b, b.reported())
	})
}
