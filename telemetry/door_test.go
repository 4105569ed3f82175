package telemetry

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
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

// Workers choose the types of the events that they append. As labels, they would be callers' texts, and never end.
func TestTypesOfWorkersAreOneLabel(t *testing.T) {
	t.Parallel()
	d := newDoor(nil)
	var events []*model.Event
	for _, eventType := range []api.EventType{api.EventAccepted, api.EventOutput, "of-a-worker-1", "of-a-worker-2"} {
		events = append(events, &model.Event{Type: eventType})
	}
	d.Committed([]runs.Change{{Rows: runs.Rows{Events: events}}})
	registry := prometheus.NewRegistry()
	registry.MustRegister(d.events)
	families, err := registry.Gather()
	require.NoError(t, err)
	counted := map[string]float64{}
	for _, one := range families[0].GetMetric() {
		counted[one.GetLabel()[0].GetValue()] = one.GetCounter().GetValue()
	}
	require.Equal(t, map[string]float64{"accepted": 1, "output": 1, "other": 2}, counted)
}

// Prometheus sees no increase in a series that begins at 1.
func TestTheFirstFailureIsAnIncrease(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	registry.MustRegister(newDoor(nil).transactions)
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	var read []string
	for _, one := range families[0].GetMetric() {
		require.Zero(t, one.GetHistogram().GetSampleCount())
		require.Equal(t, "failed", one.GetLabel()[1].GetValue())
		read = append(read, one.GetLabel()[0].GetValue())
	}
	require.ElementsMatch(t, []string{"no", "yes"}, read)
}
