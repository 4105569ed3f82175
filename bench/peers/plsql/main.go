// Command plsql carries the waits of bench/waits by hand-written SQL: one call of a
// PL/pgSQL function per step, and a worker woken within the same process. It is the lower
// bound for a durable wait on Postgres: there are no sessions, events, idempotency keys,
// deadlines or rules, and a lost worker goes unnoticed.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdpoint/holdpoint/bench/load"
)

//go:embed schema.sql
var schema string

// poolSize is the same for all peers.
const poolSize = 64

func main() {
	if err := load.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintln(os.Stderr, "plsql:", err)
		os.Exit(1)
	}
}

type subject struct {
	pool      *pgxpool.Pool
	handovers load.Handovers[int64]
	// decided wakes the worker. One goroutine per client receives from it.
	decided chan int64
	working sync.WaitGroup

	mu     sync.Mutex
	failed error
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
	if _, err := pool.Exec(ctx, schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s := &subject{pool: pool, decided: make(chan int64, options.Clients)}
	for range options.Clients {
		s.working.Go(func() {
			for runID := range s.decided {
				if err := s.work(ctx, runID); err != nil {
					s.mu.Lock()
					s.failed = errors.Join(s.failed, err)
					s.mu.Unlock()
				}
			}
		})
	}
	return s, nil
}

func (s *subject) work(ctx context.Context, runID int64) error {
	var (
		fence                               int64
		input, checkpoint, outcome, request []byte
	)
	err := s.pool.QueryRow(ctx, "SELECT * FROM claim($1, 'bench', 30000)", runID).Scan(&fence, &input, &checkpoint, &request, &outcome)
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	return s.handovers.Handle(runID, func() error {
		_, err := s.pool.Exec(ctx, "SELECT complete($1, $2, $3)", runID, fence, `{"ok":true}`)
		return err
	})
}

// Wait implements [load.Subject].
func (s *subject) Wait(ctx context.Context) (steps load.Steps, err error) {
	var runID int64
	err = s.pool.QueryRow(ctx, "SELECT suspend($1, $2, $3)",
		`{"plan":"clean the build folder"}`, `{"step":3}`, `{"id":"approval-1","tool_name":"bash","input":{"command":"rm -rf build"},"reason":"shell command"}`,
	).Scan(&runID)
	if err != nil {
		return steps, fmt.Errorf("create and suspend: %w", err)
	}
	handover := s.handovers.Expect(runID)
	steps.DecisionSent = time.Now()
	if _, err := s.pool.Exec(ctx, "SELECT decide($1, 'allow')", runID); err != nil {
		return steps, fmt.Errorf("decide: %w", err)
	}
	steps.DecisionAccepted = time.Now()
	s.decided <- runID
	steps.HandlerStarted, err = handover.Await(ctx)
	return steps, err
}

// Close implements [load.Subject].
func (s *subject) Close() error {
	close(s.decided)
	s.working.Wait()
	s.pool.Close()
	return s.failed
}
