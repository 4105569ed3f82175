package gallery

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/client"
	"github.com/holdpoint/holdpoint/store"
	"github.com/holdpoint/holdpoint/store/storetest"
	"github.com/holdpoint/holdpoint/test/rig"
)

// pages is the result of reading a list page by page.
type pages struct {
	seen map[string]int
	// ties counts the pages whose first key equals the last key of the previous page.
	ties int
	// read counts the pages.
	read int
}

// walkPages reads a list in pages of seven. key returns the sort key before the row's own id.
func walkPages[T any](list func(client.PageParams) (*client.Page[T], error), idAndKey func(*T) (id, key string)) (*pages, error) {
	p := &pages{seen: map[string]int{}}
	at, lastKey := client.PageParams{Limit: 7}, ""
	for {
		page, err := list(at)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			id, key := idAndKey(&page.Items[i])
			p.seen[id]++
			if i == 0 && p.read > 0 && key == lastKey {
				p.ties++
			}
			lastKey = key
		}
		p.read++
		if !page.Pagination.HasMore {
			return p, nil
		}
		at.Cursor = *page.Pagination.NextCursor
	}
}

// requireWhole checks that every row that existed throughout was seen, and none twice.
func (p *pages) requireWhole(t *testing.T, throughout []string) {
	t.Helper()
	for _, id := range throughout {
		require.Equal(t, 1, p.seen[id], "%s", id)
	}
	for id, times := range p.seen {
		require.Equal(t, 1, times, "%s", id)
	}
	require.Positive(t, p.ties, "no page ended between equal keys")
}

