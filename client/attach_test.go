package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/runs/model"
)

func question(id, text string) api.UserQuestionRequest {
	return api.UserQuestionRequest{ID: id, Questions: []api.UserQuestion{{ID: "color", Question: text}}}
}

func TestManyGoroutinesWaitInPlaceBehindOnePoll(t *testing.T) {
	inBubble(t, func(b *rig) {
		const many = 20
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			var asked sync.WaitGroup
			for i := range many {
				asked.Go(func() {
					id := fmt.Sprint("a", i)
					resolution := must(task.Approve(ctx, approval(id, id)))(b)
					require.Equal(b, id, resolution.RequestID, "each is handed its own decision")
					require.Equal(b, api.OutcomeAllowed, resolution.Outcome)
				})
			}
			asked.Go(func() {
				answer := must(task.Ask(ctx, question("q", "Which color?")))(b)
				require.Equal(b, "Which color?: blue", answer.Summary)
			})
			asked.Wait()
			return nil
		})
		synctest.Wait()
		require.Equal(b, 1, b.service.calls("/resume"), "one long-poll for all")
		require.Equal(b, api.StatusWaitingForUserQuestion, b.service.record("run").Run.Status)
		for i := range many {
			b.allow("run", fmt.Sprint("a", i))
		}
		must(b.client.AnswerRunQuestion(b.Context(), "run", blue("q")))(b)
		b.completes("run")
		require.Equal(b, int64(1), b.service.record("run").Run.Fence, "the run was never claimed again")
		require.Empty(b, b.reported())
	})
}

func TestOneAfterTheOther(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			for i := range 5 {
				if _, err := task.Approve(ctx, approval(fmt.Sprint("a", i), "x")); err != nil {
					return err
				}
			}
			return nil
		})
		for i := range 5 {
			// Longer than a poll and a lease.
			<-time.After(100 * time.Second)
			b.allow("run", fmt.Sprint("a", i))
		}
		b.completes("run")
	})
}

func TestTwoWhoAskTheSameThingShareTheAnswer(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			var asked sync.WaitGroup
			for range 2 {
				asked.Go(func() {
					must(task.Approve(ctx, approval("a", "ls")))(b)
				})
			}
			asked.Go(func() {
				<-time.After(time.Second)
				_, err := task.Approve(ctx, approval("a", "rm -rf /"))
				require.ErrorIs(b, err, client.ErrIDConflict)
			})
			asked.Wait()
			return nil
		})
		<-time.After(5 * time.Second)
		require.Equal(b, 1, b.service.calls("/suspend"))
		b.allow("run", "a")
		b.completes("run")
	})
}

func TestWhoeverStopsWaitingWithdrawsOnlyItsRequest(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			var asked sync.WaitGroup
			asked.Go(func() {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_, err := task.Approve(short, approval("short", "x"))
				require.ErrorIs(b, err, context.DeadlineExceeded)
				record := b.service.record("run")
				require.Equal(b, api.OutcomeCancelled, record.Requests[0].Outcome, "it returns when that is done")
			})
			asked.Go(func() {
				<-time.After(time.Millisecond)
				must(task.Approve(ctx, approval("long", "x")))(b)
			})
			asked.Wait()
			return nil
		})
		<-time.After(time.Minute)
		require.Equal(b, api.StatusWaitingForApproval, b.service.record("run").Run.Status)
		b.allow("run", "long")
		b.completes("run")
		require.Empty(b, b.reported())
	})
}

func TestARequestAbandonedWhileItIsRaisedIsWithdrawn(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		b.service.setBefore(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/suspend") {
				<-time.After(5 * time.Second)
			}
			return false
		})
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := task.Approve(short, approval("a", "x"))
			require.ErrorIs(b, err, context.DeadlineExceeded)
			return nil
		})
		b.completes("run")
		require.Equal(b, api.OutcomeCancelled, b.service.record("run").Requests[0].Outcome)
		require.Equal(b, api.ViaWorker, b.service.record("run").Requests[0].Recorded().Via)
	})
}

// crash ends the worker of a rig like a killed process: nothing it sends arrives any more.
func (b *rig) crash() {
	b.Helper()
	b.service.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(503)
		return true
	})
	b.stop()
	require.NoError(b, <-b.done)
	b.service.setBefore(nil)
}

