package door_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

// A batch normally collects decisions of any session. In a sharded database it collects sessions of
// one shard, whether it reads or not.
func TestABatchHoldsSessionsOfOneShard(t *testing.T) {
	t.Parallel()
	const shards = 3
	shardOf := func(sessionID string) uint64 { return uint64(sessionID[0] - 'a') }
	m := &unreadMemory{memory: newMemory()}
	c := door.New(m, door.Options{Lanes: shards, Shard: shardOf, Clock: func() int64 { return 0 }})
	defer c.Close()
	gate := make(chan struct{})
	m.onBegin = func([]door.Load) error { <-gate; return nil }
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			session := fmt.Sprintf("%c-%d", 'a'+i%shards, i)
			if i == 30 {
				close(gate)
			}
			must(t, c, create(session, "run-"+session))
			must(t, c, &runs.CreateRun{SessionID: session, SessionGiven: true, Input: api.JSON(`1`)})
		})
	}
	group.Wait()
	grouped := 0
	for _, loads := range m.batches {
		for _, load := range loads {
			require.Equal(t, shardOf(loads[0].SessionID), shardOf(load.SessionID))
		}
		grouped = max(grouped, len(loads))
	}
	require.Greater(t, grouped, 1, "decisions are grouped")
	for _, guard := range m.guards {
		for _, session := range guard.Sessions {
			require.Equal(t, shardOf(guard.Sessions[0].SessionID), shardOf(session.SessionID))
		}
	}
}
