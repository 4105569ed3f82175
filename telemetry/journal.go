package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/store/door"
)

// journalSize and journalBytes bound the settled requests waiting to be logged. Any more are only counted,
// and the count is logged: a slow log must not slow decisions.
const (
	journalSize  = 8192
	journalBytes = 16 << 20
)

// Journal logs each settled request: the decision, who made it, and how. It is safe for
// concurrent use.
type Journal struct {
	All     // no observers: the other methods do nothing
	logger  *slog.Logger
	settled chan *model.Request
	bytes   atomic.Int64 // of their resolutions
	lost    atomic.Int64
}

var _ door.Observer = (*Journal)(nil)

// NewJournal returns a journal that logs at level INFO while Run runs.
func NewJournal(logger *slog.Logger) *Journal {
	return &Journal{logger: logger, settled: make(chan *model.Request, journalSize)}
}

// Committed implements [door.Observer].
func (j *Journal) Committed(changes []runs.Change) {
	if !j.logger.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	for i := range changes {
		for _, list := range [][]*model.Request{changes[i].NewRequests, changes[i].SettledRequests} {
			for _, request := range list {
				// The answer to a child's question is logged in the parent's session.
				if request.Open() || request.Kind == model.KindClarification {
					continue
				}
				j.add(request)
			}
		}
	}
}

// add keeps what is logged of a request, which has no bodies.
func (j *Journal) add(request *model.Request) {
	kept, size := *request, int64(len(request.Resolution))
	kept.Body, kept.Sealed = nil, nil
	if j.bytes.Add(size) <= journalBytes {
		select {
		case j.settled <- &kept:
			return
		default:
		}
	}
	j.bytes.Add(-size)
	j.lost.Add(1)
}

// Run logs until ctx ends, then logs the remaining requests. It returns nil.
func (j *Journal) Run(ctx context.Context) error {
	for {
		select {
		case request := <-j.settled:
			j.log(ctx, request)
		case <-ctx.Done():
			for {
				select {
				case request := <-j.settled:
					j.log(ctx, request)
				default:
					return nil
				}
			}
		}
	}
}

func (j *Journal) log(ctx context.Context, request *model.Request) {
	defer j.bytes.Add(-int64(len(request.Resolution)))
	if lost := j.lost.Swap(0); lost > 0 {
		j.logger.LogAttrs(ctx, slog.LevelWarn, "decisions were not logged, the log is too slow; they are recorded", slog.Int64("decisions", lost))
	}
	// Decisions, answers and inputs may be secret and are not read.
	var who struct {
		ResolvedBy   string `json:"resolved_by"`
		ViaPrincipal string `json:"via_principal"`
		Via          string `json:"via"`
	}
	_ = json.Unmarshal(request.Resolution, &who) // an unreadable one is logged without them
	attrs := []slog.Attr{
		slog.String("kind", string(request.Kind)), slog.String("outcome", string(request.Outcome)),
		slog.String("resolved_by", who.ResolvedBy), slog.String("via", who.Via),
		slog.String("session_id", request.SessionID), slog.String("run_id", request.RunID), slog.String("request_id", request.RequestID),
		slog.Int64("waited_ms", request.SettledAtMs-request.CreatedAtMs),
	}
	if who.ViaPrincipal != "" {
		attrs = append(attrs, slog.String("principal", who.ViaPrincipal))
	}
	if request.RuleID != "" {
		attrs = append(attrs, slog.String("rule_id", request.RuleID))
	}
	j.logger.LogAttrs(ctx, slog.LevelInfo, "decision", attrs...)
}

// All combines several observers.
type All []door.Observer

// Answered implements [door.Observer].
func (a All) Answered(command runs.Command, reply runs.Reply, err error, took time.Duration) {
	for _, observer := range a {
		observer.Answered(command, reply, err, took)
	}
}

// Began implements [door.Observer].
func (a All) Began(waited time.Duration) {
	for _, observer := range a {
		observer.Began(waited)
	}
}

// Ended implements [door.Observer].
func (a All) Ended(t door.Transaction) {
	for _, observer := range a {
		observer.Ended(t)
	}
}

// Committed implements [door.Observer].
func (a All) Committed(changes []runs.Change) {
	for _, observer := range a {
		observer.Committed(changes)
	}
}

// Lost implements [door.Observer].
func (a All) Lost(sessions int) {
	for _, observer := range a {
		observer.Lost(sessions)
	}
}
