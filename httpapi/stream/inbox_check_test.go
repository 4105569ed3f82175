package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A look and the events that it is compared with are never of the same instant. Only a
// difference that stays the same is one that followers were not told of.
func TestADifferenceThatTurnsAroundIsNone(t *testing.T) {
	t.Parallel()
	one := map[uint64]struct{}{7: {}}
	none := map[uint64]struct{}{}
	followers := told{state: toldAll, open: none}
	missed, doubt := followers.compare(one)
	require.Equal(t, []bool{false, true}, []bool{missed, doubt}, "raised, and about to be told")
	followers.open = one
	missed, doubt = followers.compare(none)
	require.Equal(t, []bool{false, true}, []bool{missed, doubt}, "told, and settled meanwhile")
	missed, _ = followers.compare(none)
	require.True(t, missed, "nobody told of the end")
	followers.open = none
	missed, doubt = followers.compare(none)
	require.Equal(t, []bool{false, false}, []bool{missed, doubt})
}
