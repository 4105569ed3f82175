package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
)

// callsPerCycle is how many calls one whole wait takes.
const callsPerCycle = 4

// measurement is how long each of many equal things took.
type measurement struct {
	took  []time.Duration
	total time.Duration
}

func (m *measurement) perSecond() float64 { return float64(len(m.took)) / m.total.Seconds() }

func (m *measurement) spread() string {
	slices.Sort(m.took)
	at := func(share float64) time.Duration {
		return m.took[min(int(share*float64(len(m.took))), len(m.took)-1)].Round(time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p95 %v, p99 %v, longest %v of %d", at(.5), at(.95), at(.99), at(1), len(m.took))
}

// repeat does a thing over and over from many goroutines for a time.
func repeat(ctx context.Context, count int, duration time.Duration, one func(context.Context) error) (*measurement, error) {
	var (
		mu  sync.Mutex
		all measurement
	)
	started := now()
	group, ctx := errgroup.WithContext(ctx)
	for range count {
		group.Go(func() error {
			var took []time.Duration
			for now().Sub(started) < duration {
				begun := now()
				if err := one(ctx); err != nil {
					return err
				}
				took = append(took, now().Sub(begun))
			}
			mu.Lock()
			defer mu.Unlock()
			all.took = append(all.took, took...)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all.total = now().Sub(started)
	if len(all.took) == 0 {
		return nil, errors.New("nothing was done in that time")
	}
	return &all, nil
}

// now is the wall clock, which this program measures.
func now() time.Time { return time.Now() } //nolint:forbidigo // See above.

func suspension() *api.Suspension {
	return &api.Suspension{
		Checkpoint: api.JSON(`{"step":3}`),
		Approvals: []api.ApprovalRequest{{
			ID: "approval-1", ToolCallID: "call-1", ToolName: "bash",
			Input: api.JSON(`{"command":"rm -rf build"}`), Reason: "shell command",
		}},
	}
}

var allow = client.ResolveApprovalsParams{
	Resolutions: []api.ApprovalResolution{{RequestID: "approval-1", Behavior: api.BehaviorAllow}},
}

// cycle is one whole wait: a run is made, claimed and suspended in one call, its
// approval is resolved, the run is claimed again and completed.
func cycle(ctx context.Context, service *client.Client) error {
	run, err := service.CreateRun(ctx, client.CreateRunParams{
		Input: "clean the build folder", Claim: &api.ClaimOptions{WorkerID: "load"}, Suspend: suspension(),
	})
	if err != nil {
		return fmt.Errorf("create and suspend: %w", err)
	}
	if _, err := service.ResolveRunApprovals(ctx, run.RunID, allow); err != nil {
		return fmt.Errorf("resolve: %w", err)
	}
	claim, err := service.ClaimRun(ctx, run.RunID, api.ClaimOptions{WorkerID: "load"})
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if _, err := service.CompleteRun(ctx, run.RunID, claim.Lease.Fence, api.JSON(`{"ok":true}`)); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return nil
}

// deliver times, one at a time, how long after a decision was accepted the worker
// that waits with a long-poll has the run. The decision's own reply and the
// worker's are on their way at the same time, so the time may be below zero.
func deliver(ctx context.Context, service *client.Client, count int) (*measurement, error) {
	const agentID = "load-delivery"
	var all measurement
	started := now()
	for range count {
		run, err := service.CreateRun(ctx, client.CreateRunParams{
			Input: "wait", AgentID: agentID, Claim: &api.ClaimOptions{WorkerID: "load"}, Suspend: suspension(),
		})
		if err != nil {
			return nil, fmt.Errorf("create and suspend: %w", err)
		}
		var handed time.Time
		var claims []api.Claim
		group, waiting := errgroup.WithContext(ctx)
		group.Go(func() (err error) {
			claims, err = service.ClaimRuns(waiting, client.ClaimRunsParams{WorkerID: "load", AgentIDs: []string{agentID}, WaitMs: 30_000})
			handed = now()
			return err
		})
		// The worker should be waiting when the decision falls.
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if _, err := service.ResolveRunApprovals(ctx, run.RunID, allow); err != nil {
			return nil, fmt.Errorf("resolve: %w", err)
		}
		accepted := now()
		if err := group.Wait(); err != nil {
			return nil, fmt.Errorf("claim: %w", err)
		}
		if len(claims) != 1 || claims[0].Run.RunID != run.RunID {
			return nil, errors.New("the worker was handed another run: is something else working for " + agentID + "?")
		}
		all.took = append(all.took, handed.Sub(accepted))
		if _, err := service.CompleteRun(ctx, run.RunID, claims[0].Lease.Fence, nil); err != nil {
			return nil, fmt.Errorf("complete: %w", err)
		}
	}
	all.total = now().Sub(started)
	return &all, nil
}

// bare is a server that answers every call with nothing.
type bare struct {
	server *http.Server
	url    string
	client *http.Client
}

func startBare(ctx context.Context) (*bare, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &bare{
		url:    "http://" + listener.Addr().String(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}},
	}
	b.server = &http.Server{
		ReadHeaderTimeout: time.Second,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	}
	go func() { _ = b.server.Serve(listener) }()
	return b, nil
}

func (b *bare) close() { _ = b.server.Close() }

func (b *bare) cycle(ctx context.Context) error {
	for range callsPerCycle {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, strings.NewReader(`{"ok":true}`))
		if err != nil {
			return err
		}
		reply, err := b.client.Do(request)
		if err != nil {
			return err
		}
		if err := reply.Body.Close(); err != nil {
			return err
		}
	}
	return nil
}
