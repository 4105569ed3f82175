// Command dbos carries the waits of bench/waits with DBOS Transact. A run is a workflow
// that receives the decision as a message, completes the work in a step and returns. The
// workflow stays in its process's memory while it waits, and is recovered from the database
// after a crash, so it is never claimed.
//
// The decision may be sent before the workflow waits for it. Then DBOS writes one row less
// than in a real wait for a person.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/bench/load"
)

// poolSize is the same for all peers.
const poolSize = 64

// topic is the topic of decisions.
const topic = "approval-1"

func main() {
	if err := load.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		os.Exit(1)
	}
}

type subject struct {
	dbos dbos.DBOSContext
	pool *pgxpool.Pool
}

// run is the input of the workflow, request the approval that it asks for.
type run struct {
	Plan       string  `json:"plan"`
	Checkpoint string  `json:"checkpoint"`
	Request    request `json:"request"`
}

type request struct {
	ID, ToolName, Command, Reason string
}

// output is the result of a run, with the time at which its handler started.
type output struct {
	OK      bool      `json:"ok"`
	Started time.Time `json:"started"`
}

func open(ctx context.Context, options load.Options) (load.Subject, error) {
	config, err := pgxpool.ParseConfig(options.Target)
	if err != nil {
		return nil, err
	}
	config.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	opened, err := dbos.NewDBOSContext(ctx, dbos.Config{
		AppName: "waits", SystemDBPool: pool, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, err
	}
	dbos.RegisterWorkflow(opened, workflow)
	return &subject{dbos: opened, pool: pool}, dbos.Launch(opened)
}

func workflow(ctx dbos.DBOSContext, _ run) (output, error) {
	decision, err := dbos.Recv[string](ctx, topic, time.Hour)
	if err != nil {
		return output{}, err
	}
	started := time.Now()
	if decision != "allow" {
		return output{}, fmt.Errorf("decision %q", decision)
	}
	return dbos.RunAsStep(ctx, func(context.Context) (output, error) { return output{OK: true, Started: started}, nil })
}

// Wait implements [load.Subject].
func (s *subject) Wait(context.Context) (steps load.Steps, err error) {
	handle, err := dbos.RunWorkflow(s.dbos, workflow, run{
		Plan: "clean the build folder", Checkpoint: "3", Request: request{ID: topic, ToolName: "bash", Command: "rm -rf build", Reason: "shell command"},
	})
	if err != nil {
		return steps, fmt.Errorf("start: %w", err)
	}
	steps.DecisionSent = time.Now()
	if err := dbos.Send(s.dbos, handle.GetWorkflowID(), "allow", topic); err != nil {
		return steps, fmt.Errorf("decide: %w", err)
	}
	steps.DecisionAccepted = time.Now()
	completed, err := handle.GetResult()
	steps.HandlerStarted = completed.Started
	return steps, err
}

// Close implements [load.Subject].
func (s *subject) Close() error {
	dbos.Shutdown(s.dbos, 10*time.Second)
	s.pool.Close()
	return nil
}
