package claims

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/runs"
)

// wantScan asks for a scan of a demand that begins after this moment.
func (d *Dispatcher) wantScan(wanting *demand) {
	wanting.scanWanted = true
	select {
	case d.scanWanted <- struct{}{}:
	default:
	}
}

// tick makes every demand in use want a scan, and drops the others.
func (d *Dispatcher) tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, demand := range d.demands {
		if demand.claimers == 0 && !demand.used {
			d.dropDemand(demand)
			continue
		}
		demand.used = false
		demand.scanWanted = true
	}
}

// scan looks up the claimable runs for all demands that want it, with one query.
// A demand whose waiters a full query left with nothing, because of another's
// backlog, wants the next one, in which the others as a rule are not.
func (d *Dispatcher) scan(ctx context.Context) {
	demands := d.beginScan()
	if len(demands) == 0 {
		return
	}
	for _, alike := range byScope(demands) {
		rows, err := d.claimable(ctx, alike)
		if err == nil {
			d.endScan(alike, rows)
			continue
		}
		d.failScan(alike, err)
		if ctx.Err() == nil {
			d.options.Logger.WarnContext(ctx, "scan for claimable runs failed", slog.String("error", err.Error()))
		}
	}
}

// byScope returns the demands of each scope: one query answers those, and shows none of them a
// run that it may not know of, or only as many as fit beside what it may not have.
func byScope(demands []*demand) [][]*demand {
	groups := map[string][]*demand{}
	for _, one := range demands {
		key := one.scope.Key()
		groups[key] = append(groups[key], one)
	}
	return slices.Collect(maps.Values(groups))
}

func (d *Dispatcher) claimable(ctx context.Context, demands []*demand) ([]runs.Claimable, error) {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	return d.store.Claimable(ctx, runs.ClaimableQuery{AgentIDs: agentsOf(demands), Scope: demands[0].scope, Limit: d.options.ScanLimit})
}

// agentsOf returns the agents of all the demands, nil for all agents.
func agentsOf(demands []*demand) []string {
	var agentIDs []string
	for _, demand := range demands {
		if len(demand.agentIDs) == 0 {
			return nil
		}
		agentIDs = append(agentIDs, demand.agentIDs...)
	}
	slices.Sort(agentIDs)
	return slices.Compact(agentIDs)
}

func (d *Dispatcher) beginScan() []*demand {
	d.mu.Lock()
	defer d.mu.Unlock()
	var demands []*demand
	for _, demand := range d.demands {
		if demand.scanWanted {
			demand.beginScan()
			demands = append(demands, demand)
		}
	}
	return demands
}

// endScan queues what the query for some demands found, and hands it out.
func (d *Dispatcher) endScan(demands []*demand, claimable []runs.Claimable) {
	d.mu.Lock()
	defer d.mu.Unlock()
	truncated := len(claimable) >= d.options.ScanLimit
	var all []*hint
	byAgent := map[string][]*hint{}
	for _, row := range claimable {
		if at, ok := d.claiming[row.RunID]; ok && at == row.ClaimableAtMs {
			continue
		}
		h := d.newHint(row)
		all = append(all, h)
		byAgent[row.AgentID] = append(byAgent[row.AgentID], h)
	}
	for _, demand := range demands {
		var rows []*hint
		if len(demand.agentIDs) == 0 {
			rows = slices.Clone(all)
		}
		for _, agentID := range demand.agentIDs {
			rows = append(rows, byAgent[agentID]...)
		}
		slices.SortFunc(rows, byAge)
		demand.endScan(rows, truncated)
	}
	d.handOut(demands)
}

// handOut gives the queued hints of some demands to their waiters, the oldest
// waiter first, and wakes those that may leave with nothing.
func (d *Dispatcher) handOut(demands []*demand) {
	var waiters []*waiter
	for _, demand := range demands {
		waiters = append(waiters, demand.waiters...)
	}
	slices.SortFunc(waiters, func(a, b *waiter) int { return cmp.Compare(a.number, b.number) })
	for _, w := range waiters {
		switch hints := d.takeHints(w); {
		case len(hints) > 0:
			w.wake(hints, nil)
		case w.mayLeave():
			w.wake(nil, nil)
		case w.demand.more || w.impatient:
			d.wantScan(w.demand)
		}
	}
}

// failScan answers the waiters whose time is over with the error. The others wait for
// the next tick.
func (d *Dispatcher) failScan(demands []*demand, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, demand := range demands {
		demand.failScan()
		for _, w := range slices.Clone(demand.waiters) {
			if w.impatient {
				w.wake(nil, err)
			}
		}
	}
}
