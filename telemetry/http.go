package telemetry

import (
	"cmp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdpoint/holdpoint/api"
)

// HTTP observes calls. It is safe for concurrent use.
type HTTP struct {
	calls    *prometheus.CounterVec
	took     *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	inFlight prometheus.Gauge

	byCall    children[callKey, prometheus.Counter]
	byRoute   children[routeKey, prometheus.Observer]
	byRefusal children[api.Code, prometheus.Counter]
}

type (
	routeKey struct{ method, route string }
	callKey  struct {
		routeKey
		status int
	}
)

// methods are the values of the label method.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true}

func newHTTP() *HTTP {
	return &HTTP{
		calls:    counters("http_requests_total", "Calls that were answered, by route and status.", "method", "route", "status"),
		took:     histograms("http_request_seconds", "How long calls took, held ones and streams too.", callBuckets, "method", "route"),
		refusals: counters("refusals_total", "Problems that callers were answered with, by code.", "code"),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "http_requests_in_flight", Help: "Calls that are not answered yet, held ones and streams too."}),
	}
}

func (h *HTTP) collectors() []prometheus.Collector {
	return []prometheus.Collector{h.calls, h.took, h.refusals, h.inFlight}
}

// Began records the start of a call.
func (h *HTTP) Began() { h.inFlight.Inc() }

// Ended records the end of a call that Began has counted. route is the pattern of its
// route, and code the code of the problem that it was answered with; both may be empty.
func (h *HTTP) Ended(method, route string, status int, code api.Code, took time.Duration) {
	h.inFlight.Dec()
	if !methods[method] {
		method = otherLabel
	}
	route = cmp.Or(route, "none")
	key := routeKey{method, route}
	h.byCall.of(callKey{key, status}, func() prometheus.Counter {
		return h.calls.WithLabelValues(method, route, strconv.Itoa(status))
	}).Inc()
	h.byRoute.of(key, func() prometheus.Observer { return h.took.WithLabelValues(method, route) }).Observe(took.Seconds())
	if code != "" {
		h.byRefusal.of(code, func() prometheus.Counter { return h.refusals.WithLabelValues(string(code)) }).Inc()
	}
}
