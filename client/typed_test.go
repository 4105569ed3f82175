package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

type greeting struct{ Name string }

func TestATypedHandlerGetsItsInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler client.Handler
		status  api.Status
		output  string
		error   string
		failed  int
	}{
		"an output": {
			handler: client.Typed(func(_ context.Context, _ *client.Task, in greeting) (string, error) { return "hello " + in.Name, nil }),
			status:  api.StatusCompleted, output: `"hello run"`,
		},
		"no output": {
			handler: client.Typed(func(context.Context, *client.Task, greeting) (any, error) { return nil, nil }),
			status:  api.StatusCompleted,
		},
		"ended by itself": {
			handler: client.Typed(func(ctx context.Context, task *client.Task, _ greeting) (string, error) {
				return "unused", task.Fail(ctx, "own words")
			}),
			status: api.StatusFailed, error: "own words",
		},
		"an error": {
			handler: client.Typed(func(context.Context, *client.Task, greeting) (string, error) { return "unused", errors.New("no luck") }),
			status:  api.StatusFailed, error: "no luck", failed: 3,
		},
		"another input": {
			handler: client.Typed(func(context.Context, *client.Task, int) (string, error) { panic("it must not be called") }),
			status:  api.StatusFailed, error: "decode input", failed: 1,
		},
		"an output without a JSON form": {
			handler: client.Typed(func(context.Context, *client.Task, greeting) (func(), error) { return func() {}, nil }),
			status:  api.StatusFailed, error: "invalid request: output", failed: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.handle("run", test.handler)
				run := b.terminal("run")
				b.end()
				require.Equal(b, test.status, run.Status)
				require.Equal(b, test.output, string(run.Output))
				require.True(b, strings.HasPrefix(run.Error, test.error), run.Error)
				require.Len(b, b.reported(), test.failed)
			})
		})
	}
}

func TestApprovedAfterASuspend(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		behavior api.Behavior
		edit     string
		status   api.Status
		says     string
	}{
		"allowed": {behavior: api.BehaviorAllow, status: api.StatusCompleted, says: `"hello run"`},
		"edited":  {behavior: api.BehaviorAllow, edit: `{"name":"world"}`, status: api.StatusCompleted, says: `"hello world"`},
		"emptied": {behavior: api.BehaviorAllow, edit: `{}`, status: api.StatusCompleted, says: `"hello "`},
		"denied":  {behavior: api.BehaviorDeny, edit: `{"name":"world"}`, status: api.StatusFailed, says: "greet was not allowed: denied by ann"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.handle("run", client.Typed(func(ctx context.Context, task *client.Task, input greeting) (string, error) {
					resume, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{
						{ID: "greet", ToolName: "greet", Input: task.Input()},
					}})
					if err != nil {
						return "", err
					}
					if err := resume.Approved("greet", &input); err != nil {
						return "", fmt.Errorf("it goes no further: %w", err)
					}
					return "hello " + input.Name, nil
				}))
				synctest.Wait()
				pending := must(b.client.GetRun(b.Context(), "run"))(b).PendingApprovals
				require.Equal(b, "greet", pending[0].ToolCallID, "the id of the request")
				decision := allowing("greet")
				decision.Resolutions[0].Behavior = test.behavior
				if test.edit != "" {
					decision.Resolutions[0].UpdatedInput = api.JSON(test.edit)
				}
				must(b.client.ResolveRunApprovals(b.Context(), "run", decision))(b)
				run := b.terminal("run")
				b.end()
				require.Equal(b, test.status, run.Status)
				require.Contains(b, string(run.Output)+run.Error, test.says)
				require.Empty(b, b.reported(), "a denial is not a failed attempt")
			})
		})
	}
}

func TestApproveInputWaitsInPlace(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", client.Typed(func(ctx context.Context, task *client.Task, input greeting) (string, error) {
			if err := task.ApproveInput(ctx, api.ApprovalRequest{ID: "one", ToolName: "greet", Input: task.Input()}, &input); err != nil {
				return "", err
			}
			first := input
			err := task.ApproveInput(ctx, api.ApprovalRequest{ID: "two", ToolName: "greet", Input: task.Input()}, &input)
			return first.Name + input.Name, err
		}))
		synctest.Wait()
		decision := allowing("one")
		decision.Resolutions[0].UpdatedInput = api.JSON(`{"name":"world"}`)
		must(b.client.ResolveRunApprovals(b.Context(), "run", decision))(b)
		synctest.Wait()
		decision = allowing("two")
		decision.Resolutions[0].Behavior, decision.Resolutions[0].Reason = api.BehaviorDeny, "once is enough"
		must(b.client.ResolveRunApprovals(b.Context(), "run", decision))(b)
		run := b.terminal("run")
		b.end()
		require.Equal(b, "greet was not allowed: denied by ann: once is enough", run.Error)
		require.Empty(b, b.reported())
	})
}

