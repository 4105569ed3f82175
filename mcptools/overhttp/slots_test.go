package overhttp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// However many calls one agent holds, others still find slots.
func TestOneCallerDoesNotTakeAllSlots(t *testing.T) {
	t.Parallel()
	s := newSlots(maxCalls)
	require.Zero(t, s.use())
	held := 0
	var err error
	for range maxCalls + 10 {
		if err = s.take("greedy"); err == nil {
			held++
		}
	}
	require.Equal(t, maxCalls/2, held)
	require.InDelta(t, 1, s.use(), 0)
	require.Equal(t, wire.CodeTooManyCalls, refusal.CodeOf(err))
	for range maxCalls / 4 {
		require.NoError(t, s.take("other"))
		require.Error(t, s.take("greedy"))
	}
	for range held {
		s.giveBack("greedy")
	}
	require.NoError(t, s.take("greedy"))
	require.Len(t, s.of, 2)
	require.Equal(t, maxCalls-maxCalls/4-1, s.free)
	require.InDelta(t, float64(maxCalls/4)/float64(s.free), s.use(), 0, "of the other caller")
}