func TestAHandlerWithStableIDsSurvivesACrash(t *testing.T) {
	t.Parallel()
	for name, crashAfter := range map[string]int{"before any decision": 0, "after one decision": 1, "after two": 2} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.submit("run")
				handler := func(ctx context.Context, task *client.Task) error {
					outcomes := ""
					for _, id := range []string{"first", "second", "third"} {
						resolution, err := task.Approve(ctx, approval(id, id))
						if err != nil {
							return err
						}
						outcomes += string(resolution.Outcome) + " "
						if err := task.SaveCheckpoint(ctx, id); err != nil {
							return err
						}
					}
					return task.Complete(ctx, outcomes)
				}
				options := client.WorkerOptions{DrainTimeout: -1, LeaseMs: 3000}
				b.start(options, handler)
				ids := []string{"first", "second", "third"}
				for _, id := range ids[:crashAfter] {
					synctest.Wait()
					b.allow("run", id)
				}
				synctest.Wait()
				b.crash()
				b.start(options, handler)
				for _, id := range ids[crashAfter:] {
					<-time.After(10 * time.Second)
					b.allow("run", id)
				}
				require.Equal(b, `"allowed allowed allowed "`, string(b.terminal("run").Output))
				b.end()
				require.Len(b, b.service.record("run").Requests, 3, "nothing was asked twice")
			})
		})
	}
}

func TestACheckpointTakesInOnlyWhatWasHandedOver(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			var asked sync.WaitGroup
			asked.Go(func() { _, _ = task.Approve(ctx, approval("other", "x")) })
			must(task.Approve(ctx, approval("own", "x")))(b)
			require.NoError(b, task.SaveCheckpoint(ctx, "own is done"))
			require.Equal(b, int64(1), b.service.record("run").Run.ResumeAfter)
			asked.Wait()
			require.NoError(b, task.SaveCheckpoint(ctx, "both are done"))
			require.Equal(b, int64(2), b.service.record("run").Run.ResumeAfter)
			return nil
		})
		synctest.Wait()
		b.allow("run", "own")
		synctest.Wait()
		b.allow("run", "other")
		b.completes("run")
	})
}

func TestAnExpiredQuestionEndsItsRunAndTheHandler(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		var answer api.AnswerForWorker
		var err, cause error
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			request := question("q", "Which?")
			request.ExpiresAfterMs = new(int64(5000))
			answer, err = task.Ask(ctx, request)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return err
		})
		require.Equal(b, api.StatusCancelled, b.terminal("run").Status)
		synctest.Wait()
		b.end()
		require.NoError(b, err)
		require.Equal(b, api.OutcomeExpired, answer.Outcome)
		require.ErrorIs(b, cause, client.ErrCancelled)
	})
}

func TestAStoppingWorkerLeavesOpenWhatItWaitsFor(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		handler := func(ctx context.Context, task *client.Task) error {
			_, err := task.Approve(ctx, approval("a", "x"))
			if err != nil {
				require.ErrorIs(b, err, client.ErrWorkerStopped)
			}
			return err
		}
		b.start(client.WorkerOptions{DrainTimeout: -1}, handler)
		synctest.Wait()
		b.end()
		record := b.service.record("run")
		require.Equal(b, api.StatusWaitingForApproval, record.Run.Status)
		require.True(b, record.Requests[0].Open())
		require.Equal(b, model.LeaseReleased, record.Run.LeaseEnd)

		b.allow("run", "a")
		b.start(client.WorkerOptions{}, handler)
		b.completes("run")
		require.Empty(b, b.reported())
	})
}

func TestSuspendEndsTheWaitsThatAreLeft(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		var left error
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			if task.Resume() != nil {
				return nil
			}
			var asked sync.WaitGroup
			asked.Go(func() { _, left = task.Approve(ctx, approval("a", "x")) })
			synctest.Wait()
			_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("b", "x")}})
			asked.Wait()
			return err
		})
		<-time.After(time.Second)
		b.allow("run", "a", "b")
		b.completes("run")
		require.ErrorIs(b, left, client.ErrSuspended)
		require.Empty(b, b.reported())
	})
}

func TestARequestThatIsNoGoodIsRefusedToItsAskerOnly(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			_, err := task.Ask(ctx, api.UserQuestionRequest{ID: "q"})
			require.ErrorIs(b, err, client.ErrInvalid)
			_, err = task.Approve(ctx, approval("a", "x"))
			return err
		})
		synctest.Wait()
		b.allow("run", "a")
		b.completes("run")
	})
}
