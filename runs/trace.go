package runs

import (
	"context"
	"strings"
)

// CallTrace is the W3C trace context of a call. It is stored with the requests that the call raises,
// and passed to the worker with their decisions.
type CallTrace struct {
	// Traceparent is the traceparent of the call's span, or of the caller's span if the service does not
	// trace; empty without a trace.
	Traceparent string
	// Link links the call's span to another one; nil when there is none.
	Link func(traceparent string)
}

type callTraceKey struct{}

// WithTrace returns a context with a call's trace.
func WithTrace(ctx context.Context, trace *CallTrace) context.Context {
	return context.WithValue(ctx, callTraceKey{}, trace)
}

// TraceOf returns the trace of a call, empty when there is none.
func TraceOf(ctx context.Context) CallTrace {
	if trace, there := ctx.Value(callTraceKey{}).(*CallTrace); there {
		return *trace
	}
	return CallTrace{}
}

// TraceparentOf returns a valid traceparent header, or "". The header must occur once, in version 00
// and lower-case hexadecimal, with neither id all zeros.
func TraceparentOf(header []string) string {
	if len(header) != 1 || len(header[0]) != 55 {
		return ""
	}
	text := header[0]
	for i := range len(text) {
		switch i {
		case 2, 35, 52:
			if text[i] != '-' {
				return ""
			}
		default:
			if (text[i] < '0' || text[i] > '9') && (text[i] < 'a' || text[i] > 'f') {
				return ""
			}
		}
	}
	if text[:2] != "00" || strings.Trim(text[3:35], "0") == "" || strings.Trim(text[36:52], "0") == "" {
		return ""
	}
	return text
}
