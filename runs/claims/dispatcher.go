package claims

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/reads"
)

// DefaultScanInterval is the default of [Options].
const DefaultScanInterval = 500 * time.Millisecond

const (
	defaultScanLimit = 512
	defaultHintLimit = 4096
)

// scanTimeout bounds a query for claimable runs.
const scanTimeout = 10 * time.Second

// Options configure a [Dispatcher]. Zero members have defaults.
type Options struct {
	// MaxAttempts is how many claims without progress a run gets before it fails
	// (docs/spec/v1.md#attempts); runs.DefaultMaxAttempts if 0.
	MaxAttempts int64
	// ScanInterval bounds how long a waiting claim can miss a claimable run whose hint was lost.
	ScanInterval time.Duration
	// Opens reports whether this process can decrypt values under a data key. It must not block.
	// Runs with other keys are left to other processes. If nil, runs are claimed regardless of
	// their key.
	Opens func(dataKey string) bool
	// NowMs measures the silence of workers, from any moment on; the process's time if nil.
	NowMs func() int64
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// scanLimit is the maximum number of claimable runs per query.
	scanLimit int
	// hintLimit bounds the hints kept for each set of agents.
	hintLimit int
}

// Store is the part of a runs.Store that a dispatcher uses.
type Store interface {
	runs.Door
	// Within is defined by runs.Store.
	Within(scope reads.Scope) reads.Reader
	// Subscribe is defined by runs.Store.
	Subscribe(notify func(reads.Notice)) (unsubscribe func())
}

// handingOver is a store that lets a taker claim runs in the transactions that make them
// claimable.
type handingOver interface {
	HandOver(to runs.Taker) (stop func())
}

// sharing is a store that tells other replicas what workers ask for.
type sharing interface {
	ShareAsks(asks reads.Asks) (stop func())
}

// Dispatcher hands claimable runs to workers, first come, first served per agent. It is safe for
// concurrent use. [Dispatcher.Claim] needs a running [Dispatcher.Run].
type Dispatcher struct {
	store   Store
	options Options
	// scanWanted signals the scanner that a demand wants a scan.
	scanWanted chan struct{}

	mu      sync.Mutex
	closed  bool
	demands map[string]*demand
	// byAgent lists the demands that name an agent; everyAgent is the one for all agents, nil
	// without such claims.
	byAgent    map[string][]*demand
	everyAgent *demand
	// claiming holds the runs that are being claimed, each with the claimable_at_ms of its hint.
	claiming map[string]int64
	// taking holds the claims that the store decides in the transactions that make their runs
	// claimable.
	taking map[*runs.ClaimRun]*taking
	// givingBack tracks the releases of runs whose waiter had left before the handover.
	givingBack sync.WaitGroup
	// asked has the claims of this process, askedOthers those that other replicas tell of.
	asked, askedOthers asked
	waiters            uint64 // numbers the waiters
	arrivals           uint64 // numbers the hints
}

// New returns a dispatcher, to be started with [Dispatcher.Run].
func New(store Store, options Options) *Dispatcher {
	options.MaxAttempts = cmp.Or(options.MaxAttempts, runs.DefaultMaxAttempts)
	options.ScanInterval = cmp.Or(options.ScanInterval, DefaultScanInterval)
	options.scanLimit = cmp.Or(options.scanLimit, defaultScanLimit)
	options.hintLimit = cmp.Or(options.hintLimit, defaultHintLimit)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	if options.NowMs == nil {
		started := time.Now()
		options.NowMs = func() int64 { return time.Since(started).Milliseconds() }
	}
	nothing := func() asked { return asked{byAgent: map[string]askedAgent{}, sinceMs: options.NowMs()} }
	return &Dispatcher{
		store: store, options: options, scanWanted: make(chan struct{}, 1),
		demands: map[string]*demand{}, byAgent: map[string][]*demand{}, claiming: map[string]int64{},
		taking: map[*runs.ClaimRun]*taking{}, asked: nothing(), askedOthers: nothing(),
	}
}

// Run listens to the store's notices and scans until ctx ends. Then all waiting and later claims
// return without a run, and Run returns nil. It starts no goroutine. Call it once.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.givingBack.Wait()
	defer d.close()
	defer d.store.Subscribe(d.notice)()
	if store, able := d.store.(handingOver); able {
		defer store.HandOver(d)()
	}
	if store, able := d.store.(sharing); able {
		defer store.ShareAsks(d)()
	}
	ticker := time.NewTicker(d.options.ScanInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			d.tick()
		case <-d.scanWanted:
		}
		d.scan(ctx)
	}
}

// Held returns the number of waiting claims.
func (d *Dispatcher) Held() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := 0
	for _, shared := range d.demands {
		waiting += len(shared.waiters)
	}
	return waiting
}

// notice handles a commit. It runs on the commit path.
func (d *Dispatcher) notice(notice reads.Notice) {
	if notice.SessionID != "" && len(notice.Claimable) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, claimable := range notice.Claimable {
		d.offerHint(claimable)
	}
	if notice.SessionID == "" {
		for _, demand := range d.demands {
			d.wantScan(demand)
		}
	}
}

