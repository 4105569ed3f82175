package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

func TestARequestThatIsOpenAlreadyIsAdopted(t *testing.T) {
	inBubble(t, func(b *rig) {
		which := func(description, preview string) api.UserQuestionRequest {
			asked := question("q", "Which?")
			asked.Questions[0].Options = []api.QuestionOption{{ID: "o", Label: "A", Description: description, Preview: preview}}
			return asked
		}
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			// Raised in another way under the same lease.
			must(b.client.Suspend(ctx, task.RunID(), task.Fence(), api.Suspension{
				Hold:      true,
				Approvals: []api.ApprovalRequest{approval("a", "ls")},
				Questions: []api.UserQuestionRequest{{ID: "q", ToolCallID: "c", Questions: which("staging", "").Questions}},
			}))(b)
			_, err := task.Approve(ctx, approval("a", "rm -rf /"))
			require.ErrorIs(b, err, client.ErrIDConflict, "other arguments")
			elsewhere := approval("a", "ls")
			elsewhere.Directory = "/elsewhere"
			_, err = task.Approve(ctx, elsewhere)
			require.ErrorIs(b, err, client.ErrIDConflict, "another directory")
			_, err = task.Approve(ctx, approval("q", "ls"))
			require.ErrorIs(b, err, client.ErrIDConflict, "a question is not an approval")
			_, err = task.Ask(ctx, question("q", "Which other?"))
			require.ErrorIs(b, err, client.ErrIDConflict, "another question")
			for _, other := range []api.UserQuestionRequest{which("production", ""), which("", ""), which("staging", "rm -rf /")} {
				_, err = task.Ask(ctx, other)
				require.ErrorIs(b, err, client.ErrIDConflict, "the option stands for something else")
			}
			must(task.Approve(ctx, approval("a", "ls")))(b)
			answer := must(task.Ask(ctx, which("staging", "")))(b)
			return task.Complete(ctx, answer.Outcome)
		})
		synctest.Wait()
		b.allow("run", "a")
		synctest.Wait()
		must(b.client.AnswerRunQuestion(b.Context(), "run", client.AnswerQuestionParams{
			Resolution: api.UserQuestionResolution{RequestID: "q", Declined: true},
		}))(b)
		require.Equal(b, `"declined"`, string(b.terminal("run").Output))
		b.end()
	})
}

// A run's view masks sensitive values, and a decision does not.
func TestASensitiveRequestThatIsOpenIsAdopted(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodGet || r.URL.Path != "/v1/runs/run" {
				return false
			}
			view := b.service.record("run").View()
			for i := range view.PendingApprovals {
				view.PendingApprovals[i].SensitivePaths = []string{"/command"}
				view.PendingApprovals[i].Input = api.JSON(`{"command":{"sensitive":true}}`)
			}
			if len(view.PendingApprovals) > 0 {
				answer(w, http.StatusOK, view, nil)
			}
			return len(view.PendingApprovals) > 0
		})
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			must(b.client.Suspend(ctx, task.RunID(), task.Fence(), api.Suspension{
				Hold: true, Approvals: []api.ApprovalRequest{approval("a", "ls"), approval("b", "ls")},
			}))(b)
			other := approval("a", "ls")
			other.ToolName = "other"
			_, err := task.Approve(ctx, other)
			require.ErrorIs(b, err, client.ErrIDConflict, "another tool")
			require.Equal(b, api.OutcomeAllowed, must(task.Approve(ctx, approval("a", "ls")))(b).Outcome)
			_, err = task.Approve(ctx, approval("b", "rm -rf /"))
			require.ErrorIs(b, err, client.ErrIDConflict, "other arguments")
			return nil
		})
		synctest.Wait()
		b.allow("run", "a")
		synctest.Wait()
		b.allow("run", "b")
		b.completes("run")
		require.Empty(b, b.reported())
	})
}

func TestAnIDThatWasUsedAndSettledGivesItsDecision(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			if task.Checkpoint() == nil {
				_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "ls")}})
				if err != nil {
					return err
				}
				// From here on, claims no longer include the decision.
				if _, err := task.Suspend(ctx, api.Suspension{
					Approvals: []api.ApprovalRequest{approval("b", "ls")}, Checkpoint: api.JSON(`"a is done"`),
				}); err != nil {
					return err
				}
			}
			_, err := task.Approve(ctx, approval("a", "rm -rf /"))
			require.ErrorIs(b, err, client.ErrIDConflict)
			resolution := must(task.Approve(ctx, approval("a", "ls")))(b)
			return task.Complete(ctx, resolution.Outcome)
		})
		synctest.Wait()
		b.allow("run", "a")
		synctest.Wait()
		b.allow("run", "b")
		require.Equal(b, `"allowed"`, string(b.terminal("run").Output))
		b.end()
		require.Len(b, b.service.record("run").Requests, 2)
	})
}

func TestAttachedWaitsRideOutAnUnavailableService(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			_, err := task.Approve(ctx, approval("a", "x"))
			return err
		})
		synctest.Wait()
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/resume") {
				return false
			}
			w.WriteHeader(503)
			return true
		})
		<-time.After(10 * time.Minute)
		b.service.setBefore(nil)
		b.allow("run", "a")
		b.completes("run")
		require.Less(b, b.service.calls("/resume"), 1000)
	})
}

func TestAServiceThatDoesNotHoldRepliesIsNotHammered(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case strings.HasSuffix(r.URL.Path, "/resume"):
				_, _ = io.WriteString(w, `{"after":"0","settled":[],"open":1}`)
			case strings.HasSuffix(r.URL.Path, "/claim") && b.service.calls("/claim") > 1:
				_, _ = io.WriteString(w, `{"claims":[]}`)
			default:
				return false
			}
			return true
		})
		b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
			_, err := task.Approve(ctx, approval("a", "x"))
			return err
		})
		<-time.After(10 * time.Minute)
		require.Less(b, b.service.calls("/resume"), 1000)
		require.Less(b, b.service.calls("/claim"), 1000)
		b.service.setBefore(nil)
		b.allow("run", "a")
		b.completes("run")
	})
}

