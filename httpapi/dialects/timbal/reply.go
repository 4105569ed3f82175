package timbal

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/watch"
)

// RunIDHeader tells the id of the run that a reply shows.
const RunIDHeader = "X-Run-Id"

// stream starts a run, or goes on with one, and shows it until it waits or ends.
func (f *face) stream(w http.ResponseWriter, r *http.Request) error {
	return f.begin(w, r, f.Streams.Join, func(s *segment, place *stream.Subscription) error {
		f.show(w, r, s, place)
		return nil
	})
}

// run is stream for a caller who wants the last event only. However long it takes: the
// caller says when it is enough by going away, which does not stop the run.
func (f *face) run(w http.ResponseWriter, r *http.Request) error {
	none := func(string) (*stream.Subscription, error) { return nil, nil }
	return f.begin(w, r, none, func(s *segment, _ *stream.Subscription) error {
		return f.respondLast(w, r, s)
	})
}

// begin reads the call and makes the segment that is shown. Whoever follows joins the
// session before anything is decided in it: a run that could not be shown is not made.
func (f *face) begin(w http.ResponseWriter, r *http.Request, join func(string) (*stream.Subscription, error),
	show func(*segment, *stream.Subscription) error,
) error {
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
	actor, err := wire.Actor(r.Header)
	if err != nil {
		return err
	}
	actor.Via = via

	var going *resumption
	sessionID := runs.NewID(runs.PrefixSession)
	if given.resumes {
		if going, err = f.openResume(r.Context(), given, key, actor); err != nil {
			return err
		}
		sessionID = going.record.Run.SessionID
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
		s, record, replayed, err = f.start(r.Context(), given, sessionID, agentID, key, actor)
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

// show writes the segment as it grows. What goes wrong from here on ends the stream;
// the run goes on, and /runs/{run_id}/events has the rest.
func (f *face) show(w http.ResponseWriter, r *http.Request, s *segment, place *stream.Subscription) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	to := &sink{face: f, ctx: ctx, segment: s, out: stream.Begin(w, "text/event-stream", f.StreamWriteTimeout)}
	if to.flush() != nil || s.finished {
		return
	}
	place.Deliver(ctx, stream.From{RunID: s.id.runID, Cursor: s.log.at}, to)
	if to.err != nil && ctx.Err() == nil {
		f.report(r, to.err)
	}
}

// errFinished ends a stream whose segment has ended.
var errFinished = errors.New("the segment has ended")

// sink writes what the events of the session make of a segment.
type sink struct {
	face    *face
	ctx     context.Context //nolint:containedctx // it lives as long as the one call that it is for
	segment *segment
	out     *stream.Writer
	// err is what went wrong on our side.
	err error
}

// Events implements stream.Sink.
func (k *sink) Events(events []*model.Event) error {
	for _, event := range events {
		if k.err = k.segment.push(k.ctx, event, k.face); k.err != nil {
			return k.err
		}
	}
	if k.segment.raising {
		if k.err = k.face.look(k.ctx, k.segment); k.err != nil {
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
	if _, err := k.out.Write([]byte(": keepalive\n\n")); err != nil {
		return err
	}
	return k.out.Flush()
}

func (k *sink) flush() error {
	for _, one := range k.segment.take() {
		text := make([]byte, 0, len(one.data)+len("id: 0000\ndata: \n\n"))
		text = strconv.AppendInt(append(text, "id: "...), one.seq, 10)
		text = append(append(append(text, "\ndata: "...), one.data...), "\n\n"...)
		if _, err := k.out.Write(text); err != nil {
			return err
		}
	}
	return k.out.Flush()
}

// respondLast answers with the last event, once there is one.
func (f *face) respondLast(w http.ResponseWriter, r *http.Request, s *segment) error {
	var last frame
	keep := func() bool {
		if frames := s.take(); len(frames) > 0 {
			last = frames[len(frames)-1]
		}
		return s.finished
	}
	// The bound on how long a request may take to arrive says nothing about its answer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	if err := f.hold(r.Context(), s, 0, keep); err != nil {
		return err
	}
	if !s.finished {
		return refuse(http.StatusServiceUnavailable, "the service is shutting down; the run goes on, and its events are at /runs/%s/events", s.id)
	}
	return wire.Respond(w, r, http.StatusOK, last.data)
}

// hold takes in what happens until it is enough, for at most wait (0: for as long as it
// takes), or until the service goes away. Running out of time is no error.
func (f *face) hold(ctx context.Context, s *segment, wait time.Duration, enough func() bool) error {
	record, err := f.Store.Run(ctx, s.id.runID)
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
		if err := f.advance(ctx, s, enough); err != nil {
			return false, err
		}
		return enough(), nil
	})
	if errors.Is(err, watch.ErrTimeout) || f.Draining.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
