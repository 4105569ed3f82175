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

// However many hosts of how many owners fail, none of their deliveries is read, so they hide no other owner's.
func TestHostsWithoutRoomAreNotRead(t *testing.T) {
	t.Parallel()
	for _, owners := range []int{1, 20} {
		l := newCallbackLane(nil)
		fail := func(owner string, count int) {
			for n := range count {
				l.hosts[owner+fmt.Sprintf("%08d", n)] = &host{breaker: breaker{failures: failuresBeforePause, resumeAt: time.Now().Add(time.Hour)}}
			}
		}
		for n := range owners {
			fail(fmt.Sprintf("fails-%02d", n), 1500/owners)
		}
		l.hosts["works-01name-001"] = &host{}
		full := l.withoutRoom()
		for origin, host := range l.hosts {
			read := !slices.Contains(full, origin) && !slices.Contains(full, model.CallbackOwner(origin))
			require.Equal(t, host.hasRoom(), read, origin)
		}
		require.LessOrEqual(t, len(full), hostsKept+owners)
	}
	l := newCallbackLane(nil)
	l.hosts["some-012name-001"] = &host{breaker: breaker{failures: failuresBeforePause, resumeAt: time.Now().Add(time.Hour)}}
	require.Equal(t, []string{"some-012name-001"}, l.withoutRoom(), "other hosts of the owner are read")
}