// A member that one way of reading an input finds and another does not would be a zero value in the
// latter, without an error.
func TestAnInputDecodesAlikeBeforeAndAfterItsApproval(t *testing.T) {
	t.Parallel()
	type order struct {
		DryRun bool
		Amount int64 `json:"amount_in_cents"`
		Within time.Duration
	}
	for name, test := range map[string]struct {
		input string
		want  order
	}{
		"other delimiters": {`{"dry_run":true,"amount-in-cents":5}`, order{}},
		"another case":     {`{"dryrun":true,"AMOUNT_IN_CENTS":5}`, order{DryRun: true, Amount: 5}},
		"the names":        {`{"DryRun":true,"amount_in_cents":5}`, order{DryRun: true, Amount: 5}},
		"both":             {`{"DryRun":true,"dry_run":false}`, order{DryRun: true}},
		"nulls":            {`{"DryRun":null,"amount_in_cents":null}`, order{}},
		"a duration":       {`{"within":1000}`, order{Within: time.Microsecond}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.handleInput("run", api.JSON(test.input), client.Typed(func(ctx context.Context, task *client.Task, input order) (any, error) {
					require.Equal(b, test.want, input)
					settled := api.SettledApproval{
						Request:    api.ApprovalRequest{Input: task.Input()},
						Resolution: api.Resolution{Outcome: api.OutcomeAllowed, Behavior: api.BehaviorAllow},
					}
					var suspended, waited order
					require.NoError(b, settled.Approved(&suspended))
					require.Equal(b, test.want, suspended)
					err := task.ApproveInput(ctx, api.ApprovalRequest{ID: "one", ToolName: "order", Input: task.Input()}, &waited)
					require.Equal(b, test.want, waited)
					return nil, err
				}))
				synctest.Wait()
				b.allow("run", "one")
				b.completes("run")
			})
		})
	}
}

// An edit replaces the whole input, and the input stays as it is without an approval that fits it.
func TestApproveInputReadsTheTagsOfDecodeInput(t *testing.T) {
	type order struct {
		Amount int64
		Others map[string]any `json:",embed"`
	}
	inBubble(t, func(b *rig) {
		b.handleInput("run", api.JSON(`{"amount":5,"dry_run":true}`), client.Typed(func(ctx context.Context, task *client.Task, input order) (any, error) {
			require.Equal(b, order{5, map[string]any{"dry_run": true}}, input)
			request := api.ApprovalRequest{ID: "one", ToolName: "order", Input: task.Input()}
			require.NoError(b, task.ApproveInput(ctx, request, &input))
			require.Equal(b, order{5, map[string]any{"dry_run": true}}, input)
			request.ID = "two"
			require.NoError(b, task.ApproveInput(ctx, request, &input))
			require.Equal(b, order{Others: map[string]any{"dry_run": true}}, input)
			request.ID = "three"
			require.ErrorContains(b, task.ApproveInput(ctx, request, &input), "approval three: decode the approved input of order")
			require.Equal(b, order{Others: map[string]any{"dry_run": true}}, input)
			request.ID = "one"
			for _, into := range []any{nil, input, (*order)(nil)} {
				require.ErrorContains(b, task.ApproveInput(ctx, request, into), "into must be a pointer")
			}
			return nil, nil
		}))
		for _, test := range []struct{ id, edit string }{{"one", ""}, {"two", `{"dry_run":true}`}, {"three", `{"amount":"5"}`}} {
			synctest.Wait()
			decision := allowing(test.id)
			if test.edit != "" {
				decision.Resolutions[0].UpdatedInput = api.JSON(test.edit)
			}
			must(b.client.ResolveRunApprovals(b.Context(), "run", decision))(b)
		}
		b.completes("run")
	})
}

// TestEventsOfAHandlerThatStartsAgain counts what is in the log after two claims of the same handler.
func TestEventsOfAHandlerThatStartsAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		checkpoint api.JSON
		before     func(ctx context.Context, task *client.Task) error
		outputs    int
	}{
		"once": {before: func(ctx context.Context, task *client.Task) error { return task.Output(ctx, "begins") }, outputs: 1},
		"equal outputs of one claim": {
			before: func(ctx context.Context, task *client.Task) error {
				return errors.Join(task.Output(ctx, "begins"), task.Output(ctx, "begins"))
			}, outputs: 2,
		},
		"what differs in each claim": {
			before: func(ctx context.Context, task *client.Task) error { return task.Output(ctx, "claim "+task.Fence()) }, outputs: 2,
		},
		"since another checkpoint": {
			checkpoint: api.JSON(`{"step":1}`),
			before:     func(ctx context.Context, task *client.Task) error { return task.Output(ctx, "works") }, outputs: 2,
		},
		"several calls": {
			before: func(ctx context.Context, task *client.Task) error {
				var events []any
				for range api.MaxEventsPerCall + 1 {
					events = append(events, map[string]string{"type": "output", "content": "x"})
				}
				return task.Emit(ctx, events...)
			}, outputs: api.MaxEventsPerCall + 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(b *rig) {
				b.handle("run", func(ctx context.Context, task *client.Task) error {
					if err := test.before(ctx, task); err != nil {
						return err
					}
					_, err := task.Suspend(ctx, api.Suspension{
						Approvals: []api.ApprovalRequest{approval("a", "make")}, Checkpoint: test.checkpoint,
					})
					return err
				})
				synctest.Wait()
				b.allow("run", "a")
				run := b.terminal("run")
				b.end()
				require.Empty(b, b.reported())
				require.EqualValues(b, test.outputs, run.OutputsCount)
			})
		})
	}
}

