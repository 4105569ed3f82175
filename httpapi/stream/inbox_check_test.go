package stream

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/reads"
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

// A lost notice is found even if it is the one that makes more open than a snapshot shows.
func TestAChangeThatFillsTheSnapshotIsNotHidden(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(t *testing.T, followers *shownState, board *board){
		"nothing else happens": func(*testing.T, *shownState, *board) {},
		"a new follower": func(t *testing.T, followers *shownState, board *board) {
			snapshot, err := readOpen(t.Context(), board, reads.Scope{})
			require.NoError(t, err)
			require.True(t, snapshot.More)
			followers.snapshot(snapshot)
		},
		"more events than are kept": func(t *testing.T, followers *shownState, board *board) {
			for i := range maxShown {
				for _, event := range board.commit(fmt.Sprint("told", i), "+1").Events {
					followers.event(event)
				}
			}
			require.Len(t, followers.open, maxShown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			board, followers := newBoard(), shownState{}
			for i := range snapshotRequests {
				board.commit(fmt.Sprint("s", i), "+1")
			}
			snapshot, err := readOpen(t.Context(), board, reads.Scope{})
			require.NoError(t, err)
			require.False(t, snapshot.More)
			followers.snapshot(snapshot)
			board.commit("lost", "+1")
			meanwhile(t, &followers, board)
			found, err := followers.check(t.Context(), board)
			require.NoError(t, err)
			require.True(t, found.missed)
		})
	}
}
