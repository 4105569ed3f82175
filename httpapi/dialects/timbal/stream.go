package timbal

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// RunIDHeader is the id of the reply's segment.
const RunIDHeader = "X-Run-Id"

// stream starts or resumes a run and shows it until it waits or ends.
func (f *face) stream(w http.ResponseWriter, r *http.Request) error {
	return f.serveSegment(w, r, f.Streams.Join, func(s *segment, place *stream.Subscription) error {
		f.streamSegment(w, r, s, place)
		return nil
	})
}

// run is stream for callers who want only the last event. The reply is held without a limit. A
// disconnect does not stop the run.
func (f *face) run(w http.ResponseWriter, r *http.Request) error {
	none := func(string) (*stream.Subscription, error) { return nil, nil }
	return f.serveSegment(w, r, none, func(s *segment, _ *stream.Subscription) error {
		return f.respondLast(w, r, s)
	})
}

// serveSegment reads the call and returns the segment to show. It joins the session first, so that
// no run is created that could not be shown.
func (f *face) serveSegment(w http.ResponseWriter, r *http.Request, join func(string) (*stream.Subscription, error),
	show func(*segment, *stream.Subscription) error,
) error {
	if err := wire.Hold(r.Context()); err != nil {
		return err
	}
	given, err := f.readCall(w, r)
	if err != nil {
		return err
	}
	agentID, err := f.agentOf(r)
	if err != nil {
		return err
	}
	key, err := wire.IdempotencyKey(r.Header, nil)
	if err != nil {
		return err
	}
	actor, err := f.Actor(r)
	if err != nil {
		return err
	}

	var going *resumption
	var from *conversation
	if given.resumes {
		going, err = f.openResume(r.Context(), given, key, actor)
	} else {
		from, err = f.conversationOf(r.Context(), given.parentID, agentID)
	}
	if err != nil {
		return err
	}
	var sessionID string
	if going != nil {
		sessionID = going.record.Run.SessionID
	} else {
		sessionID = from.sessionID
	}
	place, err := join(sessionID)
	if err != nil {
		return err
	}
	defer func() {
		if place != nil {
			place.Close()
		}
	}()
	var s *segment
	var replayed bool
	if going != nil {
		s, err = f.resume(r.Context(), going)
		replayed = going.replayed
	} else {
		var record *model.RunRecord
		s, record, replayed, err = f.start(r.Context(), given, from, agentID, key, actor)
		if code := refusal.CodeOf(err); from.paused != nil && (code == api.CodeSessionBusy || code == api.CodeIDConflict) {
			record = from.paused
			var shown *resumption
			if shown, err = from.showPaused(given, key, actor); err == nil {
				s, err = f.resume(r.Context(), shown)
			}
		}
		if err == nil && record.Run.SessionID != sessionID && place != nil {
			place.Close()
			place, err = join(record.Run.SessionID)
		}
	}
	if err != nil {
		return err
	}
	if err := f.finish(r.Context(), s); err != nil {
		return err
	}
	header := w.Header()
	header[RunIDHeader] = []string{s.id.String()}
	if replayed {
		header[wire.ReplayedHeader] = []string{"true"}
	}
	return show(s, place)
}

// streamSegment writes the segment as it grows. A failure ends the stream; the run continues, and
// /runs/{run_id}/events has the rest.
func (f *face) streamSegment(w http.ResponseWriter, r *http.Request, s *segment, place *stream.Subscription) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	to := &sink{
		face: f, ctx: ctx, segment: s, below: f.FollowBelow(model.KindApproval, place.SessionID()),
		out: stream.Begin(w, "text/event-stream", f.StreamWriteTimeout),
	}
	if to.flush() != nil || s.finished {
		return
	}
	place.Deliver(ctx, stream.From{RunID: s.id.runID, Cursor: s.log.lastEventID}, to)
	if to.err != nil {
		f.Report(r, to.err)
	}
}

// errFinished ends a stream whose segment has ended.
var errFinished = errors.New("the segment has ended")

// sink writes a segment's frames as the session's events arrive.
type sink struct {
	face    *face
	ctx     context.Context //nolint:containedctx // lives as long as its one call
	segment *segment
	below   *kit.Below
	out     *stream.Writer
	// err is a failure of the service, not a disconnect.
	err error
}

// Events implements stream.Sink.
func (k *sink) Events(events []*model.Event) error {
	for _, event := range events {
		if k.err = k.segment.apply(k.ctx, event, k.face); k.err != nil {
			return k.err
		}
	}
	if k.segment.raising {
		if k.err = k.face.readAhead(k.ctx, k.segment); k.err != nil {
			return k.err
		}
	}
	if k.err = k.face.finish(k.ctx, k.segment); k.err != nil {
		return k.err
	}
	if err := k.flush(); err != nil {
		return err
	}
	if k.segment.finished {
		return errFinished
	}
	return nil
}

// KeepAlive implements stream.Sink.
func (k *sink) KeepAlive() error {
	if err := k.writeBelow(); err != nil {
		return err
	}
	if _, err := k.out.Write([]byte(kit.KeepAlive)); err != nil {
		return err
	}
	return k.out.Flush()
}

// flush writes the new frames. Approvals of child sessions precede the end: clients read nothing
// after it.
func (k *sink) flush() error {
	frames := k.segment.takeFrames()
	for i, frame := range frames {
		if k.segment.finished && i == len(frames)-1 {
			if err := k.writeBelow(); err != nil {
				return err
			}
		}
		if _, err := k.out.Write(kit.AppendFrame(nil, "id: "+strconv.FormatInt(frame.seq, 10), frame.data)); err != nil {
			return err
		}
	}
	if !k.segment.finished && k.below.Due() {
		if err := k.writeBelow(); err != nil {
			return err
		}
	}
	return k.out.Flush()
}

// respondLast answers with the last event once it exists.
func (f *face) respondLast(w http.ResponseWriter, r *http.Request, s *segment) error {
	var last frame
	keep := func() bool {
		if frames := s.takeFrames(); len(frames) > 0 {
			last = frames[len(frames)-1]
		}
		return s.finished
	}
	if err := f.awaitSegment(r.Context(), s, 0, keep); err != nil {
		return err
	}
	if !s.finished {
		return refuse(http.StatusServiceUnavailable, "the service is shutting down; the run goes on, and its events are at /runs/%s/events", s.id)
	}
	return wire.Respond(w, r, http.StatusOK, last.data)
}

// awaitSegment reads the log as it grows until enough returns true, for at most wait (0 for no
// limit), or until the service drains. A timeout is not an error.
func (f *face) awaitSegment(ctx context.Context, s *segment, wait time.Duration, enough func() bool) error {
	record, err := f.Store.Reader(ctx).Run(ctx, s.id.runID)
	if err != nil {
		return err
	}
	changes := f.Watches.Session(record.Run.SessionID)
	defer changes.Close()
	if wait > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, wait)
		defer stop()
	}
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.Draining, cancel)()
	err = watch.Until(held, changes, f.PollInterval, func(ctx context.Context) (bool, error) {
		if err := f.readLog(ctx, s, enough); err != nil {
			return false, err
		}
		return enough(), nil
	})
	if errors.Is(err, watch.ErrTimeout) || f.Draining.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
