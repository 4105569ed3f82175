package committer_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/committer"
)

// parted is an engine that can write in parts, and refuses this many of them at first.
type parted struct {
	*memory
	begun, refusals atomic.Int64
}

func (p *parted) BeginParted(ctx context.Context, loads []committer.Load) (committer.Batch, error) {
	p.begun.Add(1)
	batch, err := p.Begin(ctx, loads)
	return &partedBatch{batch, p}, err
}

type partedBatch struct {
	committer.Batch
	engine *parted
}

func (b *partedBatch) Commit(ctx context.Context, writes runs.Writes) error {
	if b.engine.refusals.Add(-1) >= 0 {
		b.Rollback(ctx)
		return committer.ErrRefused
	}
	return b.Batch.Commit(ctx, writes)
}

// TestLargeAppendsAreWrittenInParts shows which commands are written in parts, and that a refused
// one is decided again in one transaction.
func TestLargeAppendsAreWrittenInParts(t *testing.T) {
	t.Parallel()
	p := &parted{memory: newMemory()}
	c := committer.New(p, committer.Options{Lanes: 1})
	defer c.Close()
	created := create("s", "r")
	created.Claim = &api.ClaimOptions{WorkerID: "w"}
	require.NoError(t, (<-do(t.Context(), c, created)).err)
	appends := func(count int) *runs.AppendEvents {
		return &runs.AppendEvents{RunID: "r", Fence: 1, Events: slices.Repeat([]api.JSON{api.JSON(`{"type":"note"}`)}, count)}
	}
	require.NoError(t, (<-do(t.Context(), c, appends(10))).err)
	require.Zero(t, p.begun.Load(), "it is small")
	require.NoError(t, (<-do(t.Context(), c, appends(api.MaxEventsPerCall))).err)
	require.EqualValues(t, 1, p.begun.Load())
	p.refusals.Store(1)
	require.NoError(t, (<-do(t.Context(), c, appends(api.MaxEventsPerCall))).err)
	require.EqualValues(t, 2, p.begun.Load(), "it is tried in parts once")
	last := <-do(t.Context(), c, appends(1))
	require.NoError(t, last.err)
	require.EqualValues(t, 2+10+2*api.MaxEventsPerCall+1, last.reply.LastEventID)
}
