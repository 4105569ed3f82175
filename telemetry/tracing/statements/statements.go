// Package statements traces the statements of the Postgres driver. A span is named after
// the statement's kind and first table. It has no SQL text, no arguments, and no text of an
// error, which may contain a value.
package statements

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Tracer is a pgx tracer. Statements sent outside of a span, for example by polling
// loops, are not traced. It is safe for concurrent use.
type Tracer struct {
	tracer trace.Tracer
	names  sync.Map
}

var (
	_ pgx.QueryTracer = (*Tracer)(nil)
	_ pgx.BatchTracer = (*Tracer)(nil)
)

// New returns a Tracer that starts its spans with the given tracer.
func New(tracer trace.Tracer) *Tracer { return &Tracer{tracer: tracer} }

type spanKey struct{}

func (t *Tracer) start(ctx context.Context, name string, attributes ...attribute.KeyValue) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes( //nolint:spancheck // end ends it
		append(attributes, attribute.String("db.system.name", "postgresql"), attribute.String("db.query.summary", name))...))
	return context.WithValue(ctx, spanKey{}, span) //nolint:spancheck // see above
}

func end(ctx context.Context, err error) {
	span, there := ctx.Value(spanKey{}).(trace.Span)
	if !there {
		return
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		code := "error"
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
			code = refused.Code
			span.SetAttributes(attribute.String("db.response.status_code", code))
		}
		span.SetStatus(codes.Error, code)
	}
	span.End()
}

// TraceQueryStart implements [pgx.QueryTracer].
func (t *Tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return t.start(ctx, t.name(data.SQL))
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (*Tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	end(ctx, data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer]. A batch has one span, with an event for
// each answered statement.
func (t *Tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return t.start(ctx, "BATCH", attribute.Int("db.operation.batch.size", data.Batch.Len()))
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (t *Tracer) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if span, there := ctx.Value(spanKey{}).(trace.Span); there {
		span.AddEvent(t.name(data.SQL), trace.WithAttributes(attribute.Int64("db.response.affected_rows", data.CommandTag.RowsAffected())))
	}
}

// TraceBatchEnd implements [pgx.BatchTracer].
func (*Tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	end(ctx, data.Err)
}

// maxNames bounds the cached names. SQL texts are fixed, except for the filters of lists.
const maxNames = 512

var (
	quoted = regexp.MustCompile(`'[^']*'|--[^\n]*`)
	verbs  = regexp.MustCompile(`(?i)\b(SELECT|INSERT|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK|SET|LISTEN|NOTIFY)\b`)
	tables = regexp.MustCompile(`(?i)\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?([a-z_][a-z0-9_]*)([^a-z0-9_]|$)`)
)

// name returns a statement's kind and first table, such as "SELECT runs".
func (t *Tracer) name(sql string) string {
	if known, there := t.names.Load(sql); there {
		return known.(string)
	}
	name := nameOf(sql)
	kept := 0
	t.names.Range(func(any, any) bool { kept++; return kept < maxNames })
	if kept < maxNames {
		t.names.Store(sql, name)
	}
	return name
}

func nameOf(sql string) string {
	bare := quoted.ReplaceAllString(sql, "''")
	verb := strings.ToUpper(verbs.FindString(bare))
	if verb == "" {
		return "OTHER"
	}
	for _, table := range tables.FindAllStringSubmatch(bare, -1) {
		if function := table[2] == "("; !function && verb != "SET" {
			return verb + " " + strings.ToLower(table[1])
		}
	}
	return verb
}
