//go:build unix

package storebench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/rules"
	"github.com/holdpoint/holdpoint/store/postgres"
	"github.com/holdpoint/holdpoint/store/postgres/postgrestest"
	"github.com/holdpoint/holdpoint/store/sqlite"
)

const (
	// changedTurn is how long a turn is, and changeEvery how often a rule changes in it.
	changedTurn = 3 * time.Second
	changeEvery = time.Second
	// belowBound makes room for new rules: 10,000 that are not exact is the limit.
	belowBound = `DELETE FROM rules WHERE created_at_ms <= 10`
)

// BenchmarkRuleChanges measures the cost of changes to rules of all sessions for suspending
// callers: 64 callers alternate between unchanged rules and one change a second, alternately an
// addition and a revocation. On Postgres another replica changes them; on SQLite, which has one
// process, another session. It logs the medians of the rounds, and the time to read all rules,
// or the last change, and to index them.
func BenchmarkRuleChanges(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		rulesChange(b, func(insert string) (store, other runs.Store) {
			url := postgrestest.URL(b, postgrestest.Durable())
			for _, statement := range []string{insert, belowBound, "VACUUM (ANALYZE) rules", "CHECKPOINT"} {
				fill(b, "pgx", url, statement)
			}
			open := func() runs.Store {
				store, err := postgres.Open(b.Context(), url, postgres.Options{})
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, store.Close()) })
				return store
			}
			return open(), open()
		})
	})
	b.Run("sqlite", func(b *testing.B) {
		rulesChange(b, func(insert string) (store, other runs.Store) {
			path := filepath.Join(b.TempDir(), "bench.db")
			store, err := sqlite.Open(b.Context(), path, sqlite.Options{})
			require.NoError(b, err)
			require.NoError(b, store.Close())
			fill(b, "sqlite", path, insert)
			fill(b, "sqlite", path, belowBound)
			store, err = sqlite.Open(b.Context(), path, sqlite.Options{})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, store.Close()) })
			return store, store
		})
	})
}

func rulesChange(b *testing.B, open func(insert string) (store, other runs.Store)) {
	b.Helper()
	stores, others := make([]runs.Store, len(standing)), make([]runs.Store, len(standing))
	rereads := make([]string, len(standing))
	for i, rules := range standing {
		stores[i], others[i] = open(rules.insert)
		rereads[i] = reread(b, stores[i])
		suspendFor(b.Context(), stores[i], turnOf(changedTurn)/4) // to warm up
	}
	still, changed := make([][]turned, len(standing)), make([][]turned, len(standing))
	for range b.N {
		for i := range standing {
			still[i] = append(still[i], suspendFor(b.Context(), stores[i], turnOf(changedTurn)))
			stop := changeRules(b, others[i])
			changed[i] = append(changed[i], suspendFor(b.Context(), stores[i], turnOf(changedTurn)))
			stop()
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, rules := range standing {
		var ratios []float64
		for round := range b.N {
			ratios = append(ratios, changed[i][round].rate/still[i][round].rate)
		}
		b.Logf("%-15s %s; %s; still %v; one change a second %v; ratio %.3f",
			rules.name, rereads[i], readOfChange(b, stores[i], others[i]), middle(still[i]), middle(changed[i]), median(ratios))
	}
}

// reread measures a process's full read of all rules of all sessions.
func reread(b *testing.B, store runs.Store) string {
	b.Helper()
	reader, reads := store.(runs.RuleReader)
	require.True(b, reads)
	var read, ordered []float64
	var rows, bytes int
	for range 9 {
		began := time.Now()
		_, standing, complete, err := reader.StandingRules(b.Context(), rules.AllSessions, api.MaxRulesOfAllSessions, api.MaxRuleBytesOfAllSessions)
		require.NoError(b, err)
		require.True(b, complete)
		read = append(read, float64(time.Since(began).Microseconds())/1000)
		began = time.Now()
		rules.NewSet(standing, complete)
		ordered = append(ordered, float64(time.Since(began).Microseconds())/1000)
		rows, bytes = len(standing), 0
		for _, rule := range standing {
			bytes += rule.Bytes()
		}
	}
	return fmt.Sprintf("%d rows, %d bytes of matches and texts: read in %.1f ms, put in order in %.1f ms", rows, bytes, median(read), median(ordered))
}

// readOfChange measures reading one more change and updating the set.
func readOfChange(b *testing.B, store, other runs.Store) string {
	b.Helper()
	reader := store.(runs.RuleReader)
	version, standing, complete, err := reader.StandingRules(b.Context(), rules.AllSessions, api.MaxRulesOfAllSessions, api.MaxRuleBytesOfAllSessions)
	require.NoError(b, err)
	set := rules.NewSet(standing, complete)
	_, err = other.Do(b.Context(), &runs.AddRule{
		SessionID: rules.AllSessions, Effect: api.RuleAllow, ToolName: "another", Match: api.RuleMatch{Params: map[string]string{"command": "make *"}},
	})
	require.NoError(b, err)
	var read, ordered []float64
	for range 9 {
		began := time.Now()
		changes, whole, err := reader.RuleChanges(b.Context(), version, 100, api.MaxRuleBytesOfAllSessions)
		require.NoError(b, err)
		require.True(b, whole)
		read = append(read, float64(time.Since(began).Microseconds())/1000)
		began = time.Now()
		set.With(changes.RuleIDs, changes.Standing)
		ordered = append(ordered, float64(time.Since(began).Microseconds())/1000)
	}
	return fmt.Sprintf("the last change: read in %.2f ms, put in order in %.2f ms", median(read), median(ordered))
}

// changeRules alternately adds and revokes a rule of all sessions, every changeEvery, until stop.
func changeRules(b *testing.B, store runs.Store) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	var changing sync.WaitGroup
	added := ""
	change := func() error {
		var command runs.Command = &runs.AddRule{
			SessionID: rules.AllSessions, Effect: api.RuleAllow, ToolName: "other", Match: api.RuleMatch{Params: map[string]string{"command": "make *"}},
		}
		if added != "" {
			command = &runs.RevokeRule{RuleID: added}
		}
		reply, err := store.Do(context.WithoutCancel(ctx), command)
		if err != nil {
			return err
		}
		if added != "" {
			added = ""
		} else {
			added = reply.Rule.Rule.RuleID
		}
		return nil
	}
	require.NoError(b, change(), "one, also on a machine that is too busy for a second one")
	changing.Go(func() {
		ticks := time.NewTicker(turnOf(changeEvery))
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			if err := change(); err != nil {
				panic(err)
			}
		}
	})
	return func() {
		cancel()
		changing.Wait()
	}
}

