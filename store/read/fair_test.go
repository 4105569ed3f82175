package read

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// slowOfCallers answers each question after a second, and notes whose it was.
type slowOfCallers struct {
	frozen
	mu     *sync.Mutex
	served *[]string
}

func (s slowOfCallers) Ask(ctx context.Context, _ ...Query) error {
	s.mu.Lock()
	*s.served = append(*s.served, cpulimit.Caller(ctx))
	s.mu.Unlock()
	time.Sleep(time.Second)
	return nil
}

func (s slowOfCallers) AskAtOneMoment(ctx context.Context, queries ...Query) error {
	return s.Ask(ctx, queries...)
}

// A caller with many reads does not delay the one read of another caller, neither in lists nor in other reads.
func TestReadsAreFairBetweenCallers(t *testing.T) {
	for name, read := range map[string]func(context.Context, *Reader) error{
		"lists": func(ctx context.Context, r *Reader) error {
			_, err := r.Sessions(ctx, reads.SessionQuery{Limit: 1})
			return err
		},
		"views": func(ctx context.Context, r *Reader) error {
			_, err := r.Run(ctx, "r")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var served []string
				r := New(slowOfCallers{mu: &sync.Mutex{}, served: &served}, &Statements{}, 2)
				var group sync.WaitGroup
				begin := func(caller string) {
					group.Go(func() {
						ctx := cpulimit.With(t.Context(), caller, cpulimit.Free)
						_ = read(ctx, r) // there is no row, or its turn did not come within the time of a read
					})
					synctest.Wait() // it has a connection, or waits
				}
				for range 20 {
					begin("greedy")
				}
				begin("modest")
				group.Wait()
				first := served[:min(4, len(served))]
				require.Contains(t, first, "modest", fmt.Sprint("the order: ", served))
			})
		})
	}
}
