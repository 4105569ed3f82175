package deliver

import (
	"net/netip"
	"testing"

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
