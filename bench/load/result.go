package load

import (
	"encoding/base64"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is the result of one subject.
type Result struct {
	Waits   int     `json:"waits"`
	Seconds float64 `json:"seconds"`
	// Whole is the time from before a run was created until its completion was durable.
	Whole Spread `json:"whole"`
	// Delivery is the time from the reply to the decision until the worker's handler
	// starts. A handler that starts before the reply counts as 0.
	Delivery Spread `json:"decision_accepted_to_handler"`
	// SentToHandler is the time from before the decision is sent until the handler starts.
	SentToHandler Spread `json:"decision_sent_to_handler"`
	// Shares is the number of runs that each worker got in total; nil with a single worker.
	Shares []int64 `json:"shares,omitempty"`
	// Modules are the module versions of the measured program.
	Modules map[string]string `json:"modules,omitempty"`
}

// PerSecond returns the number of waits per second.
func (r *Result) PerSecond() float64 { return float64(r.Waits) / r.Seconds }

// Spread is a distribution of durations in µs.
type Spread struct {
	P50  int64 `json:"p50_us"`
	P90  int64 `json:"p90_us"`
	P99  int64 `json:"p99_us"`
	P999 int64 `json:"p999_us"`
	Max  int64 `json:"max_us"`
	// Histogram has all durations, in HdrHistogram's compressed encoding V2 as base64.
	Histogram string `json:"histogram"`
}

// histogram has three significant digits, from 1 µs to 10 minutes.
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
