package tracing

import (
	"context"
	"log/slog"
	"regexp"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/trace"
)

// queue bounds the spans waiting to be sent, and counts drops. The library's processor
// sends them in batches. It never gets more than it has room for, because it would drop the
// rest silently.
type queue struct {
	trace.SpanProcessor
	waiting, sent, dropped atomic.Int64
}

func newQueue(exporter trace.SpanExporter, logger *slog.Logger) *queue {
	q := &queue{}
	q.SpanProcessor = trace.NewBatchSpanProcessor(&counting{SpanExporter: exporter, queue: q, logger: logger},
		trace.WithMaxQueueSize(queueSize), trace.WithExportTimeout(exportTimeout))
	return q
}

// OnEnd implements [trace.SpanProcessor]. It never waits.
func (q *queue) OnEnd(span trace.ReadOnlySpan) {
	if !span.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > queueSize {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(span)
}

// Shutdown implements [trace.SpanProcessor].
func (q *queue) Shutdown(ctx context.Context) error {
	err := q.SpanProcessor.Shutdown(ctx)
	if err != nil {
		q.dropped.Add(q.waiting.Swap(0))
	}
	return err
}

// counting counts the spans that an exporter sends. It holds back the errors, which the
// library would write to stderr, and instead logs once that the collector is down and once
// that it is back.
type counting struct {
	trace.SpanExporter
	queue  *queue
	logger *slog.Logger
	away   atomic.Bool
}

// addresses finds the URLs in errors of the library. The path of the collector's may be a secret.
var addresses = regexp.MustCompile(`(https?://[^/\s"]*)/[^\s"]*`)

// ExportSpans implements [trace.SpanExporter].
func (c *counting) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.queue.waiting.Add(-int64(len(spans)))
	if err != nil {
		c.queue.dropped.Add(int64(len(spans)))
		if !c.away.Swap(true) {
			c.logger.WarnContext(ctx, "traces cannot be sent and are dropped", slog.String("error", addresses.ReplaceAllString(err.Error(), "$1/…")))
		}
		return nil
	}
	c.queue.sent.Add(int64(len(spans)))
	if c.away.Swap(false) {
		c.logger.InfoContext(ctx, "traces are sent again")
	}
	return nil
}
