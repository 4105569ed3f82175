//go:build unix && agents

package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// goHandlers are the handlers that scenarios name; every driver has the same.
var goHandlers = map[string]func(ctx context.Context, task *client.Task) (any, error){
	"approve": func(ctx context.Context, task *client.Task) (any, error) {
		decision, err := task.Approve(ctx, api.ApprovalRequest{ID: "go", ToolName: "deploy", Input: task.Input()})
		if err != nil {
			return nil, err
		}
		input := task.Input()
		if decision.UpdatedInput != nil {
			input = decision.UpdatedInput
		}
		return map[string]any{"outcome": decision.Outcome, "by": decision.ResolvedBy, "input": input}, nil
	},
	"suspend": func(ctx context.Context, task *client.Task) (any, error) {
		resume, err := task.Suspend(ctx, api.Suspension{
			Approvals:  []api.ApprovalRequest{{ID: "go", ToolCallID: "c", ToolName: "deploy", Input: task.Input()}},
			Checkpoint: api.JSON(`{"step": 1}`),
		})
		if err != nil {
			return nil, err
		}
		decision := resume.Approvals[0].Resolution
		return map[string]any{"outcome": decision.Outcome, "reason": decision.Reason, "checkpoint": task.Checkpoint()}, nil
	},
	"ask": func(ctx context.Context, task *client.Task) (any, error) {
		way, err := task.Ask(ctx, api.UserQuestionRequest{ID: "which", Questions: []api.UserQuestion{{
			ID: "way", Question: "Which way?", Options: []api.QuestionOption{{ID: "left"}, {ID: "right"}},
		}}})
		if err != nil {
			return nil, err
		}
		count, err := task.Ask(ctx, api.UserQuestionRequest{ID: "count", Kind: "count", ResponseSchema: api.JSON(`{"type": "object", "required": ["replicas"]}`)})
		if err != nil {
			return nil, err
		}
		note, err := task.Ask(ctx, api.UserQuestionRequest{ID: "note", Kind: "note"})
		if err != nil {
			return nil, err
		}
		return map[string]any{"way": way.Answers[0].SelectedOptionIDs, "count": count.Value, "note": note.Value}, nil
	},
	"both": func(ctx context.Context, task *client.Task) (any, error) {
		outcomes := map[string]any{}
		var one, two api.Resolution
		group, ctx := errgroup.WithContext(ctx)
		for id, into := range map[string]*api.Resolution{"one": &one, "two": &two} {
			group.Go(func() (err error) {
				*into, err = task.Approve(ctx, api.ApprovalRequest{ID: id, ToolName: id, Input: api.JSON("1")})
				return err
			})
		}
		err := group.Wait()
		outcomes["one"], outcomes["two"] = one.Outcome, two.Outcome
		return outcomes, err
	},
	"busy": func(ctx context.Context, task *client.Task) (any, error) {
		if err := task.Output(ctx, "begins"); err != nil {
			return nil, err
		}
		if err := task.SaveCheckpoint(ctx, 1); err != nil {
			return nil, err
		}
		if _, err := task.Approve(ctx, api.ApprovalRequest{ID: "in-place", ToolName: "look", Input: api.JSON("1")}); err != nil {
			return nil, err
		}
		if err := task.Emit(ctx, map[string]string{"type": "step"}); err != nil {
			return nil, err
		}
		parked := api.ApprovalRequest{ID: "parked", ToolCallID: "c", ToolName: "deploy", Input: api.JSON("1")}
		if _, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{parked}}); err != nil {
			return nil, err
		}
		_, err := task.Ask(ctx, api.UserQuestionRequest{ID: "which", Questions: []api.UserQuestion{{
			ID: "way", Question: "Which way?", Options: []api.QuestionOption{{ID: "left"}, {ID: "right"}},
		}}})
		return "done", err
	},
	"carry": func(ctx context.Context, task *client.Task) (any, error) {
		resume, err := task.Suspend(ctx, api.Suspension{
			Approvals:  []api.ApprovalRequest{{ID: "go", ToolCallID: "c", ToolName: "deploy", Input: task.Input()}},
			Checkpoint: task.Input(),
		})
		if err != nil {
			return nil, err
		}
		decision := resume.Approvals[0].Resolution
		if _, err := task.RedeemGrant(ctx, decision, decision.UpdatedInput); err != nil {
			return nil, err
		}
		answer, err := task.Ask(ctx, api.UserQuestionRequest{ID: "value", Kind: "value", Payload: task.Input(), ResponseSchema: api.JSON(`{"type":"object"}`)})
		if err != nil {
			return nil, err
		}
		if err := task.Emit(ctx, struct { // a map has no order
			Type  string   `json:"type"`
			Value api.JSON `json:"value"`
		}{"carried", answer.Value}); err != nil {
			return nil, err
		}
		if err := task.SaveCheckpoint(ctx, decision.UpdatedInput); err != nil {
			return nil, err
		}
		return struct {
			Input      api.JSON `json:"input"`
			Updated    api.JSON `json:"updated"`
			Checkpoint api.JSON `json:"checkpoint"`
			Value      api.JSON `json:"value"`
		}{task.Input(), decision.UpdatedInput, task.Checkpoint(), answer.Value}, nil
	},
	"careless": func(ctx context.Context, task *client.Task) (any, error) {
		if err := task.Output(ctx, "begins"); err != nil {
			return nil, err
		}
		resume, err := task.Suspend(ctx, api.Suspension{Approvals: []api.ApprovalRequest{
			{ID: "first", ToolName: "build", Input: task.Input()}, {ID: "second", ToolName: "deploy", Input: task.Input()},
		}})
		if err != nil {
			return nil, err
		}
		if err := task.Output(ctx, "goes on"); err != nil {
			return nil, err
		}
		var second, first, third api.JSON
		if err := errors.Join(resume.Approved("second", &second), resume.Approved("first", &first)); err != nil {
			return nil, err
		}
		err = task.ApproveInput(ctx, api.ApprovalRequest{ID: "third", ToolName: "announce", Input: task.Input()}, &third)
		return map[string]any{"first": first, "second": second, "third": third}, err
	},
	"own_ids": func(ctx context.Context, task *client.Task) (any, error) {
		outcomes := map[string]any{}
		for _, id := range []string{"first", "second"} {
			resume, err := task.Suspend(ctx, api.Suspension{
				SuspensionID: "s-" + id, Approvals: []api.ApprovalRequest{{ID: id, ToolName: "deploy", Input: task.Input()}},
			})
			if err != nil {
				return nil, err
			}
			outcomes[id] = resume.Approvals[0].Resolution.Outcome
		}
		return outcomes, nil
	},
	"no_ids": func(ctx context.Context, task *client.Task) (any, error) {
		resume, err := task.Suspend(ctx, api.Suspension{
			SuspensionID: "s", Questions: []api.UserQuestionRequest{{ToolCallID: "which", Questions: []api.UserQuestion{{ID: "way", Question: "Which way?"}}}},
		})
		if err != nil {
			return nil, err
		}
		return resume.Questions[0].Resolution.Answers[0].FreeformAnswer, nil
	},
	"fail": func(context.Context, *client.Task) (any, error) { return nil, errors.New("out of paper") },
}