// offerHint hands a hint to the oldest matching waiter, or queues it (invariant 3).
func (d *Dispatcher) offerHint(claimable reads.Claimable) {
	if at, ok := d.claiming[claimable.RunID]; ok && at == claimable.ClaimableAtMs {
		return
	}
	demands := d.demandsFor(&claimable)
	if len(demands) == 0 {
		return
	}
	h := d.newHint(claimable)
	for _, demand := range demands {
		demand.noteArrival(h, d.options.hintLimit)
	}
	oldest := oldestWaiter(demands)
	if oldest != nil {
		h.taken = true
		d.claiming[h.RunID] = h.ClaimableAtMs
		oldest.wake([]*hint{h}, nil)
		return
	}
	for _, demand := range demands {
		demand.queueHint(h, d.options.hintLimit)
	}
}

// demandsFor returns the demands that match a run.
func (d *Dispatcher) demandsFor(run *reads.Claimable) []*demand {
	demands := d.byAgent[run.AgentID]
	if outside := func(one *demand) bool { return !one.reaches(run) }; slices.ContainsFunc(demands, outside) {
		demands = slices.DeleteFunc(slices.Clone(demands), outside)
	}
	if d.everyAgent != nil {
		demands = append(demands[:len(demands):len(demands)], d.everyAgent)
	}
	return demands
}

// oldestWaiter returns the oldest waiter of the demands that know of no other run, or nil.
func oldestWaiter(demands []*demand) *waiter {
	var oldest *waiter
	for _, demand := range demands {
		if demand.more || len(demand.waiters) == 0 {
			continue
		}
		if first := demand.waiters[0]; oldest == nil || first.number < oldest.number {
			oldest = first
		}
	}
	return oldest
}

func (d *Dispatcher) newHint(claimable reads.Claimable) *hint {
	d.arrivals++
	return &hint{Claimable: claimable, arrival: d.arrivals}
}

// takeHints gives a waiter the oldest hints of its demand, if any.
func (d *Dispatcher) takeHints(w *waiter) []*hint {
	hints := w.demand.popHints(w.maxRuns)
	for _, h := range hints {
		d.claiming[h.RunID] = h.ClaimableAtMs
	}
	return hints
}

// putBack offers the unused hints of a claimer again.
func (d *Dispatcher) putBack(hints []*hint) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range hints {
		d.releaseHint(h)
		if !d.closed {
			d.offerHint(h.Claimable)
		}
	}
}

// releaseHint records that a run is no longer being claimed.
func (d *Dispatcher) releaseHint(h *hint) {
	if d.claiming[h.RunID] == h.ClaimableAtMs {
		delete(d.claiming, h.RunID)
	}
}

// join returns a new waiter of the demand for these agents, which are sorted, within a scope. It
// creates the demand if necessary. A limited scope requires agents. The caller must call unjoin.
func (d *Dispatcher) join(agentIDs []string, scope reads.Scope, maxRuns int) *waiter {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := strings.Join(agentIDs, "\x00") + "\x00\x00" + scope.Key()
	shared := d.demands[key]
	if shared == nil {
		shared = &demand{key: key, agentIDs: agentIDs, scope: scope, more: true}
		d.demands[key] = shared
		if len(agentIDs) == 0 {
			d.everyAgent = shared
		}
		for _, agentID := range agentIDs {
			d.byAgent[agentID] = append(d.byAgent[agentID], shared)
		}
	}
	shared.claimers++
	shared.used = true
	d.asked.note(agentIDs, d.options.NowMs())
	d.waiters++
	return &waiter{
		number: d.waiters, demand: shared, maxRuns: maxRuns,
		leastScan: shared.nextScan(), signal: make(chan struct{}, 1),
	}
}

// unjoin ends a claim that called join.
func (d *Dispatcher) unjoin(w *waiter) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.demand.claimers--
	d.asked.note(w.demand.agentIDs, d.options.NowMs())
}

// dropDemand deletes a demand without claimers.
func (d *Dispatcher) dropDemand(unused *demand) {
	delete(d.demands, unused.key)
	if d.everyAgent == unused {
		d.everyAgent = nil
	}
	for _, agentID := range unused.agentIDs {
		kept := slices.DeleteFunc(d.byAgent[agentID], func(other *demand) bool { return other == unused })
		if d.byAgent[agentID] = kept; len(kept) == 0 {
			delete(d.byAgent, agentID)
		}
	}
}

// close answers every waiting and later claim without a run.
func (d *Dispatcher) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, demand := range d.demands {
		for len(demand.waiters) > 0 {
			demand.waiters[0].wake(nil, nil)
		}
	}
}

// WaitingFor returns the number of waiting claims that match this run.
func (d *Dispatcher) WaitingFor(run *reads.Claimable) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	waiting := 0
	for _, shared := range d.demandsFor(run) {
		waiting += len(shared.waiters)
	}
	return waiting
}
