package hermes

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

const eventStream = "text/event-stream; charset=utf-8"

// stream answers with the stream of a queue (docs/spec/hermes.md#streams). Every frame is the whole
// state, so a slow reader gets the newest one and misses nothing.
func (f *face) stream(q *queue) wire.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		sessionID := sessionOf(r)
		if sessionID == "" {
			return refuse(http.StatusBadRequest, textNoSession)
		}
		subscription, err := f.Streams.Join(sessionID)
		if err != nil {
			return err
		}
		defer subscription.Close()
		shared := f.boards.join(r.Context(), sessionID)
		defer f.boards.leave(shared)

		s := &subscriber{face: f, queue: q, board: shared}
		at, err := s.look(r.Context())
		if err != nil {
			return err
		}
		header := w.Header()
		header["Cache-Control"], header["Connection"] = []string{"no-cache"}, []string{"close"}
		s.out = stream.Begin(w, eventStream, f.StreamWriteTimeout)
		err = s.show("initial", at.state)
		if err == nil {
			err = s.follow(r.Context(), subscription, at)
		}
		if err != nil && !errors.Is(err, errReaderGone) {
			f.Report(r, err)
		}
		return nil
	}
}

// errReaderGone ends a stream whose reader stopped.
var errReaderGone = errors.New("the reader takes no more")

// subscriber is one stream. It is a [stream.Sink].
type subscriber struct {
	face  *face
	queue *queue
	board *board
	out   *stream.Writer
	// ctx is the request's context, for reads in the sink.
	ctx context.Context //nolint:containedctx // it lives as long as the request
	// life identifies the session whose log is followed, "" before its first event.
	life string
	// shown is the state last sent; written is the time of the last write.
	shown   *state
	written time.Time
	// failed is the first read or write error.
	failed error
}

// position is a session's newest event and its queue after that event. An unknown session may be
// created later.
type position struct {
	known, ended bool
	eventID      int64
	mark         string // of the event's position
	state        *state
}

// look reads the position. Later changes are in the log after its event. An unknown or invalid
// session id has an empty queue.
func (s *subscriber) look(ctx context.Context) (position, error) {
	s.ctx = ctx
	var at position
	s.life = ""
	if refusal.ValidID(s.board.sessionID) {
		session, err := s.face.Store.Reader(ctx).SessionHead(ctx, s.board.sessionID)
		switch {
		case err == nil:
			at = position{known: true, ended: session.EndedAtMs != 0, eventID: session.LastEventID, mark: session.Position().Mark}
			s.life = session.Life
		case refusal.CodeOf(err) != api.CodeSessionNotFound:
			return position{}, err
		}
	}
	var err error
	at.state, err = s.board.after(ctx, s.face, s.queue, s.life, at.eventID)
	return at, err
}

// follow writes the stream until the reader disconnects or the service drains. The stream of an
// ended session stays open, because its client would only reconnect, until another session has its id.
func (s *subscriber) follow(ctx context.Context, subscription *stream.Subscription, at position) error {
	for !s.cancelled(ctx) {
		switch {
		case !refusal.ValidID(s.board.sessionID):
			return s.idle(ctx, nil)
		case !at.known || at.ended:
			changes := s.face.Watches.Session(s.board.sessionID)
			err := s.idle(ctx, changes)
			changes.Close()
			if err != nil {
				return err
			}
		default:
			subscription.Deliver(ctx, stream.From{Cursor: at.eventID, Mark: at.mark}, s)
			if s.failed != nil || s.cancelled(ctx) {
				return s.failed
			}
		}
		next, err := s.look(ctx)
		if err != nil {
			return err
		}
		if at.known && !next.ended {
			// The hub has logged the failed read, or the id is another session's: its feed is joined again.
			return nil
		}
		at = next
		if err := s.update(at.state); err != nil {
			return err
		}
	}
	return nil
}

func (s *subscriber) cancelled(ctx context.Context) bool {
	return ctx.Err() != nil || s.face.Draining.Err() != nil
}

// idle sends comments while there is no log to follow. With a watch it returns as soon as there is a
// session that has not ended.
func (s *subscriber) idle(ctx context.Context, changes *watch.Watch) error {
	comment := time.NewTicker(s.face.KeepAlive)
	defer comment.Stop()
	var hint <-chan struct{}
	var poll <-chan time.Time
	if changes != nil {
		ticker := time.NewTicker(s.face.pollAfter(s.face.idleSessions.Add(1)))
		defer ticker.Stop()
		defer s.face.idleSessions.Add(-1)
		hint, poll = changes.C(), ticker.C
	}
	for {
		if changes != nil {
			if begun, err := s.sessionBegun(ctx); begun || err != nil {
				return err
			}
		}
		select {
		case <-hint:
		case <-poll:
		case <-comment.C:
			if err := s.KeepAlive(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		case <-s.face.Draining.Done():
			return nil
		}
	}
}

// pollsPerSecond limits the reads of all streams of unknown and ended sessions together.
const pollsPerSecond = 500

func (f *face) pollAfter(idleSessions int64) time.Duration {
	return max(f.PollInterval, time.Duration(idleSessions)*time.Second/pollsPerSecond)
}

func (s *subscriber) sessionBegun(ctx context.Context) (bool, error) {
	session, err := s.face.Store.Reader(ctx).SessionHead(ctx, s.board.sessionID)
	if refusal.CodeOf(err) == api.CodeSessionNotFound {
		return false, nil
	}
	return err == nil && session.EndedAtMs == 0, err
}

// Events implements [stream.Sink]. It shows the queue after the last event that may have changed
// it.
func (s *subscriber) Events(events []*model.Event) error {
	if s.life == "" && events[0].EventID == 1 {
		s.life = events[0].Hash()
	}
	newest := int64(0)
	for _, event := range events {
		if s.queue.changes(event.Type) {
			newest = event.EventID
		}
	}
	if newest == 0 {
		return s.commentIfDue()
	}
	next, err := s.board.after(s.ctx, s.face, s.queue, s.life, newest)
	if err != nil {
		s.failed = err
		return err
	}
	return s.update(next)
}

// KeepAlive implements [stream.Sink]. It checks for requests of sessions below, which are not in
// the followed log.
func (s *subscriber) KeepAlive() error {
	// A little less than the interval, because the queue is read just after a tick and the next tick must read it again.
	next, err := s.board.again(s.ctx, s.face, s.queue, s.face.KeepAlive*9/10)
	if err != nil {
		s.failed = err
		return err
	}
	if next != nil && !bytes.Equal(next.data, s.shown.data) {
		return s.show(s.queue.event, next)
	}
	_, err = s.out.Write([]byte(kit.KeepAlive))
	return s.flush(err)
}

// commentIfDue sends a comment when the reader got nothing for a while, although the hub delivered
// events.
func (s *subscriber) commentIfDue() error {
	const part = 5
	if kit.Now().Sub(s.written) < s.face.KeepAlive/part {
		return nil
	}
	return s.KeepAlive()
}

// update sends the queue if it has changed.
func (s *subscriber) update(next *state) error {
	if bytes.Equal(next.data, s.shown.data) {
		return s.commentIfDue()
	}
	return s.show(s.queue.event, next)
}

func (s *subscriber) show(event string, next *state) error {
	s.shown = next
	_, err := s.out.Write(kit.AppendFrame(nil, "event: "+event, next.data))
	return s.flush(err)
}

func (s *subscriber) flush(err error) error {
	if err == nil {
		err = s.out.Flush()
	}
	s.written = kit.Now()
	if err != nil {
		s.failed = errReaderGone
		return errReaderGone
	}
	return nil
}