// report keeps what a worker reports.
func (d *goDriver) report(err error) {
	about := map[string]any{"other": err.Error()}
	if failed := (*client.AttemptError)(nil); errors.As(err, &failed) {
		run, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "run "), ":")
		about = map[string]any{"run": run, "attempt": failed.Attempt, "last": failed.Last, "cause": failed.Err.Error()}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reports = append(d.reports, about)
}

// work starts a worker, to be stopped by its entry of workers.
func (d *goDriver) work(name, agentID, handler string) {
	service, err := client.New(d.url)
	require.NoError(d, err)
	d.Cleanup(service.Close)
	worker, err := client.NewWorker(service, client.WorkerOptions{
		WorkerID: name, AgentIDs: []string{agentID}, DrainTimeout: 10 * time.Minute, RetryDelay: 10 * time.Millisecond,
		OnError: d.report, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(d, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = worker.Run(ctx, func(ctx context.Context, task *client.Task) error {
			result, err := goHandlers[handler](ctx, task)
			if err != nil {
				return err
			}
			text, err := json.Marshal(result)
			if err != nil {
				return err
			}
			d.mu.Lock()
			d.results = append(d.results, api.JSON(text))
			d.mu.Unlock()
			return task.Complete(ctx, api.JSON(text))
		})
	}()
	d.workers[name] = func() {
		stop()
		<-ended
	}
	d.Cleanup(d.workers[name])
}
