package telemetry

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/reads"
	"github.com/holdpoint/holdpoint/store/door"
)

// Source is asked for its current state at each scrape.
type Source struct {
	// Store counts pending rows.
	Store reads.Gauge
	// Lanes and Pools report on the engine.
	Lanes func() []door.LaneState
	Pools func() []door.PoolState
	// Streams returns the number of open streams, Connections the number of multiplexed
	// connections, and Held the number of claims waiting for a run.
	Streams     func() int
	Connections func() int
	Held        func() int
	// Callers returns the usage of principals.
	Callers func() Callers
	// Backlog returns the most open prompts and the most queued runs of a single principal,
	// as counted by this process.
	Backlog func() (prompts, queued int64)
	// Spans returns the number of spans sent and dropped; nil without tracing.
	Spans func() (sent, dropped int64)
	// Now is the clock of this process.
	Now func() time.Time
}

// Callers has the number of principals (or unauthenticated connections) whose usage is
// tracked, and the most that a single one has in flight: calls, held calls, streams, and
// bytes of bodies. Stored is the largest share of a daily budget of stored bytes in use,
// from 0 to 1.
type Callers struct {
	Count                       int
	Calls, Held, Streams, Bytes int64
	// Rate and Stored are shares of a limit.
	Rate, Stored float64
	// MCP, Connections and Callbacks are how much of its share the busiest principal uses, from 0 to 1.
	MCP, Connections, Callbacks float64
}

const (
	// countLimit bounds the rows that each count looks at.
	countLimit = 100_000
	// countFor is how long counts are cached.
	countFor = 10 * time.Second
	// countTimeout bounds one count.
	countTimeout = 4 * time.Second
)

// sampler collects gauges at each scrape.
type sampler struct {
	source Source

	mu     sync.Mutex
	counts *model.Vitals
	// countedAt is when the database was last asked, successfully or not.
	countedAt time.Time
	failures  float64
}

func newSampler(source Source) *sampler { return &sampler{source: source} }

// described has every description that describe has returned.
var described []*prometheus.Desc

func describe(name, help string, labels ...string) *prometheus.Desc {
	described = append(described, prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil))
	return described[len(described)-1]
}

var (
	descWaits       = describe("waits", "Open requests, by kind and by how long they have waited. Each reading counts "+strconv.Itoa(countLimit)+" at most.", "kind", "age")
	descOldestWait  = describe("oldest_wait_seconds", "How long the oldest open request has waited.", "kind")
	descOwed        = describe("effects_owed", "Effects of decisions that are not carried out yet.", "kind")
	descOldestOwed  = describe("oldest_effect_owed_seconds", "Age of the oldest pending effect.", "kind")
	descGivenUp     = describe("effects_failed", "Effects that were given up.", "kind")
	descClaimable   = describe("claimable_runs", "Runs that a worker may claim now.")
	descUnclaimed   = describe("oldest_claimable_seconds", "How long the oldest claimable run waits for a worker.")
	descOverdue     = describe("overdue_requests", "Open requests past their deadline.")
	descSweepLag    = describe("sweep_lag_seconds", "How long the most overdue request is past its deadline.")
	descDeadLetters = describe("dead_letters", "Messages that nobody acknowledged in time.")
	descIntake      = describe("intake_runs", "Runs that other programs' transactions have asked for and that do not exist yet.")
	descIntakeAge   = describe("oldest_intake_seconds", "How long ago the oldest of these was asked for.")
	descRefusedRuns = describe("refused_runs", "Runs that other programs' transactions have asked for and that could not be created.")
	descRules       = describe("rules_in_force", "Standing rules in force.")
	descCounted     = describe("database_counts_up", "1 when the counts of the database were made in the last seconds, 0 when it did not answer.")
	descFailures    = describe("database_count_failures_total", "Countings that the database did not answer.")

	descLaneOldest  = describe("lane_oldest_seconds", "How long ago the oldest command came that a lane has not answered.", "lane")
	descLaneBusy    = describe("lane_busy_seconds", "How long the batch of a lane has been in flight.", "lane")
	descLaneWaiting = describe("lane_commands", "Commands that wait for the next batch of a lane.", "lane")

	descPoolInUse  = describe("pool_connections_in_use", "Connections of a pool that are in use.", "pool")
	descPoolIdle   = describe("pool_connections_idle", "Open connections of a pool that are not in use.", "pool")
	descPoolMax    = describe("pool_connections_max", "How many connections a pool may have.", "pool")
	descPoolWaits  = describe("pool_waits_total", "How often a caller had to wait for a connection of a pool.", "pool")
	descPoolWaited = describe("pool_wait_seconds_total", "How long callers waited for connections of a pool.", "pool")

	descStreams     = describe("streams", "Open streams.")
	descConnections = describe("call_connections", "Connections that carry many calls each.")
	descHeld        = describe("held_claims", "Claims that wait for a run.")

	descSpans = describe("trace_spans_total", "Spans of traces that were sent, and those that were dropped because the collector did not take them in time.", "result")

	descCallers       = describe("callers", "Principals that are remembered for what they use.")
	descCallerRate    = describe("busiest_caller_rate_ratio", "The share of its burst of calls that one principal has used, of the one that has used most of it. Above 1 its calls wait, or are refused.")
	descCallerCalls   = describe("busiest_caller_calls", "The most calls that one principal has under way and not held.")
	descCallerHeld    = describe("busiest_caller_held_calls", "The most calls of one principal that are held until something happens.")
	descCallerStreams = describe("busiest_caller_streams", "The most streams that one principal has open.")
	descCallerStored  = describe("busiest_caller_stored_ratio", "The share of its daily budget of stored bytes that one principal has used, of the one that has used most of it.")
	descCallerPrompts = describe("busiest_caller_open_prompts", "The most open prompts that one principal has, as far as this replica has counted.")
	descCallerQueued  = describe("busiest_caller_queued_runs", "The most queued runs that one principal has, as far as this replica has counted.")
	descCallerMCP     = describe("busiest_caller_mcp_ratio", "How much of its share of the calls of /mcp the busiest principal holds. At 1 its next call is refused.")
	descCallerSockets = describe("busiest_caller_connections_ratio", "How much of its maximum of connections for calls the busiest principal has. At 1 its next connection is refused.")
	descCallerPosts   = describe("busiest_caller_callbacks_ratio", "How much of its share of the callbacks in flight the busiest principal uses. At 1 its next callback waits.")
	descCallerBytes   = describe("busiest_caller_body_bytes", "The most bytes that the bodies of one principal's calls under way have.")
)

