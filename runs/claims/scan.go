package claims

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/runs/reads"
)

// wantScan requests a scan of a demand that has not begun yet.
func (d *Dispatcher) wantScan(wanting *demand) {
	wanting.scanWanted = true
	select {
	case d.scanWanted <- struct{}{}:
	default:
	}
}

// tick requests a scan for every demand in use, and drops the others.
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

// scan finds the claimable runs for all demands that want it, with one query. If another
// demand's backlog filled the query, demands whose waiters got nothing want the next one, which
// usually excludes that backlog.
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

// byScope groups the demands by scope. One query serves a group: it shows no runs outside of the
// scope, and such runs do not use up its limit.
func byScope(demands []*demand) [][]*demand {
	groups := map[string][]*demand{}
	for _, one := range demands {
		key := one.scope.Key()
		groups[key] = append(groups[key], one)
	}
	return slices.Collect(maps.Values(groups))
}

func (d *Dispatcher) claimable(ctx context.Context, demands []*demand) ([]reads.Claimable, error) {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	return d.store.Within(demands[0].scope).Claimable(ctx, reads.ClaimableQuery{AgentIDs: agentsOf(demands), Limit: d.options.scanLimit})
}

// agentsOf returns the agents of the demands, nil for all agents.
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

// endScan queues and hands out the runs that a query found for some demands.
func (d *Dispatcher) endScan(demands []*demand, claimable []reads.Claimable) {
	d.mu.Lock()
	defer d.mu.Unlock()
	truncated := len(claimable) >= d.options.scanLimit
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

// handOut gives the queued hints of some demands to their waiters, oldest waiter first, and
// wakes the waiters that may leave without a run.
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

// failScan returns the error to the waiters whose wait is over. The others wait for the next
// tick.
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
