// Command river carries the waits of bench/waits with the job queue River. River has no
// wait for a person, so it is done as its manual suggests: the run waits in a table of the
// application, and one transaction writes the decision and inserts the job. The job
// completes in the same transaction as the application's row.
//
// FetchCooldown is 1 ms, its minimum. With its default of 100 ms, one client would get at
// most ten jobs per second.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/holdpoint/holdpoint/bench/load"
)

// poolSize is the same for all peers.
const poolSize = 64

const schema = `CREATE TABLE waits (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	status     text NOT NULL DEFAULT 'waiting',
	input      jsonb NOT NULL,
	checkpoint jsonb,
	request    jsonb,
	outcome    jsonb,
	output     jsonb,
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now()
)`

func main() {
	if err := load.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

// resume is the job that continues a decided run.
type resume struct {
	RunID int64 `json:"run_id"`
}

// Kind implements [river.JobArgs].
func (resume) Kind() string { return "resume" }

type subject struct {
	river.WorkerDefaults[resume]
	pool      *pgxpool.Pool
	client    *river.Client[pgx.Tx]
	handovers load.Handovers[int64]
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
	s := &subject{pool: pool}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	if _, err := pool.Exec(ctx, schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, s)
	s.client, err = river.NewClient(driver, &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: max(16, options.Clients)}}, Workers: workers,
		FetchCooldown: river.FetchCooldownMin,
		Logger:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return nil, err
	}
	return s, s.client.Start(ctx)
}

// Work implements [river.Worker].
func (s *subject) Work(ctx context.Context, job *river.Job[resume]) error {
	return s.handovers.Handle(job.Args.RunID, func() error {
		return s.inTransaction(ctx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE waits SET status = 'completed', output = $2, updated_at = now() WHERE id = $1", job.Args.RunID, `{"ok":true}`)
			if err != nil {
				return err
			}
			_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
			return err
		})
	})
}

// Wait implements [load.Subject].
func (s *subject) Wait(ctx context.Context) (steps load.Steps, err error) {
	var runID int64
	err = s.pool.QueryRow(ctx, "INSERT INTO waits (input, checkpoint, request) VALUES ($1, $2, $3) RETURNING id",
		`{"plan":"clean the build folder"}`, `{"step":3}`, `{"id":"approval-1","tool_name":"bash","input":{"command":"rm -rf build"},"reason":"shell command"}`,
	).Scan(&runID)
	if err != nil {
		return steps, fmt.Errorf("create and suspend: %w", err)
	}
	handover := s.handovers.Expect(runID)
	steps.DecisionSent = time.Now()
	if err := s.decide(ctx, runID); err != nil {
		return steps, fmt.Errorf("decide: %w", err)
	}
	steps.DecisionAccepted = time.Now()
	steps.HandlerStarted, err = handover.Await(ctx)
	return steps, err
}

func (s *subject) decide(ctx context.Context, runID int64) error {
	return s.inTransaction(ctx, func(tx pgx.Tx) error {
		decided, err := tx.Exec(ctx,
			"UPDATE waits SET status = 'queued', outcome = $2, updated_at = now() WHERE id = $1 AND status = 'waiting'", runID, `{"behavior":"allow"}`)
		if err != nil {
			return err
		}
		if decided.RowsAffected() != 1 {
			return errors.New("the run does not wait")
		}
		_, err = s.client.InsertTx(ctx, tx, resume{RunID: runID}, nil)
		return err
	})
}

func (s *subject) inTransaction(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, do)
}

// Close implements [load.Subject].
func (s *subject) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := s.client.Stop(ctx)
	s.pool.Close()
	return err
}