// bustle calls comeAndGo with a growing number until the walk is over. Its context ends with the
// walk.
func bustle(walk func() error, comeAndGo func(walking context.Context, n int) error) (times int64, err error) {
	walking, walked := context.WithCancel(context.Background())
	var count atomic.Int64
	var group errgroup.Group
	for range 2 {
		group.Go(func() error {
			for walking.Err() == nil {
				if err := comeAndGo(walking, int(count.Add(1))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = walk()
	walked()
	if bustling := group.Wait(); err == nil {
		err = bustling
	}
	return count.Load(), err
}

// The bug: paging with a cursor lost rows with equal sort keys. Here a thousand runs are created
// within a few milliseconds, or in one millisecond with a stopped clock, and rows come and go
// during a walk in pages of seven: none is lost, and none appears twice.
func TestGallery17PagingThroughEqualKeys(t *testing.T) {
	t.Parallel()
	rows := 1_000
	if storetest.Thorough {
		rows = 10_000
	}
	for _, shape := range []struct {
		shape
		options store.Options
		rows    int
	}{
		{services[0], store.Options{}, 1_000},
		// Its clock stands still.
		{services[1], store.Options{NowMs: func() int64 { return 1_700_000_000_000 }}, rows},
	} {
		t.Run(shape.Name, func(t *testing.T) {
			t.Parallel()
			s := startService(t, shape.Database(t), shape.replicas, shape.options)
			t.Run("runs", func(t *testing.T) { pageRuns(t, s, shape.rows) })
			t.Run("approvals", func(t *testing.T) { pageApprovals(t, s) })
		})
	}
}

func pageRuns(t *testing.T, s *service, rows int) {
	// Every tenth run belongs to the agent whose list is read in small pages. Half of those are
	// cancelled meanwhile.
	var throughout, going []string
	runID := func(i int) string { return fmt.Sprintf("run-%05d", i*7919%rows) }
	agentOf := func(i int) string {
		if i%10 == 0 {
			return "few"
		}
		return "many"
	}
	for i := 0; i < rows; i += 10 {
		if i%20 == 0 {
			throughout = append(throughout, runID(i))
		} else {
			going = append(going, runID(i))
		}
	}
	// Under the race detector SQLite, which is Go code, is slow with so many rows.
	ctx, cancel := context.WithTimeout(t.Context(), 4*rig.Patience)
	defer cancel()
	require.NoError(t, rig.Concurrently(ctx, rows, func(ctx context.Context, i int) error {
		_, err := s.at(i).CreateRun(ctx, client.CreateRunParams{RunID: runID(i), AgentID: agentOf(i), Input: i})
		return err
	}))

	var small *pages
	times, err := bustle(func() error {
		var err error
		small, err = walkPages(func(page client.PageParams) (*client.Page[api.RunView], error) {
			return s.at(0).ListRuns(ctx, client.RunListParams{AgentID: "few", Status: api.StatusQueued, PageParams: page})
		}, func(run *api.RunView) (string, string) { return run.RunID, fmt.Sprint(run.SubmittedAtMs) })
		return err
	}, func(_ context.Context, n int) error {
		if n > len(going) {
			// A list that grows faster than it is read has no end.
			return failure(s.at(n).GetRun(ctx, going[0]))
		}
		_, err := s.at(n).CreateRun(ctx, client.CreateRunParams{RunID: fmt.Sprintf("run-%05d-new-%d", n*31%rows, n), AgentID: "few", Input: n})
		if err != nil {
			return err
		}
		return failure(s.at(n+1).CancelRun(ctx, going[n-1], ""))
	})
	require.NoError(t, err)
	require.Positive(t, times, "nothing came and went")
	require.GreaterOrEqual(t, small.read, len(throughout)/7)
	small.requireWhole(t, throughout)

	// All of them in the largest pages: in order, each once.
	seen, last := 0, api.RunView{}
	for run, err := range s.at(1).AllRuns(ctx, client.RunListParams{AgentID: "many"}) {
		require.NoError(t, err)
		seen++
		ordered := last.SubmittedAtMs < run.SubmittedAtMs || last.SubmittedAtMs == run.SubmittedAtMs && last.RunID < run.RunID
		require.True(t, ordered, "%s before %s", last.RunID, run.RunID)
		last = run
	}
	require.Equal(t, rows-rows/10, seen)
}

// pageApprovals reads one run's open approvals, whose sort keys differ only in their own id.
func pageApprovals(t *testing.T, s *service) {
	held := startedRun(t, s.at(0), "paged")
	raise := func(ctx context.Context, format string, numbers []int) error {
		suspension := api.Suspension{Hold: true}
		for _, n := range numbers {
			suspension.Approvals = append(suspension.Approvals, rig.Approval(fmt.Sprintf(format, n)))
		}
		return failure(s.at(1).Suspend(ctx, "paged", held.Lease.Fence, suspension))
	}
	ctx := rig.Soon(t)
	const open = 400
	var throughout []string
	numbers := make([]int, open)
	for i := range numbers {
		numbers[i] = i
		if i%2 == 0 {
			throughout = append(throughout, fmt.Sprintf("ask-%04d", i))
		}
	}
	for chunk := range slices.Chunk(numbers, 100) {
		require.NoError(t, raise(ctx, "ask-%04d", chunk))
	}
	var small *pages
	times, err := bustle(func() error {
		var err error
		small, err = walkPages(func(page client.PageParams) (*client.Page[api.PendingApprovalView], error) {
			return s.at(0).ListApprovals(ctx, client.PendingListParams{SessionID: "session-of-paged", PageParams: page})
		}, func(view *api.PendingApprovalView) (string, string) { return view.Request.ID, view.RunID })
		return err
	}, func(walking context.Context, n int) error {
		if n > open/2 {
			<-walking.Done()
			return nil
		}
		if err := raise(ctx, "ask-%04d-new", []int{n * 37 % open}); err != nil {
			return err
		}
		return failure(s.at(n).ResolveRunApprovals(ctx, "paged", decide(fmt.Sprintf("ask-%04d", 2*n-1), api.BehaviorAllow)))
	})
	require.NoError(t, err)
	require.Positive(t, times, "nothing came and went")
	small.requireWhole(t, throughout)
}
