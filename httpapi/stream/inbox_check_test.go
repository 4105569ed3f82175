package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A poll and the events it is compared with are never of the same instant. Only a lasting
// difference means that followers missed something.
func TestADifferenceThatTurnsAroundIsNone(t *testing.T) {
	t.Parallel()
	one := map[uint64]struct{}{7: {}}
	none := map[uint64]struct{}{}
	followers := shownState{extent: shownAll, open: none}
	missed, unconfirmed := followers.compare(one)
	require.Equal(t, []bool{false, true}, []bool{missed, unconfirmed}, "raised, and about to be shown")
	followers.open = one
	missed, unconfirmed = followers.compare(none)
	require.Equal(t, []bool{false, true}, []bool{missed, unconfirmed}, "shown, and settled meanwhile")
	missed, _ = followers.compare(none)
	require.True(t, missed, "the end was not shown")
	followers.open = none
	missed, unconfirmed = followers.compare(none)
	require.Equal(t, []bool{false, false}, []bool{missed, unconfirmed})
}
