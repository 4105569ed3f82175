package deliver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// TestALaneTriesAFailingReceiverWithOneAttempt: otherwise it starts as many as there is room for.
func TestALaneTriesAFailingReceiverWithOneAttempt(t *testing.T) {
	t.Parallel()
	for failures, begun := range map[int]int{0: 3, failuresBeforePause: 1} {
		l := newLaneLoop()
		_, err := l.fill(3, &breaker{failures: failures}, func(limit int) ([]reads.DueEffect, error) {
			return []reads.DueEffect{{EffectID: "a"}, {EffectID: "b"}, {EffectID: "c"}, {EffectID: "d"}}[:limit], nil
		}, func(one reads.DueEffect) result { return result{due: one} })
		require.NoError(t, err)
		require.Len(t, l.underWay, begun)
		for range begun {
			<-l.done
		}
	}
}
