//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/bench/load"
	"github.com/holdpoint/holdpoint/client"
)

const (
	agentID   = "bench"
	requestID = "approval-1"
	// tokenVariable has the token of a load.
	tokenVariable = "HOLDPOINT_BENCH_TOKEN"
)

// The documents of one wait, which all subjects carry.
var (
	input      = api.JSON(`{"plan":"clean the build folder"}`)
	checkpoint = api.JSON(`{"step":3}`)
	toolInput  = api.JSON(`{"command":"rm -rf build"}`)
	output     = api.JSON(`{"ok":true}`)
)

func suspension() *api.Suspension {
	return &api.Suspension{Checkpoint: checkpoint, Approvals: []api.ApprovalRequest{{
		ID: requestID, ToolCallID: "call-1", ToolName: "bash", Input: toolInput, Reason: "shell command",
	}}}
}

// overHTTP measures a service through package client. Its worker is a
// [client.Worker] with room for every client's run.
type overHTTP struct {
	service   *client.Client
	handovers load.Handovers[string]
	stop      context.CancelFunc
	working   sync.WaitGroup

	mu     sync.Mutex
	failed error
}

func openHTTP(ctx context.Context, options load.Options) (load.Subject, error) {
	var as []client.Option
	if token := os.Getenv(tokenVariable); token != "" {
		as = append(as, client.WithToken(token))
	}
	service, err := client.New(options.Target, as...)
	if err != nil {
		return nil, err
	}
	s := &overHTTP{service: service}
	worker, err := client.NewWorker(service, client.WorkerOptions{
		AgentIDs: []string{agentID}, Concurrency: max(client.DefaultConcurrency, options.Clients), OnError: s.fail,
	})
	if err != nil {
		return nil, err
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.working.Go(func() {
		if err := worker.Run(ctx, s.handle); err != nil {
			s.fail(err)
		}
	})
	return s, nil
}

func (s *overHTTP) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = errors.Join(s.failed, err)
}

func (s *overHTTP) handle(ctx context.Context, task *client.Task) error {
	return s.handovers.Handle(task.RunID(), func() error { return task.Complete(ctx, output) })
}

// Wait implements [load.Subject].
func (s *overHTTP) Wait(ctx context.Context) (steps load.Steps, err error) {
	run, err := s.service.CreateRun(ctx, client.CreateRunParams{
		AgentID: agentID, Input: input, Claim: &api.ClaimOptions{WorkerID: "bench"}, Suspend: suspension(),
	})
	if err != nil {
		return steps, fmt.Errorf("create and suspend: %w", err)
	}
	handover := s.handovers.Expect(run.RunID)
	steps.DecisionSent = time.Now()
	_, err = s.service.ResolveRunApprovals(ctx, run.RunID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: requestID, Behavior: api.BehaviorAllow}},
	})
	steps.DecisionAccepted = time.Now()
	if err != nil {
		return steps, fmt.Errorf("decide: %w", err)
	}
	steps.HandlerStarted, err = handover.Await(ctx)
	return steps, err
}

// Close implements [load.Subject]. It returns what went wrong in the worker.
func (s *overHTTP) Close() error {
	s.stop()
	s.working.Wait()
	s.service.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
