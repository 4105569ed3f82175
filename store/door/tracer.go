package door

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// Tracer creates spans for commands and transactions. Several goroutines call its methods at once.
// They must not block.
type Tracer interface {
	// Command begins the span of a command given to Do. The span is nil if the command is not
	// traced.
	Command(ctx context.Context, command runs.Command) (context.Context, CommandSpan)
	// Transaction begins the span of a transaction with at least one traced command. It returns the
	// context for the engine and the function that ends the span.
	Transaction(ctx context.Context, of []CommandSpan) (context.Context, func(Transaction))
}

// CommandSpan is the span of a command.
type CommandSpan interface {
	// Began reports how long the command waited in its lane, and how many commands its batch has.
	// For a command that waits for a locked session, it is called at each try. It may be called
	// after Ended.
	Began(waited time.Duration, commands int)
	// Ended ends the span.
	Ended(reply runs.Reply, err error)
}

type commandSpanKey struct{}

// traced runs a command in its own span.
func (d *Door) traced(ctx context.Context, command runs.Command) (runs.Reply, error) {
	ctx, span := d.options.Tracer.Command(ctx, command)
	if span == nil {
		return d.do(ctx, command)
	}
	reply, err := d.do(context.WithValue(ctx, commandSpanKey{}, span), command)
	span.Ended(reply, err)
	return reply, err
}

// spanOf returns the command's span in the context, or nil.
func (d *Door) spanOf(ctx context.Context) CommandSpan {
	if d.options.Tracer == nil {
		return nil
	}
	span, _ := ctx.Value(commandSpanKey{}).(CommandSpan)
	return span
}

// traceTransaction begins the span of a transaction. It does nothing if no call is traced.
func (d *Door) traceTransaction(ctx context.Context, calls []*call) (context.Context, func(Transaction)) {
	var spans []CommandSpan
	for _, one := range calls {
		if one.span != nil {
			spans = append(spans, one.span)
		}
	}
	if len(spans) == 0 {
		return ctx, nil
	}
	return d.options.Tracer.Transaction(ctx, spans)
}
