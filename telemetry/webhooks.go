package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Webhooks observes deliveries. It is safe for concurrent use.
type Webhooks struct {
	attempts *prometheus.CounterVec
	took     *prometheus.HistogramVec
}

func newWebhooks() *Webhooks {
	return &Webhooks{
		attempts: counters("webhook_attempts_total", "Attempts to deliver an event to a webhook, by what came of them: delivered, retried or given_up.", "outcome"),
		took:     histograms("webhook_attempt_seconds", "How long attempts took.", callBuckets),
	}
}

func (w *Webhooks) collectors() []prometheus.Collector {
	return []prometheus.Collector{w.attempts, w.took}
}

// Attempted records an attempt.
func (w *Webhooks) Attempted(outcome string, took time.Duration) {
	w.attempts.WithLabelValues(outcome).Inc()
	w.took.WithLabelValues().Observe(took.Seconds())
}
