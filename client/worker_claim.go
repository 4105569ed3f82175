package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
)

const (
	// maxPolls is the number of concurrent polls of a busy worker. The service hands a
	// claimable run to a waiting poll within the decision's transaction; while one reply is
	// in flight, another poll waits.
	maxPolls = 4
	// helpingWait is how long a further poll waits before it ends.
	helpingWait = time.Second
)

// claiming is shared by the polls of a worker.
type claiming struct {
	worker *Worker
	start  func(claim api.Claim, done func())
	// room holds a token for each run in progress or asked for.
	room chan struct{}
	// helping holds a token for each poll in flight besides the first.
	helping chan struct{}
	helpers sync.WaitGroup
}

// claimLoop claims runs while there is room, until the context ends or the service
// permanently refuses. It calls start for each run, with a function to call when the run is
// done.
func (w *Worker) claimLoop(ctx context.Context, start func(claim api.Claim, done func())) error {
	c := &claiming{
		worker: w, start: start,
		room:    make(chan struct{}, w.options.Concurrency),
		helping: make(chan struct{}, min(w.options.Concurrency, maxPolls)-1),
	}
	defer c.helpers.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	pause := w.client.retry.pauses()
	for {
		select {
		case c.room <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		asked := time.Now()
		claimed, err := c.poll(ctx, w.options.PollWait)
		switch {
		case ctx.Err() != nil:
			return nil
		case claimed > 0:
			pause.reset()
			c.help(ctx)
		case err == nil:
			_ = pause.afterHeld(ctx, asked, w.options.PollWait)
		case isRefusal(err):
			return fmt.Errorf("claim runs: %w", err)
		default:
			w.report("cannot claim runs", fmt.Errorf("claim runs: %w", err))
			_ = pause.sleepAnyway(ctx, err)
		}
	}
}

// poll asks once for as many runs as there is room for, at most its share, and starts them.
// The caller has taken room for one.
func (c *claiming) poll(ctx context.Context, wait time.Duration) (claimed int, err error) {
	options := &c.worker.options
	share := (options.Concurrency + cap(c.helping)) / (cap(c.helping) + 1)
	wanted := 1
	for wanted < min(share, api.MaxRunsPerClaim) && tryAcquire(c.room) {
		wanted++
	}
	claims, err := c.worker.client.ClaimRuns(ctx, ClaimRunsParams{
		WorkerID: options.WorkerID, AgentIDs: options.AgentIDs, MaxRuns: wanted,
		LeaseMs: options.LeaseMs, WaitMs: wait.Milliseconds(),
	})
	if err != nil {
		claims = nil
	}
	for range wanted - len(claims) {
		c.leave()
	}
	for _, claim := range claims {
		c.start(claim, c.leave)
	}
	return len(claims), err
}

// help runs another concurrent poll as long as it gets runs.
func (c *claiming) help(ctx context.Context) {
	if !tryAcquire(c.helping) {
		return
	}
	c.helpers.Go(func() {
		defer func() { <-c.helping }()
		for ctx.Err() == nil && tryAcquire(c.room) {
			claimed, err := c.poll(ctx, min(helpingWait, c.worker.options.PollWait))
			if err != nil && ctx.Err() == nil && !isRefusal(err) { // the first poll returns a refusal
				c.worker.report("cannot claim runs", fmt.Errorf("claim runs: %w", err))
			}
			if claimed == 0 || err != nil {
				return
			}
			c.help(ctx)
		}
	})
}

// leave releases room.
func (c *claiming) leave() {
	select {
	case <-c.room:
	default: // the service returned more runs than requested
	}
}

func tryAcquire(room chan struct{}) bool {
	select {
	case room <- struct{}{}:
		return true
	default:
		return false
	}
}
