//go:build unix && faults

package linearizability

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/test/rig"
)

// A checker that finds nothing has shown nothing until it was seen to find something.
// This program decides without the lock on the session; nothing else is wrong with it,
// and nothing is done to it.
func TestAProgramWithoutTheLockIsCaught(t *testing.T) {
	t.Parallel()
	rig.NeedPostgres(t)
	program := rig.ProgramWithFault(t, "store/postgres/statements_load.go", "ORDER BY s.session_id\nFOR UPDATE SKIP LOCKED`", "ORDER BY s.session_id`")
	s := start(t, program, 2)
	seed := rand.Uint64()
	services := s.connect(t, 12)
	const mostCalls = 30_000
	for calls, round := 0, 0; calls < mostCalls; round++ {
		work := &load{seed: seed + uint64(round), made: round * 1000, history: newHistory(), services: services, waits: 5 * time.Millisecond}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		work.run(ctx)
		cancel()
		histories := work.history.finish()
		found := check(histories)
		counted := tallyOf(histories)
		calls += counted[tallyCalls]
		t.Logf("%d runs are wrong after %s", len(found.wrong), counted)
		if len(found.wrong) > 0 {
			runID := found.wrong[0]
			t.Logf("as it should be, the calls on %s have no order that explains their answers:\n%s", runID, list(histories[runID]))
			return
		}
	}
	require.Fail(t, "the checker found nothing wrong with a program that has no lock")
}
