package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/loop"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "churn:", err)
		os.Exit(1)
	}
}

// settings are the settings from the command line.
type settings struct {
	database    string
	runs        int64
	callers     int
	runsSession int64
	keep        time.Duration
	interval    time.Duration
	every       time.Duration
	drain       time.Duration
}

func parse(arguments []string, progress io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("churn", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&s.database, "database", "", "URL of an empty database")
	flags.Int64Var(&s.runs, "runs", 200_000, "how many runs to make")
	flags.IntVar(&s.callers, "callers", 32, "how many callers carry runs at once")
	flags.Int64Var(&s.runsSession, "runs-a-session", 5, "how many runs a session gets, one after the other")
	flags.DurationVar(&s.keep, "keep", time.Minute, "how long a run and an idempotency key are kept; 0 forever")
	flags.DurationVar(&s.interval, "interval", 5*time.Second, "how often the retention looks")
	flags.DurationVar(&s.every, "every", 15*time.Second, "how often a row is printed")
	flags.DurationVar(&s.drain, "drain", 0, "for how long to go on deleting, and printing, after the last run")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	if s.database == "" || s.runs < 1 || s.callers < 1 || s.runsSession < 1 || s.keep < 0 || s.interval <= 0 || s.every <= 0 || s.drain < 0 {
		return s, errors.New("--database is needed, and the others must be positive")
	}
	return s, nil
}

func run(ctx context.Context, arguments []string, out, progress io.Writer) (err error) {
	s, err := parse(arguments, progress)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(progress, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opened, err := store.Open(ctx, s.database, store.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if there, err := opened.CountRuns(ctx, reads.RunQuery{}); err != nil || there > 0 {
		return errors.Join(err, fmt.Errorf("the database must be empty; it has %d runs", there))
	}
	sizes, err := sizesOf(ctx, s.database)
	if err != nil {
		return err
	}
	defer sizes.close()
	c := &churn{settings: s, store: opened, sizes: sizes, begun: time.Now()}
	return c.run(ctx, out, logger)
}

// churn is one measurement.
type churn struct {
	settings
	store store.Store
	sizes sizes
	begun time.Time

	next, done atomic.Int64
}

// run returns once all runs have been created and, if requested, deleted.
func (c *churn) run(ctx context.Context, out io.Writer, logger *slog.Logger) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var background, callers errgroup.Group
	if c.keep > 0 {
		retention := loop.NewRetention(c.store, loop.RetentionOptions{Retention: c.keep, KeepRuns: c.keep, Interval: c.interval, Logger: logger})
		background.Go(func() error { return retention.Run(working) })
	}
	background.Go(func() error { return c.report(working, out) })
	for caller := range c.callers {
		callers.Go(func() error { return c.carry(ctx, caller) })
	}
	err := callers.Wait()
	if err == nil && c.drain > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(c.drain):
		}
	}
	stop()
	return errors.Join(err, background.Wait(), c.row(context.WithoutCancel(ctx), out, 0))
}

// carry creates runs in its own sessions and carries each through a wait.
func (c *churn) carry(ctx context.Context, caller int) error {
	for n := int64(0); ctx.Err() == nil && c.next.Add(1) <= c.runs; n++ {
		if err := c.carryOne(ctx, fmt.Sprintf("s-%d-%d", caller, n/c.runsSession)); err != nil {
			return err
		}
		c.done.Add(1)
	}
	return nil
}

func (c *churn) carryOne(ctx context.Context, sessionID string) error {
	made, err := c.store.Do(ctx, &runs.CreateRun{
		SessionID: sessionID, SessionGiven: true, AgentID: "churn", Claim: &api.ClaimOptions{WorkerID: "churn", LeaseMs: api.MaxLeaseMs},
		Input: api.JSON(`{"task":"` + strings.Repeat("x", 300) + `"}`),
		Suspend: &api.Suspension{Checkpoint: api.JSON(`{"step":1}`), Approvals: []api.ApprovalRequest{{
			ID: "a", ToolCallID: "call-1", ToolName: "bash", Input: api.JSON(`{"command":"make deploy"}`),
		}}},
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	runID := made.Run.Run.RunID
	if _, err = c.store.Do(ctx, &runs.ResolveApprovals{
		RunID: runID, Key: runID, Resolutions: []runs.ApprovalDecision{{RequestID: "a", Behavior: api.BehaviorAllow}},
	}); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	claimed, err := c.store.Do(ctx, &runs.ClaimRun{RunID: runID, WorkerID: "churn", LeaseMs: api.MaxLeaseMs})
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if _, err = c.store.Do(ctx, &runs.Complete{RunID: runID, Fence: claimed.Run.Run.Fence, Output: api.JSON(`{"ok":true}`)}); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return nil
}

// report prints rows until the context ends.
func (c *churn) report(ctx context.Context, out io.Writer) error {
	fmt.Fprintln(out, c.sizes.head())
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	for before := int64(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		done := c.done.Load()
		if err := c.row(ctx, out, float64(done-before)/c.every.Seconds()); err != nil && ctx.Err() == nil {
			return err
		}
		before = done
	}
}

func (c *churn) row(ctx context.Context, out io.Writer, rate float64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	there, err := c.store.CountRuns(ctx, reads.RunQuery{})
	if err != nil {
		return err
	}
	row, err := c.sizes.row(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "| %.0f s | %d | %.0f/s | %d | %s\n", time.Since(c.begun).Seconds(), c.done.Load(), rate, there, row)
	return err
}
