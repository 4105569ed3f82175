package demo

import (
	"context"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

// lease is short, so that a killed worker's run can soon be claimed again.
const lease = 2 * time.Second

// Work waits for the service's URL in the demo's directory, and runs both agents until ctx
// ends.
func Work(ctx context.Context, directory string) error {
	url, err := readURL(ctx, filepath.Join(directory, URLFile), ctx.Done())
	if err != nil {
		return err
	}
	connected, err := client.New(url)
	if err != nil {
		return err
	}
	defer connected.Close()
	work := filepath.Join(directory, WorkDirectory)
	group, ctx := errgroup.WithContext(ctx)
	for agentID, handle := range map[string]client.Handler{
		agents.ShellPlanAgent: (&agents.ShellPlan{Directory: work}).Handle,
		agents.InterviewAgent: (&agents.Interview{Directory: work}).Handle,
	} {
		worker, err := client.NewWorker(connected, client.WorkerOptions{
			AgentIDs: []string{agentID}, LeaseMs: lease.Milliseconds(), PollWait: time.Second,
		})
		if err != nil {
			return err
		}
		group.Go(func() error { return worker.Run(ctx, handle) })
	}
	return group.Wait()
}
