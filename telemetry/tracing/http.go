package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdpoint/holdpoint/internal/calltrace"
)

// methods are the methods used in span names.
var methods = map[string]bool{"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true}

// Call starts the span of a call, in the trace named by its caller, and returns a function
// that ends it. The span is named after the pattern of its route; the ids are from its
// path. Any of them may be empty.
func (t *Tracing) Call(r *http.Request) (ctx context.Context, end func(route, sessionID, runID, requestID, code string, status int)) {
	ctx = propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	method := r.Method
	if !methods[method] {
		method = "_OTHER"
	}
	ctx, span := t.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(text("http.request.method", method)))
	if !span.IsRecording() {
		return calltrace.With(ctx, &calltrace.Trace{Traceparent: calltrace.Traceparent(r.Header["Traceparent"])}), func(_, _, _, _, _ string, _ int) { span.End() }
	}
	ctx = calltrace.With(ctx, &calltrace.Trace{Traceparent: traceparentOf(span.SpanContext()), Link: func(traceparent string) {
		if linked := contextOf(traceparent); linked.IsValid() && linked.SpanID() != span.SpanContext().SpanID() {
			span.AddLink(trace.Link{SpanContext: linked, Attributes: []attribute.KeyValue{text("holdpoint.link", "suspension")}})
		}
	}})
	return ctx, func(route, sessionID, runID, requestID, code string, status int) {
		if route != "" {
			span.SetName(method + " " + route)
		}
		attributes := []attribute.KeyValue{attribute.Int("http.response.status_code", status)}
		for _, named := range [][2]string{
			{"http.route", route},
			{"holdpoint.session_id", sessionID},
			{"holdpoint.run_id", runID},
			{"holdpoint.http_request_id", requestID},
			{"error.type", code},
		} {
			if named[1] != "" {
				attributes = append(attributes, text(named[0], named[1]))
			}
		}
		span.SetAttributes(attributes...)
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, code)
		}
		span.End()
	}
}

// traceparentOf formats a span's context as a W3C traceparent.
func traceparentOf(of trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), of), carrier)
	return carrier["traceparent"]
}

// contextOf parses a W3C traceparent. It returns an invalid context for any other text.
func contextOf(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent}))
}
