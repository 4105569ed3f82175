package holdpoint_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/holdpoint/holdpoint"
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// A program runs the service, works for it and decides, without a socket.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	service, err := holdpoint.Open(ctx, "sqlite::memory:", holdpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	worker, err := service.Worker(client.WorkerOptions{AgentIDs: []string{"deployer"}})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { ended <- service.Run(ctx) }()
	go func() {
		ended <- worker.Run(ctx, func(ctx context.Context, task *client.Task) error {
			decision, err := task.Approve(ctx, api.ApprovalRequest{ID: "deploy", ToolName: "deploy", Input: task.Input()})
			if err != nil {
				return err
			}
			return task.Complete(ctx, "deploy: "+string(decision.Behavior))
		})
	}()

	people, err := service.Client(client.WithActor("ann"))
	if err != nil {
		log.Fatal(err)
	}
	run, err := people.CreateRun(ctx, client.CreateRunParams{AgentID: "deployer", Input: map[string]string{"version": "1.4"}})
	if err != nil {
		log.Fatal(err)
	}
	// People decide in the inbox of service.Handler(); here the program does.
	for item, err := range people.StreamRun(ctx, run.RunID, "") {
		if err != nil {
			log.Fatal(err)
		}
		if item.Run != nil && len(item.Run.PendingApprovals) > 0 || item.Event != nil && bytes.Contains(item.Event.Event, []byte("waiting_for_approval")) {
			break
		}
	}
	_, err = people.ResolveRunApprovals(ctx, run.RunID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: "deploy", Behavior: api.BehaviorAllow}},
	})
	if err != nil {
		log.Fatal(err)
	}
	done, err := people.WaitRun(ctx, run.RunID, client.UntilTerminal)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Status, string(done.Output))

	stop()
	for range cap(ended) {
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
	}
	if err := service.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: completed "deploy: allow"
}
