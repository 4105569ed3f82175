package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/store/committer"
)

var _ committer.Tracer = (*Tracing)(nil)

// Command implements [committer.Tracer].
func (t *Tracing) Command(ctx context.Context, command runs.Command) (context.Context, committer.CommandSpan) {
	name := command.Spec().Name
	ctx, span := t.tracer.Start(ctx, "command "+name, trace.WithAttributes(text("holdpoint.command", name)))
	if !span.IsRecording() {
		return ctx, nil
	}
	return ctx, commandSpan{span}
}

// commandSpan is the span of a command, from its arrival to its answer.
type commandSpan struct{ span trace.Span }

// Began implements [committer.CommandSpan].
func (s commandSpan) Began(waited time.Duration, commands int) {
	s.span.SetAttributes(attribute.Float64("holdpoint.lane_wait_ms", milliseconds(waited)), attribute.Int("holdpoint.batch_commands", commands))
}

// Ended implements [committer.CommandSpan]. A refusal is not an error of the service.
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

// Transaction implements [committer.Tracer]. The span belongs to the trace of its first
// command and links to the others.
func (t *Tracing) Transaction(ctx context.Context, of []committer.CommandSpan) (context.Context, func(committer.Transaction)) {
	first := of[0].(commandSpan).span.SpanContext()
	links := make([]trace.Link, 0, len(of)-1)
	for _, other := range of[1:] {
		links = append(links, trace.Link{SpanContext: other.(commandSpan).span.SpanContext()})
	}
	ctx, span := t.tracer.Start(trace.ContextWithSpanContext(ctx, first), "transaction", trace.WithLinks(links...)) //nolint:spancheck // the function that is returned ends it
	return ctx, func(done committer.Transaction) {                                                                  //nolint:spancheck // see above
		span.SetAttributes(attribute.Int("holdpoint.lane", done.Lane), attribute.Int("holdpoint.batch_commands", done.Commands),
			attribute.Bool("holdpoint.read", done.Read), text("holdpoint.result", string(done.Result)))
		if done.Result == committer.ResultFailed || done.Result == committer.ResultRefused {
			span.SetStatus(codes.Error, string(done.Result))
		}
		span.End()
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
