package deliver

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// Names that resolve to one address share its slots and its pause, per owner.
func TestHostsOfCallbacksAreByAddress(t *testing.T) {
	t.Parallel()
	l := newCallbackLane(nil)
	fails := func(origin, address string) {
		due := reads.DueEffect{EffectID: model.CallbackEffectID(origin, "h")}
		h := l.hosts[origin]
		if h == nil {
			h = &host{}
			l.hosts[origin] = h
		}
		h.underWay++
		owner := model.CallbackOwner(origin)
		l.owners[owner]++
		l.calls[due] = callbackCall{owner, origin, h}
		l.ended(result{due: due, attempted: true, address: netip.MustParseAddrPort(address)})
	}
	for _, origin := range []string{"owner-a.name-001", "owner-a.name-002", "owner-a.name-003", "owner-a.name-004", "owner-a.name-005"} {
		fails(origin, "192.0.2.1:443")
	}
	fails("owner-a.name-006", "192.0.2.2:443")
	fails("owner-b.name-001", "192.0.2.1:443")
	require.False(t, l.hosts["owner-a.name-002"].hasRoom())
	require.Same(t, l.hosts["owner-a.name-001"], l.hosts["owner-a.name-005"])
	require.True(t, l.hosts["owner-a.name-006"].hasRoom(), "another address")
	require.True(t, l.hosts["owner-b.name-001"].hasRoom(), "another owner")
	require.ElementsMatch(t, []string{"owner-a.name-001", "owner-a.name-002", "owner-a.name-003", "owner-a.name-004", "owner-a.name-005"}, l.withoutRoom())
	require.Empty(t, l.owners)
}

// However many hosts of how many owners fail, none of their deliveries is read, so they hide no other owner's. Other hosts of
// an owner are read unless it has the most failing ones of too many.
func TestHostsWithoutRoomAreNotRead(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		failing  []int // hosts of each owner
		excluded int   // owners
	}{
		{[]int{1}, 0},
		{[]int{hostsKept}, 0},
		{[]int{hostsKept + 1}, 1},
		{[]int{hostsKept, 1, 200}, 1}, // the others do not fit next to the first
		{slices.Repeat([]int{75}, 20), 7},
	} {
		l := newCallbackLane(nil)
		for owner, count := range test.failing {
			for n := range count {
				l.hosts[fmt.Sprintf("owner-%02d%08d", owner, n)] = &host{breaker: breaker{failures: failuresBeforePause, resumeAt: time.Now().Add(time.Hour)}}
			}
			l.hosts[fmt.Sprintf("owner-%02dhas-room", owner)] = &host{}
		}
		full := l.withoutRoom()
		excluded := 0
		for origin, host := range l.hosts {
			owner := slices.Contains(full, model.CallbackOwner(origin))
			if host.hasRoom() {
				require.NotContains(t, full, origin)
				if owner {
					excluded++
				}
				continue
			}
			require.True(t, owner || slices.Contains(full, origin), origin)
		}
		require.Equal(t, test.excluded, excluded)
		require.LessOrEqual(t, len(full), hostsKept+len(test.failing))
	}
}

// The share of the busiest owner is 1 once its next callback has to wait, whether by its own calls or by all.
func TestUseOfCallbacks(t *testing.T) {
	t.Parallel()
	l := newCallbackLane(nil)
	require.Zero(t, l.use())
	begin := func(owner string, calls int) {
		for range calls {
			l.owners[owner]++
			l.underWay[reads.DueEffect{EffectID: fmt.Sprint(len(l.underWay))}] = true
		}
		l.noteUse()
	}
	begin("a", callbacksOfOwner/2)
	require.InDelta(t, 0.5, l.use(), 0)
	require.True(t, l.ownerHasRoom("a"))
	for other := range callbacksAtOnce/callbacksOfOwner - 1 {
		begin(fmt.Sprint("other ", other), callbacksOfOwner)
	}
	require.False(t, l.ownerHasRoom("a"))
	require.InDelta(t, 1, l.use(), 0)
	clear(l.owners)
	clear(l.underWay)
	l.noteUse()
	require.Zero(t, l.use())
}
