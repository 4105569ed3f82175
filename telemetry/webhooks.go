package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Webhooks observes deliveries to webhooks and messages to people. It is safe for concurrent use.
type Webhooks struct {
	attempts, notices *prometheus.CounterVec
	took, noticesTook *prometheus.HistogramVec
}

func newWebhooks() *Webhooks {
	return &Webhooks{
		attempts:    counters("webhook_attempts_total", "Attempts to deliver an event to a webhook, by what came of them: delivered, retried or given_up.", "outcome"),
		took:        histograms("webhook_attempt_seconds", "How long attempts took.", callBuckets),
		notices:     counters("notification_attempts_total", "Attempts to notify a person, by channel and by what came of them: delivered, retried or given_up.", "channel", "outcome"),
		noticesTook: histograms("notification_attempt_seconds", "How long attempts to notify a person took.", callBuckets, "channel"),
	}
}

func (w *Webhooks) collectors() []prometheus.Collector {
	return []prometheus.Collector{w.attempts, w.took, w.notices, w.noticesTook}
}

// Attempted records an attempt.
func (w *Webhooks) Attempted(outcome string, took time.Duration) {
	w.attempts.WithLabelValues(outcome).Inc()
	w.took.WithLabelValues().Observe(took.Seconds())
}

// Notified records an attempt to notify a person.
func (w *Webhooks) Notified(channel, outcome string, took time.Duration) {
	w.notices.WithLabelValues(channel, outcome).Inc()
	w.noticesTook.WithLabelValues(channel).Observe(took.Seconds())
}
