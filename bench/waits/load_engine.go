//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/bench/load"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/claims"
	"github.com/holdpoint/holdpoint/store"
)

// inProcess measures the engine and the claim dispatcher without HTTP. Like the worker over
// HTTP, its worker claims as many runs as it has room for.
type inProcess struct {
	engine     runs.Store
	dispatcher *claims.Dispatcher
	handovers  load.Handovers[string]
	stop       context.CancelFunc
	working    sync.WaitGroup

	mu     sync.Mutex
	failed error
}

func openEngine(ctx context.Context, options load.Options) (load.Subject, error) {
	opened, err := store.Open(ctx, options.Target, store.Options{})
	if err != nil {
		return nil, err
	}
	s := &inProcess{engine: opened, dispatcher: claims.New(opened, claims.Options{})}
	ctx, s.stop = context.WithCancel(ctx)
	s.working.Go(func() { s.fail(s.dispatcher.Run(ctx)) })
	s.working.Go(func() { s.fail(s.work(ctx, options.Clients)) })
	return s, nil
}

func (s *inProcess) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = errors.Join(s.failed, err)
}

// work claims runs and completes each in its own goroutine, until the context ends.
func (s *inProcess) work(ctx context.Context, clients int) error {
	for ctx.Err() == nil {
		claimed, err := s.dispatcher.Claim(ctx, claims.Request{
			WorkerID: "bench", AgentIDs: []string{agentID}, MaxRuns: min(clients, api.MaxRunsPerClaim), Wait: time.Minute,
		})
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("claim: %w", err)
		}
		for _, claim := range claimed {
			s.working.Go(func() {
				if err := s.handovers.Handle(claim.Run.RunID, func() error { return s.complete(ctx, claim) }); err != nil {
					s.fail(err)
				}
			})
		}
	}
	return nil
}

func (s *inProcess) complete(ctx context.Context, claim api.Claim) error {
	fence, err := strconv.ParseInt(claim.Lease.Fence, 10, 64)
	if err != nil {
		return err
	}
	_, err = s.engine.Do(ctx, &runs.Complete{RunID: claim.Run.RunID, Fence: fence, Output: output})
	return err
}

// Wait implements [load.Subject].
func (s *inProcess) Wait(ctx context.Context) (steps load.Steps, err error) {
	made, err := s.engine.Do(ctx, &runs.CreateRun{
		AgentID: agentID, Input: input, Claim: &api.ClaimOptions{WorkerID: "bench"}, Suspend: suspension(),
	})
	if err != nil {
		return steps, fmt.Errorf("create and suspend: %w", err)
	}
	runID := made.Run.Run.RunID
	handover := s.handovers.Expect(runID)
	steps.DecisionSent = time.Now()
	_, err = s.engine.Do(ctx, &runs.ResolveApprovals{
		RunID: runID, Key: runID, Resolutions: []runs.ApprovalDecision{{RequestID: requestID, Behavior: api.BehaviorAllow}},
	})
	steps.DecisionAccepted = time.Now()
	if err != nil {
		return steps, fmt.Errorf("decide: %w", err)
	}
	steps.HandlerStarted, err = handover.Await(ctx)
	return steps, err
}

// Close implements [load.Subject]. It returns the worker's error.
func (s *inProcess) Close() error {
	s.stop()
	s.working.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.failed, s.engine.Close())
}