func TestAWaitEndsWhenTheServiceKnowsNothingOfIt(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"neither open nor settled": `{"after":"0","settled":[],"open":0}`,
		"unreadable cursor":        `{"after":"x","settled":[],"open":1}`,
		"unreadable decision":      `{"after":"1","settled":[7],"open":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.submit("run")
				b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
					if !strings.HasSuffix(r.URL.Path, "/resume") {
						return false
					}
					_, _ = io.WriteString(w, reply)
					return true
				})
				b.start(client.WorkerOptions{MaxAttempts: 1}, func(ctx context.Context, task *client.Task) error {
					_, err := task.Approve(ctx, approval("a", "x"))
					require.Error(b, err)
					require.NoError(b, ctx.Err())
					return err
				})
				require.Equal(b, api.StatusFailed, b.terminal("run").Status)
				b.end()
			})
		})
	}
}

func TestALostLeaseEndsAllWaits(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.submit("run")
		var cause error
		b.start(client.WorkerOptions{HeartbeatEvery: 29 * time.Second, Concurrency: 1}, func(ctx context.Context, task *client.Task) error {
			go func() {
				<-time.After(time.Second)
				// The release ends the wait, and with it ctx, before its own reply is read.
				_, err := b.client.ReleaseRun(context.WithoutCancel(ctx), task.RunID(), task.Fence(), nil)
				assert.NoError(b, err)
			}()
			_, err := task.Approve(ctx, approval("a", "x"))
			require.ErrorIs(b, err, client.ErrLeaseLost)
			cause = context.Cause(ctx)
			return err
		})
		<-time.After(10 * time.Second)
		b.end()
		require.ErrorIs(b, cause, client.ErrLeaseLost)
		require.Len(b, b.reported(), 1)
		require.True(b, b.service.record("run").Requests[0].Open())
	})
}

func TestAKnownDecisionAllowsNothingWithoutTheLease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end   func(ctx context.Context, b *rig)
		cause error
	}{
		"run cancelled": {
			end:   func(ctx context.Context, b *rig) { must(b.client.CancelRun(ctx, "run", ""))(b) },
			cause: client.ErrCancelled,
		},
		"lease lost": {
			end: func(_ context.Context, b *rig) {
				b.service.setBefore(func(w http.ResponseWriter, _ *http.Request) bool {
					w.WriteHeader(http.StatusServiceUnavailable)
					return true
				})
			},
			cause: client.ErrLeaseLost,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				request := approval("a", "x")
				errs := make(chan error, 2)
				b.submit("run")
				b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
					must(task.Approve(ctx, request))(b)
					must(task.Approve(ctx, request))(b)
					test.end(ctx, b)
					<-ctx.Done()
					ctx = context.WithoutCancel(ctx)
					_, err := task.Approve(ctx, request)
					errs <- err
					_, err = task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{request}})
					errs <- err
					return err
				})
				<-time.After(time.Second)
				b.allow("run", "a")
				require.ErrorIs(b, <-errs, test.cause)
				require.ErrorIs(b, <-errs, test.cause)
				b.end()
			})
		})
	}
}

func TestADecisionThatComesWithACancelAllowsNothing(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func(ctx context.Context, task *client.Task) error{
		"approve": func(ctx context.Context, task *client.Task) error {
			_, err := task.Approve(ctx, approval("a", "x"))
			return err
		},
		"suspend": func(ctx context.Context, task *client.Task) error {
			_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "x")}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.submit("run")
				b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
					switch {
					case strings.HasSuffix(r.URL.Path, "/resume"):
						_, _ = io.WriteString(w, `{"after":"1","open":0,"cancel_requested":true,"settled":[{"settled_number":"1",
							"request":{"id":"a","tool_call_id":"call","tool_name":"bash","input":{"command":"x"}},
							"resolution":{"request_id":"a","outcome":"allowed","behavior":"allow"}}]}`)
					case name == "suspend" && strings.HasSuffix(r.URL.Path, "/suspend"):
						w.Header().Set("Content-Type", "application/problem+json")
						w.WriteHeader(http.StatusConflict)
						_, _ = io.WriteString(w, `{"status":409,"code":"id_conflict"}`)
					default:
						return false
					}
					return true
				})
				errs := make(chan error, 1)
				b.start(client.WorkerOptions{}, func(ctx context.Context, task *client.Task) error {
					err := wait(context.WithoutCancel(ctx), task)
					errs <- err
					return err
				})
				require.ErrorIs(b, <-errs, client.ErrCancelled)
				b.end()
			})
		})
	}
}

func TestAKnownDecisionAllowsNothingOnceTheRunIsSuspended(t *testing.T) {
	inBubble(t, func(b *rig) {
		first := api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "x")}}
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			if task.Resume() != nil {
				return nil
			}
			must(task.Approve(ctx, first.Approvals[0]))(b)
			_, suspended := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("b", "y")}})
			require.ErrorIs(b, suspended, client.ErrSuspended)
			_, err := task.Approve(ctx, first.Approvals[0])
			require.ErrorIs(b, err, client.ErrSuspended)
			_, err = task.Suspend(ctx, first)
			require.ErrorIs(b, err, client.ErrSuspended)
			return suspended
		})
		<-time.After(time.Second)
		b.allow("run", "a")
		<-time.After(time.Second)
		b.allow("run", "b")
		b.completes("run")
	})
}