// turned is the result of 64 callers in a turn: commands per second, µs of CPU per command in
// this process (without Postgres), and the duration of one.
type turned struct {
	rate, cpu               float64
	p50, p99, p999, longest time.Duration
}

func (t turned) String() string {
	return fmt.Sprintf("%.0f/s %.0f µs CPU p50 %v p99 %v p99.9 %v max %v", t.rate, t.cpu, t.p50, t.p99, t.p999, t.longest)
}

// middle returns the median of each figure.
func middle(turns []turned) turned {
	var m turned
	of := func(figure func(*turned) float64) float64 {
		var all []float64
		for i := range turns {
			all = append(all, figure(&turns[i]))
		}
		return median(all)
	}
	m.rate = of(func(t *turned) float64 { return t.rate })
	m.cpu = of(func(t *turned) float64 { return t.cpu })
	m.p50 = time.Duration(of(func(t *turned) float64 { return float64(t.p50) }))
	m.p99 = time.Duration(of(func(t *turned) float64 { return float64(t.p99) }))
	m.p999 = time.Duration(of(func(t *turned) float64 { return float64(t.p999) }))
	m.longest = time.Duration(of(func(t *turned) float64 { return float64(t.longest) }))
	return m
}

func suspendFor(ctx context.Context, store runs.Store, duration time.Duration) turned {
	var mu sync.Mutex
	var took []time.Duration
	started, cpu := time.Now(), ownCPU()
	end := started.Add(duration)
	var callers sync.WaitGroup
	for caller := range int64(64) {
		callers.Go(func() {
			var own []time.Duration
			for began := time.Now(); began.Before(end); began = time.Now() {
				if err := suspend(ctx, store, caller); err != nil {
					panic(err)
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		})
	}
	callers.Wait()
	rate := float64(len(took)) / time.Since(started).Seconds()
	spent := float64((ownCPU() - cpu).Microseconds()) / float64(len(took))
	slices.Sort(took)
	at := func(part float64) time.Duration {
		return took[int(part*float64(len(took)-1))].Round(10 * time.Microsecond)
	}
	return turned{rate, spent, at(0.5), at(0.99), at(0.999), at(1)}
}

// ownCPU returns the CPU time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
