package deliver

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

const (
	// callbacksAtOnce bounds concurrent calls to callbacks. An owner is the principal that
	// raised the request. It gets a share of the free calls, at most callbacksOfOwner, so
	// that hanging receivers delay no other owner.
	callbacksAtOnce  = 64
	callbacksOfOwner = 8
	callbackShare    = 4
	// callbacksOfHost bounds the calls of an owner to one host, identified by its resolved
	// address.
	callbacksOfHost = 4
	// callbacksSeen is the number of deliveries per read, of hosts and owners that have
	// room.
	callbacksSeen = 64
	// hostsKept bounds the failed hosts that are remembered after their pause, and the
	// hosts excluded from a read.
	hostsKept = 1000
)

// callbackLane posts the results of requests to their callbacks. A callback only waits for
// a slot of its host and its owner.
type callbackLane struct {
	laneLoop
	deliverer *Deliverer
	// owners counts the calls in flight; zero counts are removed.
	owners map[string]int
	// hosts are keyed by origin. An owner's names that resolve to one address share one
	// host, which is in addresses after its first call.
	hosts     map[string]*host
	addresses map[ownAddress]*host
	// calls has the calls in flight.
	calls map[reads.DueEffect]callbackCall
	// busiest has the bits of the use of the busiest owner.
	busiest atomic.Uint64
}

// callbackCall is a call in flight.
type callbackCall struct {
	owner, origin string
	host          *host
}

// ownAddress is an address called for an owner. A host that fails for one owner may work
// for another, because a proxy serves many.
type ownAddress struct {
	owner   string
	address netip.AddrPort
}

// host is the target of callbacks.
type host struct {
	underWay int
	breaker  breaker
}

func newCallbackLane(d *Deliverer) *callbackLane {
	return &callbackLane{
		laneLoop: newLaneLoop(), deliverer: d, owners: map[string]int{}, hosts: map[string]*host{},
		addresses: map[ownAddress]*host{}, calls: map[reads.DueEffect]callbackCall{},
	}
}

// run delivers until ctx ends and no call is in flight.
func (l *callbackLane) run(ctx context.Context) { l.laneLoop.run(ctx, l.start, l.ended) }

// start starts as many deliveries as there is room for, and returns how long the lane may
// sleep.
func (l *callbackLane) start(ctx context.Context) time.Duration {
	defer l.noteUse()
	l.forget()
	seen := l.stuck.reading(callbacksSeen)
	for len(l.underWay) < callbacksAtOnce {
		due, err := l.deliverer.store.DueCallbacks(ctx, l.withoutRoom(), seen)
		if err != nil {
			if ctx.Err() == nil {
				l.deliverer.options.Logger.WarnContext(ctx, "pending callbacks cannot be read", slog.Any("error", err))
			}
			break
		}
		begun := l.startAll(ctx, due)
		if len(due) < seen || begun == 0 && !l.stuck.mayHide(seen) {
			break
		}
		if begun == 0 {
			seen *= 2
		}
	}
	return pace
}

// startAll starts the deliveries for which there is room, and returns their number.
func (l *callbackLane) startAll(ctx context.Context, due []reads.DueEffect) (begun int) {
	for _, one := range due {
		if len(l.underWay) >= callbacksAtOnce {
			break
		}
		if l.underWay[one] || l.stuck.skips(one.SessionID, callbacksAtOnce) {
			continue
		}
		origin, _ := model.CallbackOrigin(one.EffectID)
		call := callbackCall{owner: model.CallbackOwner(origin), origin: origin}
		if call.host = l.hosts[origin]; call.host == nil {
			call.host = &host{}
		}
		if !l.ownerHasRoom(call.owner) || !call.host.hasRoom() {
			continue
		}
		l.hosts[origin], l.calls[one] = call.host, call
		call.host.underWay++
		l.owners[call.owner]++
		begun++
		l.begin(one, func() result {
			calling, address := egress.WithAddress(ctx)
			r := l.deliverer.attemptDelivery(calling, one, l.deliverer.callBack)
			r.address = address()
			return r
		})
	}
	return begun
}

