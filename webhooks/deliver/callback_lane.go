package deliver

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/webhooks/egress"
)

const (
	// callbacksAtOnce bounds the calls to callbacks. An owner, which is who raised the request, has a
	// share of what is free and at most callbacksOfOwner: receivers that hang keep no other owner waiting.
	callbacksAtOnce  = 64
	callbacksOfOwner = 8
	callbackShare    = 4
	// callbacksOfHost bounds the calls of an owner to one host, by the address that its name resolves to.
	callbacksOfHost = 4
	// callbacksSeen is how many deliveries are read at once, of hosts and owners that have room.
	callbacksSeen = 64
	// hostsKept is how many hosts that have failed are remembered although they may be called again, and how
	// many are left out of a read at most.
	hostsKept = 1000
)

// callbackLane posts what became of requests to their callbacks. They wait for nothing but for their
// turn at their host and among the callbacks of their owner.
type callbackLane struct {
	laneLoop
	deliverer *Deliverer
	// owners has how many calls are under way. None is 0.
	owners map[string]int
	// hosts are by origin. Names of an owner that resolve to one address share one host, which is in
	// addresses once it was called.
	hosts     map[string]*host
	addresses map[ownAddress]*host
	// calls has what is under way.
	calls map[runs.DueEffect]callbackCall
}

// callbackCall is a call that is under way.
type callbackCall struct {
	owner, origin string
	host          *host
}

// ownAddress is an address that callbacks of an owner go to. A host that fails one owner may be well for
// another: a proxy serves many.
type ownAddress struct {
	owner   string
	address netip.AddrPort
}

// host is what callbacks go to.
type host struct {
	underWay int
	breaker  breaker
}

func newCallbackLane(d *Deliverer) *callbackLane {
	return &callbackLane{
		laneLoop: newLaneLoop(), deliverer: d, owners: map[string]int{}, hosts: map[string]*host{},
		addresses: map[ownAddress]*host{}, calls: map[runs.DueEffect]callbackCall{},
	}
}

// run delivers until ctx ends and nothing is under way.
func (l *callbackLane) run(ctx context.Context) { l.laneLoop.run(ctx, l.start, l.ended) }

// start begins as many deliveries as there is room for, and returns how long the lane may sleep.
func (l *callbackLane) start(ctx context.Context) time.Duration {
	l.forget()
	for len(l.underWay) < callbacksAtOnce {
		due, err := l.deliverer.store.DueCallbacks(ctx, l.withoutRoom(), callbacksSeen)
		if err != nil {
			if ctx.Err() == nil {
				l.deliverer.options.Logger.WarnContext(ctx, "what callbacks are owed cannot be read", slog.Any("error", err))
			}
			break
		}
		begun := l.startAll(ctx, due)
		if len(due) < callbacksSeen || begun == 0 {
			break
		}
	}
	return pace
}

// startAll begins the deliveries for which there is room, and returns how many it has begun.
func (l *callbackLane) startAll(ctx context.Context, due []runs.DueEffect) (begun int) {
	for _, one := range due {
		if len(l.underWay) >= callbacksAtOnce {
			break
		}
		if l.underWay[one] {
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
			r := l.deliverer.attemptDelivery(ctx, one, func(effect *model.Effect) attempt { return l.deliverer.callBack(calling, effect) })
			r.address = address()
			return r
		})
	}
	return begun
}

// ownerHasRoom reports whether one more callback of an owner may be called. The fewer calls are free,
// the fewer an owner may have, so that some stay free for the others.
func (l *callbackLane) ownerHasRoom(owner string) bool {
	free := callbacksAtOnce - len(l.underWay)
	return l.owners[owner] < max(1, min(callbacksOfOwner, free/callbackShare))
}

// withoutRoom returns the hosts and owners whose callbacks may not be called now. Their deliveries are
// not read, however many there are.
func (l *callbackLane) withoutRoom() []string {
	full := make([]string, 0, min(len(l.hosts), hostsKept)+len(l.owners))
	for origin, host := range l.hosts {
		if !host.hasRoom() && len(full) < hostsKept {
			full = append(full, origin)
		}
	}
	for owner := range l.owners {
		if !l.ownerHasRoom(owner) {
			full = append(full, owner)
		}
	}
	return full
}

// forget forgets hosts that have failed and may be called again, when there are many.
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

// hasRoom reports whether the host may be called once more.
func (h *host) hasRoom() bool {
	if h.breaker.open() {
		return h.underWay == 0 && h.breaker.pause() <= 0
	}
	return h.underWay < callbacksOfHost
}

// ended notes how an attempt ended. A host that is well is forgotten.
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

// resolved returns the host at the address that a call went to, which its origin stands for from now on.
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
