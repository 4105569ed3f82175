package load

import (
	"encoding/base64"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what was measured of one subject.
type Result struct {
	Waits   int     `json:"waits"`
	Seconds float64 `json:"seconds"`
	// Whole is the time from before a run was made until its completion was durable.
	Whole Spread `json:"whole"`
	// Delivery is the time from the reply to the decision until the worker's handler
	// runs. A handler that runs before the reply is there counts as 0.
	Delivery Spread `json:"decision_accepted_to_handler"`
	// SentToHandler is the time from before the decision is sent until the handler
	// runs.
	SentToHandler Spread `json:"decision_sent_to_handler"`
	// Shares are how many runs each worker was handed, in all; nil when there is one.
	Shares []int64 `json:"shares,omitempty"`
	// Modules are the versions of the libraries of the program that was measured.
	Modules map[string]string `json:"modules,omitempty"`
}

// PerSecond is how many waits were carried a second.
func (r *Result) PerSecond() float64 { return float64(r.Waits) / r.Seconds }

// Spread tells of many durations, all in microseconds.
type Spread struct {
	P50  int64 `json:"p50_us"`
	P90  int64 `json:"p90_us"`
	P99  int64 `json:"p99_us"`
	P999 int64 `json:"p999_us"`
	Max  int64 `json:"max_us"`
	// Histogram is all of them, in the compressed encoding V2 of HdrHistogram as
	// base64, which its tools read.
	Histogram string `json:"histogram"`
}

// histogram has buckets that grow with the value: three significant digits from one
// microsecond to ten minutes.
type histogram struct{ buckets *hdrhistogram.Histogram }

func newHistogram() *histogram {
	const significantDigits = 3
	return &histogram{hdrhistogram.New(1, (10 * time.Minute).Microseconds(), significantDigits)}
}

func (h *histogram) record(d time.Duration) {
	value := min(max(d.Microseconds(), 0), h.buckets.HighestTrackableValue())
	_ = h.buckets.RecordValue(value) // it is within the limits
}

func (h *histogram) summary() Spread {
	s := Spread{
		P50: h.buckets.ValueAtPercentile(50), P90: h.buckets.ValueAtPercentile(90), P99: h.buckets.ValueAtPercentile(99),
		P999: h.buckets.ValueAtPercentile(99.9), Max: h.buckets.Max(),
	}
	if encoded, err := h.buckets.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		s.Histogram = base64.StdEncoding.EncodeToString(encoded)
	}
	return s
}
