package demo

import (
	"context"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/examples/agents"
)

// lease is short, so that the run of a worker that is killed comes back soon.
const lease = 2 * time.Second

// Work runs both agents, once the service has written its URL to the demo's directory,
// until ctx ends.
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