// ages are the values of the label age.
var ages = [model.WaitAges]string{"under_1m", "1m_to_1h", "1h_to_1d", "1d_to_7d", "over_7d"}

// Describe implements [prometheus.Collector].
func (s *sampler) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range described {
		to <- desc
	}
}

// Collect implements [prometheus.Collector].
func (s *sampler) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	total := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
	}
	if s.source.Spans != nil {
		sent, dropped := s.source.Spans()
		total(descSpans, float64(sent), "sent")
		total(descSpans, float64(dropped), "dropped")
	}
	for _, lane := range s.source.Lanes() {
		number := strconv.Itoa(lane.Lane)
		gauge(descLaneOldest, lane.Oldest.Seconds(), number)
		gauge(descLaneBusy, lane.Busy.Seconds(), number)
		gauge(descLaneWaiting, float64(lane.Waiting), number)
	}
	for _, pool := range s.source.Pools() {
		gauge(descPoolInUse, float64(pool.InUse), pool.Name)
		gauge(descPoolIdle, float64(pool.Idle), pool.Name)
		gauge(descPoolMax, float64(pool.Max), pool.Name)
		total(descPoolWaits, float64(pool.Waits), pool.Name)
		total(descPoolWaited, pool.Waited.Seconds(), pool.Name)
	}
	gauge(descStreams, float64(s.source.Streams()))
	gauge(descConnections, float64(s.source.Connections()))
	gauge(descHeld, float64(s.source.Held()))
	callers := s.source.Callers()
	gauge(descCallers, float64(callers.Count))
	gauge(descCallerRate, callers.Rate)
	gauge(descCallerCalls, float64(callers.Calls))
	gauge(descCallerHeld, float64(callers.Held))
	gauge(descCallerStreams, float64(callers.Streams))
	gauge(descCallerBytes, float64(callers.Bytes))
	gauge(descCallerStored, callers.Stored)
	gauge(descCallerMCP, callers.MCP)
	gauge(descCallerSockets, callers.Connections)
	gauge(descCallerPosts, callers.Callbacks)
	prompts, queued := s.source.Backlog()
	gauge(descCallerPrompts, float64(prompts))
	gauge(descCallerQueued, float64(queued))

	counts, failures := s.count()
	total(descFailures, failures)
	if counts == nil {
		gauge(descCounted, 0)
		return
	}
	gauge(descCounted, 1)
	collectCounts(counts, gauge)
}

// collectCounts reports the counts of the database, including counts of 0.
func collectCounts(counts *model.Vitals, gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	age := func(tally model.Tally) float64 {
		if tally.OldestMs == 0 {
			return 0
		}
		return float64(max(counts.NowMs-tally.OldestMs, 0)) / 1000
	}
	for _, kind := range []model.RequestKind{model.KindApproval, model.KindQuestion} {
		var waits [model.WaitAges]int64
		oldest := 0.0
		for _, tally := range counts.Waits {
			if tally.Kind == kind && tally.Age >= 0 && tally.Age < model.WaitAges {
				waits[tally.Age] += tally.Count
				oldest = max(oldest, age(tally.Tally))
			}
		}
		for i, count := range waits {
			gauge(descWaits, float64(count), string(kind), ages[i])
		}
		gauge(descOldestWait, oldest, string(kind))
	}
	for _, kind := range api.EffectKinds() {
		owed, oldest, failed := int64(0), 0.0, int64(0)
		for _, tally := range counts.Effects {
			switch {
			case tally.Kind != kind:
			case tally.State == api.EffectPending:
				owed, oldest = tally.Count, age(tally.Tally)
			default:
				failed = tally.Count
			}
		}
		gauge(descOwed, float64(owed), string(kind))
		gauge(descOldestOwed, oldest, string(kind))
		gauge(descGivenUp, float64(failed), string(kind))
	}
	gauge(descClaimable, float64(counts.Claimable.Count))
	gauge(descUnclaimed, age(counts.Claimable))
	gauge(descOverdue, float64(counts.Overdue.Count))
	gauge(descSweepLag, age(counts.Overdue))
	gauge(descDeadLetters, float64(counts.DeadLetters.Count))
	gauge(descIntake, float64(counts.Intake.Count))
	gauge(descIntakeAge, age(counts.Intake))
	gauge(descRefusedRuns, float64(counts.RefusedRuns.Count))
	gauge(descRules, float64(counts.Rules.Count))
}

// count returns the counts of the database, nil if the last attempt failed. Concurrent
// scrapes share one attempt.
func (s *sampler) count() (*model.Vitals, float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.source.Now(); s.countedAt.IsZero() || now.Sub(s.countedAt) >= countFor {
		ctx, cancel := context.WithTimeout(context.Background(), countTimeout)
		defer cancel()
		counts, err := s.source.Store.Vitals(ctx, countLimit)
		s.counts, s.countedAt = counts, now
		if err != nil {
			s.counts = nil
			s.failures++
		}
	}
	return s.counts, s.failures
}
