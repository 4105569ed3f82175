package telemetry

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
)

// A person who got no message is counted, and so is a notification that reached nobody.
func TestWhoWasNotReachedIsCounted(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]map[string]float64{
		`{"to":[{"who":"user:ada","channels":["mail"]}]}`:                                                  {},
		`{"to":[{"who":"user:ada","channels":["mail"]},{"who":"user:ben","why_not":"no_address"}]}`:        {runs.WhyNoAddress: 1},
		`{"to":[{"who":"user:ben","why_not":"no_address"},{"who":"user:cyd","why_not":"may_not_decide"}]}`: {runs.WhyNoAddress: 1, runs.WhyNotAllowed: 1, runs.WhyNobody: 1},
		`{"to":[{"who":"oncall:pay","why_not":"on_call_failed"},{"who":"user:root","channels":["mail"]}]}`: {runs.WhyOnCallFailed: 1},
		`{"to":[{"who":"user:ada","why_not":"same_message"}]}`:                                             {},
		`{"to":[]}`: {runs.WhyNobody: 1},
	} {
		d := newDoor(nil)
		d.Committed([]runs.Change{{Rows: runs.Rows{Events: []*model.Event{
			{Type: api.EventRequestNotified, Body: api.JSON(body)}, {Type: api.EventNotificationFailed, Body: api.JSON(`{"to":[]}`)},
		}}}})
		registry := prometheus.NewRegistry()
		registry.MustRegister(d.notReached)
		families, err := registry.Gather()
		require.NoError(t, err)
		got := map[string]float64{}
		for _, metric := range families[0].GetMetric() {
			got[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
		}
		all := map[string]float64{
			runs.WhyNobody: 0, runs.WhyNoAddress: 0, runs.WhyNotAllowed: 0, runs.WhyLimit: 0, runs.WhyOnCallFailed: 0, runs.WhyOnCallEmpty: 0,
		}
		maps.Copy(all, want)
		require.Equal(t, all, got, body)
	}
}