// ownerHasRoom reports whether an owner may have another call. The limit shrinks with the
// free calls, so that some stay free for other owners.
func (l *callbackLane) ownerHasRoom(owner string) bool { return l.owners[owner] < l.roomOfOwner() }

func (l *callbackLane) roomOfOwner() int {
	free := callbacksAtOnce - len(l.underWay)
	return max(1, min(callbacksOfOwner, free/callbackShare))
}

// noteUse stores the use of the busiest owner for [callbackLane.use].
func (l *callbackLane) noteUse() {
	share, room := 0.0, l.roomOfOwner()
	for _, own := range l.owners {
		share = max(share, min(float64(own)/float64(room), 1))
	}
	l.busiest.Store(math.Float64bits(share))
}

// use returns how much of its share of the calls the busiest owner uses: 1 if its next callback has to wait. It is safe for
// concurrent use.
func (l *callbackLane) use() float64 { return math.Float64frombits(l.busiest.Load()) }

// withoutRoom returns the hosts and owners that cannot be called now. Their deliveries are
// not read, however many there are. The owners with the most hosts without room are excluded
// themselves if there are too many: hosts that are not excluded would hide other owners.
func (l *callbackLane) withoutRoom() []string {
	hosts := map[string][]string{}
	for origin, host := range l.hosts {
		if !host.hasRoom() {
			owner := model.CallbackOwner(origin)
			hosts[owner] = append(hosts[owner], origin)
		}
	}
	full := []string{}
	for owner := range l.owners {
		if !l.ownerHasRoom(owner) {
			full = append(full, owner)
			delete(hosts, owner)
		}
	}
	fewestFirst := slices.SortedFunc(maps.Keys(hosts), func(a, b string) int { return cmp.Compare(len(hosts[a]), len(hosts[b])) })
	count := 0
	for _, owner := range fewestFirst {
		if count += len(hosts[owner]); count <= hostsKept {
			full = append(full, hosts[owner]...)
		} else {
			full = append(full, owner)
		}
	}
	return full
}

// forget forgets failed hosts whose pause is over, if there are many.
func (l *callbackLane) forget() {
	if len(l.hosts) > hostsKept {
		forgetIdle(l.hosts, (*host).hasRoom)
	}
	if len(l.addresses) > hostsKept {
		forgetIdle(l.addresses, (*host).hasRoom)
	}
}

func forgetIdle[K comparable](hosts map[K]*host, idle func(*host) bool) {
	for key, host := range hosts {
		if host.underWay == 0 && idle(host) {
			delete(hosts, key)
		}
	}
}

// hasRoom reports whether the host may be called.
func (h *host) hasRoom() bool {
	if h.breaker.open() {
		return h.underWay == 0 && h.breaker.pause() <= 0
	}
	return h.underWay < callbacksOfHost
}

// ended records the result of an attempt. A host that works is forgotten.
func (l *callbackLane) ended(r result) {
	call := l.calls[r.due]
	delete(l.calls, r.due)
	if l.owners[call.owner]--; l.owners[call.owner] == 0 {
		delete(l.owners, call.owner)
	}
	call.host.underWay--
	called := l.resolved(call, r.address)
	called.breaker.ended(r)
	if called.breaker.failures == 0 {
		forgetIdle(l.hosts, func(h *host) bool { return h == called })
		forgetIdle(l.addresses, func(h *host) bool { return h == called })
	}
}

// resolved returns the host at the address of a call, which its origin then refers to.
func (l *callbackLane) resolved(call callbackCall, address netip.AddrPort) *host {
	if !address.IsValid() {
		return call.host
	}
	at := ownAddress{call.owner, address}
	known := l.addresses[at]
	if known == nil {
		known = call.host
		l.addresses[at] = known
	}
	if known != call.host && l.hosts[call.origin] == call.host {
		l.hosts[call.origin] = known
	}
	return known
}
