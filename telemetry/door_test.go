package telemetry

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// Only claims after a lapse are counted as lapses. A failed handler is a higher attempt, too.
func TestLapsesAreCounted(t *testing.T) {
	t.Parallel()
	d := newDoor(nil)
	for _, reply := range []runs.Reply{
		{Claim: &api.Claim{Attempt: 2}},
		{Claim: &api.Claim{Attempt: 3}},
		{Claim: &api.Claim{Attempt: 1}, Lapsed: true},
	} {
		d.Answered(&runs.ClaimRun{}, reply, nil, 0)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.lapses)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.InDelta(t, 1, families[0].GetMetric()[0].GetCounter().GetValue(), 0)
}
