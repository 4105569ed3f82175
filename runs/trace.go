package runs

import (
	"context"
	"strings"
)

// CallTrace says in which trace a call is, by W3C Trace Context. What the call raises keeps it, and
// whoever is handed the decision gets it.
type CallTrace struct {
	// Traceparent is that of the call's span, or of its caller's where the service traces nothing;
	// empty without any.
	Traceparent string
	// Link links the span of the call to another one; nil when there is none.
	Link func(traceparent string)
}

type callTraceKey struct{}

// WithTrace returns a context with the trace of a call.
func WithTrace(ctx context.Context, trace *CallTrace) context.Context {
	return context.WithValue(ctx, callTraceKey{}, trace)
}

// TraceOf returns the trace of a call, one without anything when there is none.
func TraceOf(ctx context.Context) CallTrace {
	if trace, there := ctx.Value(callTraceKey{}).(*CallTrace); there {
		return *trace
	}
	return CallTrace{}
}

// TraceparentOf returns the text of a traceparent header, empty unless it was sent once and says
// which trace: version 00 in lower-case hexadecimal, neither id all zeros.
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
