//go:build linux && faults

package neighbours

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/test/rig"
)

// Variables of the environment: how long to measure each attacker; the largest ratio of p99 next to an
// attacker and p99 alone; the most memory of the service, in MiB. Without the bounds nothing about time
// or memory fails, because other work on the machine moves both.
const (
	forVariable    = "HOLDPOINT_NEIGHBOURS_FOR"
	ratioVariable  = "HOLDPOINT_NEIGHBOURS_RATIO"
	memoryVariable = "HOLDPOINT_NEIGHBOURS_MEMORY"
)

// least is the p99 from which a ratio counts: below it the machine's scheduler is measured.
const least = 20 * time.Millisecond

func TestOneCallersWorkIsNotAnothersWait(t *testing.T) {
	long := time.Second
	if text := os.Getenv(forVariable); text != "" {
		var err error
		long, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	for _, engine := range rig.Engines {
		t.Run(engine.Name, func(t *testing.T) { measure(t, engine.Database(t), long) })
	}
}

func measure(t *testing.T, database string, long time.Duration) {
	t.Helper()
	tokens := map[string]string{}
	// Each attacker is a principal of its own, with a full budget.
	roles := map[string]api.Role{"quiet": api.RoleAgent, "admin": api.RoleAdmin}
	for i := range attackers {
		roles[attackers[i].name] = attackers[i].role
	}
	for name, role := range roles {
		code, secret, log := rig.Run(t, "tokens", "create", "--database", database, "--name", name, "--role", string(role))
		require.Zero(t, code, log)
		tokens[name] = strings.TrimSpace(secret)
	}
	service := rig.Start(t, rig.Options{Database: database, Args: []string{"--auth", "required"}, Env: []string{
		"HOLDPOINT_LIMIT_RATE=100", "HOLDPOINT_LIMIT_CALLS=64", "HOLDPOINT_LIMIT_HELD=1000", // the defaults
	}})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	q := &quiet{one: &http.Client{Transport: transport}, url: service.URL(), token: tokens["quiet"]}
	for name, secret := range map[string]string{"quiet": tokens["quiet"], "attacked": tokens["checkpoints"]} {
		body := fmt.Sprintf(`{"run_id":%q,"session_id":%q,"input":1,"claim":{"worker_id":"w","lease_ms":3600000}}`, name, name)
		status, err := post(t.Context(), q.one, service.URL()+"/v1/runs", secret, body)
		require.NoError(t, err)
		require.Less(t, status, 300)
	}
	for _, body := range globs {
		status, err := post(t.Context(), q.one, service.URL()+"/v1/rules", tokens["admin"], body)
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, status)
	}

	alone, err := q.measure(t.Context(), long)
	require.NoError(t, err)
	t.Logf("%-16s p50 %6.1f ms  p99 %6.1f ms  %4d MiB", "alone", ms(alone, 50), ms(alone, 99), memoryOf(t, service, "VmHWM"))
	for i := range attackers {
		a := &attackers[i]
		ctx, cancel := context.WithCancel(t.Context())
		var (
			answered map[int]int64
			failed   error
			attack   sync.WaitGroup
		)
		attack.Go(func() { answered, failed = a.run(ctx, service, tokens[a.name]) })
		took, err := q.measure(t.Context(), long)
		cancel()
		attack.Wait()
		require.NoError(t, failed)
		require.NoError(t, err)
		memory := memoryOf(t, service, "VmHWM")
		ratio := ms(took, 99) / max(ms(alone, 99), float64(least.Milliseconds()))
		t.Logf("%-16s p50 %6.1f ms  p99 %6.1f ms  %4d MiB  ratio %.1f  %v", a.name, ms(took, 50), ms(took, 99), memory, ratio, answered)
		for status := range answered {
			require.Less(t, status, 500, "%s: %s", a.name, service.Log())
		}
		within(t, ratioVariable, ratio, a.name)
		within(t, memoryVariable, float64(memory), a.name)
	}
	require.Zero(t, q.refused, "the quiet agent was refused")
	rig.RequireHealthy(t, database)
}

// within requires that a figure is at most what a variable says, if it is set.
func within(t *testing.T, variable string, figure float64, name string) {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return
	}
	most, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	if figure > most {
		t.Errorf("next to %s: %.1f is more than %s=%s", name, figure, variable, text)
	}
}

// ms is a percentile of durations in milliseconds.
func ms(took []time.Duration, percent int) float64 {
	sorted := slices.Sorted(slices.Values(took))
	return float64(sorted[min(len(sorted)*percent/100, len(sorted)-1)].Microseconds()) / 1000
}

// memoryOf is a line of the process's status in MiB.
func memoryOf(t *testing.T, service *rig.Process, line string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", service.PID()))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), line+":")
	require.True(t, found)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return kib / 1024
}
