package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/store/door"
)

// outage logs one line when the database stops answering and one when it answers again,
// instead of one per failed call, loop and stream.
type outage struct {
	out   slog.Handler
	nowMs func() int64
	// began is signalled when the database is found to be down.
	began chan struct{}

	mu      sync.Mutex
	sinceMs int64 // 0 while it answers
	kept    int64 // records held back
}

func newOutage(out slog.Handler, nowMs func() int64) *outage {
	return &outage{out: out, nowMs: nowMs, began: make(chan struct{}, 1)}
}

// Interval and timeout of the checks of a database that is down.
const (
	outageInterval = time.Second
	outageTimeout  = 1500 * time.Millisecond
)

// run checks a database that is down until it answers, until ctx ends.
func (o *outage) run(ctx context.Context, ready func(context.Context) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.began:
		}
		ticker := time.NewTicker(outageInterval)
		for away := true; away; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				return nil
			case <-ticker.C:
				asked, cancel := context.WithTimeout(ctx, outageTimeout)
				if answers(ready(asked)) {
					away = false
					o.over(ctx)
				}
				cancel()
			}
		}
		ticker.Stop()
	}
}

// answers reports whether the database answers, by the error of a readiness check. A replica may be not ready
// for another reason for long, for example because a newer one has migrated the schema.
func answers(err error) bool {
	return err == nil || errors.As(err, new(*runs.NotReadyError)) && !errors.Is(err, runs.ErrUnavailable)
}

// over logs that the database answers again.
func (o *outage) over(ctx context.Context) {
	o.mu.Lock()
	since, kept := o.sinceMs, o.kept
	o.sinceMs, o.kept = 0, 0
	o.mu.Unlock()
	slog.New(o.out).LogAttrs(ctx, slog.LevelWarn, "the database answers again",
		slog.Int64("away_ms", o.nowMs()-since), slog.Int64("failures_not_logged", kept))
}

// handler returns a log handler that drops records caused by the outage.
func (o *outage) handler() slog.Handler { return &outageHandler{Handler: o.out, outage: o} }

type outageHandler struct {
	slog.Handler
	outage *outage
}

// Handle implements [slog.Handler].
func (h *outageHandler) Handle(ctx context.Context, record slog.Record) error {
	failure := failureOf(&record)
	if record.Level < slog.LevelWarn || failure == "" {
		return h.Handler.Handle(ctx, record)
	}
	logged := h.Enabled(ctx, slog.LevelDebug)
	first, away := h.outage.note(failure)
	if first {
		_ = slog.New(h.outage.out).Handler().Handle(ctx, outageRecord(record.Time, failure))
	}
	if away && !logged {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h *outageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &outageHandler{h.Handler.WithAttrs(attrs), h.outage}
}

// WithGroup implements [slog.Handler].
func (h *outageHandler) WithGroup(name string) slog.Handler {
	return &outageHandler{h.Handler.WithGroup(name), h.outage}
}

func outageRecord(at time.Time, failure string) slog.Record {
	record := slog.NewRecord(at, slog.LevelError, "the database does not answer; further failures are not logged until it does", 0)
	record.AddAttrs(slog.String("error", failure))
	return record
}

// note reports whether the database is down, and whether that is new. During an outage
// every failure counts as caused by it.
func (o *outage) note(failure string) (first, away bool) {
	isAway := strings.Contains(failure, runs.ErrUnavailable.Error()) && !strings.Contains(failure, door.ErrSessionLocked.Error())
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sinceMs == 0 && isAway {
		o.sinceMs, o.kept = o.nowMs(), 1
		select {
		case o.began <- struct{}{}:
		default:
		}
		return true, true
	}
	if o.sinceMs != 0 {
		o.kept++
	}
	return false, o.sinceMs != 0
}

// failureOf returns the error text of a record, "" if it has none.
func failureOf(record *slog.Record) (failure string) {
	record.Attrs(func(attr slog.Attr) bool {
		if attr.Key != "error" {
			return true
		}
		value := attr.Value.Resolve()
		if err, ok := value.Any().(error); ok && errors.Is(err, runs.ErrUnavailable) {
			failure = err.Error()
		} else {
			failure = value.String()
		}
		return false
	})
	return failure
}
