package committer

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// Tracer makes spans of commands and transactions. Its methods are called by several goroutines at
// once; they must not block.
type Tracer interface {
	// Command begins the span of a command that was given to Do. The span is nil for a command that
	// is not traced.
	Command(ctx context.Context, command runs.Command) (context.Context, CommandSpan)
	// Transaction begins the span of a transaction of some commands that are traced, at least one,
	// and returns what ends it. The engine gets the context.
	Transaction(ctx context.Context, of []CommandSpan) (context.Context, func(Transaction))
}

// CommandSpan is the span of a command.
type CommandSpan interface {
	// Began says how long the command had waited in its lane when its batch began, and how many
	// commands that had; of one that waits for a locked session, at each try. Ended may have been
	// called.
	Began(waited time.Duration, commands int)
	// Ended ends it.
	Ended(reply runs.Reply, err error)
}

type commandSpanKey struct{}

// traced carries a command out in a span of its own.
func (c *Committer) traced(ctx context.Context, command runs.Command) (runs.Reply, error) {
	ctx, span := c.options.Tracer.Command(ctx, command)
	if span == nil {
		return c.do(ctx, command)
	}
	reply, err := c.do(context.WithValue(ctx, commandSpanKey{}, span), command)
	span.Ended(reply, err)
	return reply, err
}

// spanOf returns the span of the command that a context is of, nil for none.
func (c *Committer) spanOf(ctx context.Context) CommandSpan {
	if c.options.Tracer == nil {
		return nil
	}
	span, _ := ctx.Value(commandSpanKey{}).(CommandSpan)
	return span
}

// traceTransaction begins the span of a transaction. Without a call that is traced it does nothing.
func (c *Committer) traceTransaction(ctx context.Context, calls []*call) (context.Context, func(Transaction)) {
	var spans []CommandSpan
	for _, one := range calls {
		if one.span != nil {
			spans = append(spans, one.span)
		}
	}
	if len(spans) == 0 {
		return ctx, nil
	}
	return c.options.Tracer.Transaction(ctx, spans)
}
