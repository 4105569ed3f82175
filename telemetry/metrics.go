package telemetry

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "holdpoint"

// Buckets of histograms, in seconds: for lanes; for calls, which may be held for a minute;
// and for people, who may take a week.
var (
	laneBuckets  = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	callBuckets  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	humanBuckets = []float64{1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400}
)

// Metrics are all metrics of a process, in their own registry.
type Metrics struct {
	// Door observes the door, HTTP the calls.
	Door *Door
	HTTP *HTTP
	// Webhooks observes deliveries.
	Webhooks *Webhooks

	registry *prometheus.Registry
}

// New returns empty metrics. holdpoint_build_info shows the version. faces are the vias by which
// decisions are counted, next to the service's own.
func New(version string, faces ...string) *Metrics {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; its labels say which program this is.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	m := &Metrics{Door: newDoor(faces), HTTP: newHTTP(), Webhooks: newWebhooks(), registry: registry}
	registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(m.Door.collectors()...)
	registry.MustRegister(m.HTTP.collectors()...)
	registry.MustRegister(m.Webhooks.collectors()...)
	return m
}

// Watch adds the metrics of a source, read at each scrape. Call it once.
func (m *Metrics) Watch(source Source) { m.registry.MustRegister(newSampler(source)) }

// scrapeTimeout bounds one scrape. If the database does not answer in time, its metrics are
// left out.
const scrapeTimeout = 8 * time.Second

// Handler serves the metrics in the text formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Timeout: scrapeTimeout, MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError,
	})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}
