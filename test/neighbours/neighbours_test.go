//go:build linux && faults

package neighbours

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
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
const least = 10 * time.Millisecond

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
	admin, args := profiled(t)
	service := rig.Start(t, rig.Options{Database: database, Args: append(args, "--auth", "required"), Env: []string{
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

	for i := range attackers {
		a := &attackers[i]
		t.Run(a.name, func(t *testing.T) {
			alone, err := q.measure(t.Context(), long)
			require.NoError(t, err)
			under, err := a.start(service.URL(), tokens[a.name])
			require.NoError(t, err)
			saved := saveProfile(t, admin, a.name, long)
			next, failed := q.measure(t.Context(), long)
			answered, err := under.end()
			saved()
			require.NoError(t, err)
			require.NoError(t, failed)
			memory := memoryOf(t, service, "VmHWM")
			ratio := ms(next, 99) / max(ms(alone, 99), float64(least.Milliseconds()))
			t.Logf("alone p50 %.1f p95 %.1f p99 %.1f ms; next to %s p50 %.1f p95 %.1f p99 %.1f max %.1f ms, %.1f times; at most %d MiB; %v",
				ms(alone, 50), ms(alone, 95), ms(alone, 99), a.name, ms(next, 50), ms(next, 95), ms(next, 99), ms(next, 100), ratio, memory, answered)
			for status := range answered {
				require.Less(t, status, 500, service.Log())
			}
			require.Positive(t, answered[a.answer], "calls that do the attacker's work: %v", answered)
			within(t, ratioVariable, ratio, a.name)
			within(t, memoryVariable, float64(memory), a.name)
		})
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
