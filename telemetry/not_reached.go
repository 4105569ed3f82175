package telemetry

import (
	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs"
)

// newNotReached returns the counter of people who got no message about a request. Each reason is there from the
// start, so that an alert sees the first one.
func newNotReached() *prometheus.CounterVec {
	made := counters("not_notified_total", "People and on-call sources of a notification that got no message, by reason; nobody is a notification without any message.", "why")
	for _, why := range []string{runs.WhyNobody, runs.WhyNoAddress, runs.WhyNotAllowed, runs.WhyLimit, runs.WhyOnCallFailed, runs.WhyOnCallEmpty} {
		made.WithLabelValues(why)
	}
	return made
}

// notified counts whom a notification did not reach.
func (d *Door) notified(body api.JSON) {
	var event struct {
		To []struct {
			Channels []string `json:"channels"`
			WhyNot   string   `json:"why_not"`
		} `json:"to"`
	}
	if json.Unmarshal(body, &event) != nil {
		return // it is the service's own event, and nothing is lost but a count
	}
	reached := false
	for _, to := range event.To {
		switch {
		case len(to.Channels) > 0, to.WhyNot == runs.WhyToldNow:
			reached = true
		case to.WhyNot != "":
			d.notReached.WithLabelValues(to.WhyNot).Inc()
		}
	}
	if !reached {
		d.notReached.WithLabelValues(runs.WhyNobody).Inc()
	}
}
