package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A handler asks before it does something that cannot be undone, and waits in place.
func ExampleWorker() {
	url, stop, err := serve() // an in-memory service; use your own address
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = stop() }()
	c, err := client.New(url, client.WithActor("ann"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	worker, err := client.NewWorker(c, client.WorkerOptions{Concurrency: 4})
	if err != nil {
		log.Fatal(err)
	}
	ctx, shutDown := context.WithCancel(context.Background())
	drained := make(chan error, 1)
	go func() {
		drained <- worker.Run(ctx, func(ctx context.Context, task *client.Task) error {
			var input struct{ Directory string }
			if err := task.DecodeInput(&input); err != nil {
				return err
			}
			// A stable id: after a crash the handler starts from the top and gets the
			// recorded decision.
			resolution, err := task.Approve(ctx, api.ApprovalRequest{
				ID: "remove", ToolName: "rm", Input: task.Input(), Reason: "cannot be undone",
			})
			if err != nil {
				return err
			}
			if resolution.Behavior != api.BehaviorAllow {
				return task.Fail(ctx, "not allowed: "+resolution.Reason)
			}
			return task.Complete(ctx, "removed "+input.Directory)
		})
	}()

	run, err := c.CreateRun(ctx, client.CreateRunParams{Input: map[string]string{"directory": "build"}})
	if err != nil {
		log.Fatal(err)
	}
	// Someone looks at the inbox and decides.
	for decided := false; !decided; {
		for approval, err := range c.AllApprovals(ctx, client.PendingListParams{}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%s %s\n", approval.Request.ToolName, approval.Request.Input)
			if _, err := c.ResolveRunApprovals(ctx, approval.RunID, client.ResolveApprovalsParams{
				Resolutions: []api.ApprovalResolution{{RequestID: approval.Request.ID, Behavior: api.BehaviorAllow}},
			}); err != nil {
				log.Fatal(err)
			}
			decided = true
		}
	}
	done, err := c.WaitRun(ctx, run.RunID, client.UntilTerminal)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Status, string(done.Output))
	shutDown()
	fmt.Println(<-drained)
	// Output:
	// rm {"directory":"build"}
	// completed "removed build"
	// <nil>
}

// A late caller gets the decision.
func ExampleError() {
	url, stop, err := serve()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = stop() }()
	ctx := context.Background()
	ann, err := client.New(url, client.WithActor("ann"))
	if err != nil {
		log.Fatal(err)
	}
	defer ann.Close()
	bob, err := client.New(url, client.WithActor("bob"))
	if err != nil {
		log.Fatal(err)
	}
	defer bob.Close()

	_, err = ann.CreateRun(ctx, client.CreateRunParams{
		RunID: "deploy", Input: "deploy",
		Suspend: &api.Suspension{Approvals: []api.ApprovalRequest{{
			ID: "a1", ToolCallID: "call-1", ToolName: "deploy", Input: api.JSON(`{"to":"production"}`),
		}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	decide := func(c *client.Client, behavior api.Behavior) error {
		_, err := c.ResolveRunApprovals(ctx, "deploy", client.ResolveApprovalsParams{
			Resolutions: []api.ApprovalResolution{{RequestID: "a1", Behavior: behavior}},
		})
		return err
	}
	fmt.Println(decide(ann, api.BehaviorDeny))
	late := decide(bob, api.BehaviorAllow)
	fmt.Println(errors.Is(late, client.ErrAlreadyDecided))
	if refused, ok := errors.AsType[*client.Error](late); ok {
		fmt.Println(refused.Recorded.Outcome, "by", refused.Recorded.ResolvedBy)
	}
	// Output:
	// <nil>
	// true
	// denied by ann
}
