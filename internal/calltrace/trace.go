// Package calltrace carries the W3C trace context of a call from a face to the commands that it issues.
//
// It must not know HTTP, rows or commands.
package calltrace

import (
	"context"
	"strings"
)

// Trace is the W3C trace context of a call. It is stored with the requests that the call raises,
// and passed to the worker with their decisions.
type Trace struct {
	// Traceparent is the traceparent of the call's span, or of the caller's span if the service does not
	// trace; empty without a trace.
	Traceparent string
	// Link links the call's span to another one; nil when there is none.
	Link func(traceparent string)
}

type traceKey struct{}

// With returns a context with a call's trace.
func With(ctx context.Context, trace *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, trace)
}

// Of returns the trace of a call, empty when there is none.
func Of(ctx context.Context) Trace {
	if trace, there := ctx.Value(traceKey{}).(*Trace); there {
		return *trace
	}
	return Trace{}
}

// Traceparent returns a valid traceparent header, or "". The header must occur once, in version 00
// and lower-case hexadecimal, with neither id all zeros.
func Traceparent(header []string) string {
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