func TestACheckpointSeparatesEqualEvents(t *testing.T) {
	inBubble(t, func(b *rig) {
		crashed := false
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			if task.Checkpoint() == nil {
				if err := errors.Join(task.Output(ctx, "works"), task.SaveCheckpoint(ctx, map[string]int{"step": 1})); err != nil {
					return err
				}
			}
			if err := task.Output(ctx, "works"); err != nil || crashed {
				return err
			}
			crashed = true
			return errors.New("crash")
		})
		run := b.terminal("run")
		b.end()
		require.EqualValues(b, 2, run.OutputsCount)
		require.Len(b, b.reported(), 1)
	})
}

// The same with a checkpoint that came with a suspension which rules settled at once.
func TestACheckpointOfASettledSuspensionRepeatsNoEvents(t *testing.T) {
	t.Parallel()
	c := realClient(t)
	must(c.AddRule(t.Context(), anyOf("bash")))(t)
	reported := make(chan error, 10)
	worker := must(client.NewWorker(c, client.WorkerOptions{RetryDelay: time.Millisecond, OnError: func(err error) { reported <- err }}))(t)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Run(ctx, func(ctx context.Context, task *client.Task) error {
			_, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{approval("a", "ls")}, Checkpoint: api.JSON(`{"step":1}`)})
			if err != nil {
				return err
			}
			if err := task.Output(ctx, "works"); err != nil || task.Run().FailedAttempts > 0 {
				return err
			}
			return errors.New("crash")
		})
	}()
	made := must(c.CreateRun(t.Context(), client.CreateRunParams{Input: "x"}))(t)
	run := must(c.WaitRun(t.Context(), made.RunID, client.UntilTerminal))(t)
	stop()
	require.NoError(t, <-ended)
	require.Equal(t, api.StatusCompleted, run.Status, run.Error)
	require.EqualValues(t, 1, run.OutputsCount)
	require.Len(t, reported, 1, "it crashed once")
}

// The idempotency keys of a run outlive the run, if retention deletes it before its session.
func TestARunIDThatIsUsedAgainLosesNoEvents(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("daily", func(ctx context.Context, task *client.Task) error { return task.Output(ctx, "begins") })
		first := b.terminal("daily")
		b.service.forget("daily")
		<-time.After(24 * time.Hour)
		again := must(b.client.CreateRun(b.Context(), client.CreateRunParams{RunID: "daily", SessionID: first.SessionID, Input: 1}))(b)
		require.Greater(b, again.SubmittedAtMs, first.SubmittedAtMs)
		run := b.terminal("daily")
		b.end()
		require.Empty(b, b.reported())
		require.EqualValues(b, 1, run.OutputsCount)
	})
}

// A run whose output the service refuses, such as one that is too large, fails at once: its
// handler has done the work, and would return the same.
func TestARefusedOutputFailsTheRun(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.service.setBefore(func(w http.ResponseWriter, r *http.Request) bool {
			refused := strings.HasSuffix(r.URL.Path, "/complete")
			if refused {
				answer(w, http.StatusRequestEntityTooLarge, map[string]string{"code": "body_too_large"}, nil)
			}
			return refused
		})
		b.handle("run", client.Typed(func(context.Context, *client.Task, any) (string, error) { return "large", nil }))
		run := b.terminal("run")
		b.end()
		require.Equal(b, api.StatusFailed, run.Status)
		require.Equal(b, "output: body_too_large", run.Error)
		require.EqualValues(b, 1, run.Attempt)
		var failed *client.AttemptError
		require.Len(b, b.reported(), 1)
		require.ErrorAs(b, b.reported()[0], &failed)
		require.True(b, failed.Last)
	})
}

// Nothing is asked by a caller that has given up before.
func TestAnEndedContextAsksNothing(t *testing.T) {
	inBubble(t, func(b *rig) {
		b.handle("run", func(ctx context.Context, task *client.Task) error {
			ended, end := context.WithCancel(ctx)
			end()
			_, err := task.Approve(ended, approval("a", "ls"))
			require.ErrorIs(b, err, context.Canceled)
			return nil
		})
		b.completes("run")
		require.Empty(b, b.service.record("run").Requests)
	})
}

// What DecodeInput reads, EncodeJSON writes.
func TestADurationIsItsNanosecondsInBothDirections(t *testing.T) {
	t.Parallel()
	type step struct{ After time.Duration }
	text, err := client.EncodeJSON(step{After: time.Second})
	require.NoError(t, err)
	require.JSONEq(t, `{"After":1000000000}`, string(text))
}
