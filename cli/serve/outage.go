package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/runs"
)

// outage logs one line when the database stops answering and one when it answers again,
// instead of one per failed call, loop and stream. A failure alone says little: one slow list, or one
// locked session, fails as if the database were down. So the first failure causes a check.
type outage struct {
	out   slog.Handler
	nowMs func() int64
	// suspected is signalled when a call has failed as if the database were down.
	suspected chan struct{}

	mu      sync.Mutex
	sinceMs int64  // when the first call failed; 0 while the database answers
	failure string // how it failed
	away    bool   // a check has failed, too
	passed  int    // records logged since then
	kept    int64  // records held back
}

func newOutage(out slog.Handler, nowMs func() int64) *outage {
	return &outage{out: out, nowMs: nowMs, suspected: make(chan struct{}, 1)}
}

const (
	// Interval and timeout of the checks of a database that is down.
	outageInterval = time.Second
	outageTimeout  = 1500 * time.Millisecond
	// maxSuspected is how many further records are logged in the interval after the first.
	maxSuspected = 20
)

// run checks a database that seems to be down until it answers, until ctx ends.
func (o *outage) run(ctx context.Context, ready func(context.Context) error) error {
	ticker := time.NewTicker(outageInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-o.suspected:
		}
		ticker.Reset(outageInterval)
		// A database may answer and refuse everything, so the lines of one interval are bounded, too: the second
		// check in a row that it answers ends the suspicion.
		for away, answered := false, 0; ; {
			if check(ctx, ready) {
				answered++
			} else if answered = 0; !away && ctx.Err() == nil {
				away = true
				o.begin(ctx)
			}
			if away && answered == 1 || answered == 2 {
				break
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
		o.over(ctx)
	}
}

// check reports whether the database answers now.
func check(ctx context.Context, ready func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, outageTimeout)
	defer cancel()
	return answers(ready(ctx))
}

// answers reports whether the database answers, by the error of a readiness check. A replica may be not ready
// for another reason for long, for example because its migrations were reverted.
func answers(err error) bool {
	return err == nil || errors.As(err, new(*runs.NotReadyError)) && !errors.Is(err, runs.ErrUnavailable)
}

// begin logs that the database does not answer.
func (o *outage) begin(ctx context.Context) {
	o.mu.Lock()
	o.away = true
	failure := o.failure
	o.mu.Unlock()
	slog.New(o.out).LogAttrs(ctx, slog.LevelError, "the database does not answer; further failures are not logged until it does",
		slog.String("error", failure))
}

// over logs that the database answers again.
func (o *outage) over(ctx context.Context) {
	o.mu.Lock()
	since, away, kept := o.sinceMs, o.away, o.kept
	o.sinceMs, o.failure, o.away, o.passed, o.kept = 0, "", false, 0, 0
	o.mu.Unlock()
	switch {
	case away:
		slog.New(o.out).LogAttrs(ctx, slog.LevelWarn, "the database answers again",
			slog.Int64("away_ms", o.nowMs()-since), slog.Int64("failures_not_logged", kept))
	case kept > 0:
		slog.New(o.out).LogAttrs(ctx, slog.LevelWarn, "many calls failed at once, but the database answers",
			slog.Int64("failures_not_logged", kept))
	}
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
	logged, first := h.outage.note(failure)
	var err error
	if logged || h.Enabled(ctx, slog.LevelDebug) {
		err = h.Handler.Handle(ctx, record)
	}
	if first {
		select {
		case h.outage.suspected <- struct{}{}:
		default:
		}
	}
	return err
}

// WithAttrs implements [slog.Handler].
func (h *outageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &outageHandler{h.Handler.WithAttrs(attrs), h.outage}
}

// WithGroup implements [slog.Handler].
func (h *outageHandler) WithGroup(name string) slog.Handler {
	return &outageHandler{h.Handler.WithGroup(name), h.outage}
}

// note reports whether a failure is logged, and whether the database has to be checked because of it. During
// an outage every failure counts as caused by it.
func (o *outage) note(failure string) (logged, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	isAway := strings.Contains(failure, runs.ErrUnavailable.Error())
	switch {
	case !isAway && !o.away:
		return true, false
	case o.sinceMs != 0 && (o.away || o.passed == maxSuspected):
		o.kept++
		return false, false
	case o.sinceMs != 0:
		o.passed++
	default:
		o.sinceMs, o.failure = o.nowMs(), failure
		return true, true
	}
	return true, false
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
