//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
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

// The documents of a wait, the same for all subjects.
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

// overHTTP measures a service, or several replicas of it, through package client. Each
// replica has a [client.Worker] with room for all clients' runs; clients alternate between
// the replicas.
type overHTTP struct {
	services []*client.Client
	// handed counts the runs of each replica's worker.
	handed    []atomic.Int64
	turns     atomic.Uint64
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
	s := &overHTTP{}
	ctx, s.stop = context.WithCancel(ctx)
	targets := strings.Split(options.Target, ",")
	s.handed = make([]atomic.Int64, len(targets))
	for i, target := range targets {
		service, err := client.New(target, as...)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.services = append(s.services, service)
		worker, err := client.NewWorker(service, client.WorkerOptions{
			AgentIDs: []string{agentID}, Concurrency: max(client.DefaultConcurrency, options.Clients), OnError: s.fail,
		})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.working.Go(func() {
			err := worker.Run(ctx, func(ctx context.Context, task *client.Task) error {
				s.handed[i].Add(1)
				return s.handovers.Handle(task.RunID(), func() error { return task.Complete(ctx, output) })
			})
			if err != nil {
				s.fail(err)
			}
		})
	}
	return s, nil
}

// Shares implements [load.Shared].
func (s *overHTTP) Shares() []int64 {
	shares := make([]int64, len(s.handed))
	for i := range s.handed {
		shares[i] = s.handed[i].Load()
	}
	return shares
}

func (s *overHTTP) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = errors.Join(s.failed, err)
}

// Wait implements [load.Subject].
func (s *overHTTP) Wait(ctx context.Context) (steps load.Steps, err error) {
	service := s.services[s.turns.Add(1)%uint64(len(s.services))]
	run, err := service.CreateRun(ctx, client.CreateRunParams{
		AgentID: agentID, Input: input, Claim: &api.ClaimOptions{WorkerID: "bench"}, Suspend: suspension(),
	})
	if err != nil {
		return steps, fmt.Errorf("create and suspend: %w", err)
	}
	handover := s.handovers.Expect(run.RunID)
	steps.DecisionSent = time.Now()
	_, err = service.ResolveRunApprovals(ctx, run.RunID, client.ResolveApprovalsParams{
		Resolutions: []api.ApprovalResolution{{RequestID: requestID, Behavior: api.BehaviorAllow}},
	})
	steps.DecisionAccepted = time.Now()
	if err != nil {
		return steps, fmt.Errorf("decide: %w", err)
	}
	steps.HandlerStarted, err = handover.Await(ctx)
	return steps, err
}

// Close implements [load.Subject]. It returns the worker's error.
func (s *overHTTP) Close() error {
	s.stop()
	s.working.Wait()
	for _, service := range s.services {
		service.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
