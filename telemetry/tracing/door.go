package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/door"
)

var _ door.Tracer = (*Tracing)(nil)

// Command implements [door.Tracer].
func (t *Tracing) Command(ctx context.Context, command runs.Command) (context.Context, door.CommandSpan) {
	name := command.Spec().Name
	ctx, span := t.tracer.Start(ctx, "command "+name, trace.WithAttributes(text("holdpoint.command", name)))
	if !span.IsRecording() {
		return ctx, nil
	}
	return ctx, commandSpan{span}
}

// commandSpan is the span of a command, from its arrival to its answer.
type commandSpan struct{ span trace.Span }

// Began implements [door.CommandSpan].
func (s commandSpan) Began(waited time.Duration, commands int) {
	s.span.SetAttributes(attribute.Float64("holdpoint.lane_wait_ms", milliseconds(waited)), attribute.Int("holdpoint.batch_commands", commands))
}

// Ended implements [door.CommandSpan]. A refusal is not an error of the service.
func (s commandSpan) Ended(reply runs.Reply, err error) {
	if reply.Existing {
		s.span.SetAttributes(attribute.Bool("holdpoint.existing", true))
	}
	if err != nil {
		code := string(refusal.CodeOf(err))
		if code == "" {
			code = "error"
			s.span.SetStatus(codes.Error, code)
		}
		s.span.SetAttributes(text("error.type", code))
	}
	s.span.End()
}

// Transaction implements [door.Tracer]. The span belongs to the trace of its first
// command and links to the others.
func (t *Tracing) Transaction(ctx context.Context, of []door.CommandSpan) (context.Context, func(door.Transaction)) {
	first := of[0].(commandSpan).span.SpanContext()
	links := make([]trace.Link, 0, len(of)-1)
	for _, other := range of[1:] {
		links = append(links, trace.Link{SpanContext: other.(commandSpan).span.SpanContext()})
	}
	ctx, span := t.tracer.Start(trace.ContextWithSpanContext(ctx, first), "transaction", trace.WithLinks(links...)) //nolint:spancheck // the function that is returned ends it
	return ctx, func(done door.Transaction) {                                                                       //nolint:spancheck // see above
		span.SetAttributes(attribute.Int("holdpoint.lane", done.Lane), attribute.Int("holdpoint.batch_commands", done.Commands),
			attribute.Bool("holdpoint.read", done.Read), text("holdpoint.result", string(done.Result)))
		if done.Result == door.ResultFailed || done.Result == door.ResultRefused {
			span.SetStatus(codes.Error, string(done.Result))
		}
		span.End()
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
