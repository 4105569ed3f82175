package hermes

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/runs/model"
	"github.com/holdpoint/holdpoint/runs/refusal"
	"github.com/holdpoint/holdpoint/runs/watch"
)

const eventStream = "text/event-stream; charset=utf-8"

var (
	noCache   = []string{"no-cache"}
	closeAway = []string{"close"}
	keepAlive = []byte(": keepalive\n\n")
	frameEnds = []byte("\n\n")
)

// stream answers with the stream of a queue (hermes.md 2.4). Every frame is the whole
// state, so a subscriber that is slow is told the newest one and misses nothing.
func (f *face) stream(q *queue) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sessionID := sessionOf(r)
		if sessionID == "" {
			refuse(w, r, http.StatusBadRequest, "session_id is required")
			return
		}
		subscription, err := f.services.Streams.Join(sessionID)
		if err != nil {
			f.fail(w, r, err)
			return
		}
		defer subscription.Close()
		shared := f.boards.join(sessionID)
		defer f.boards.leave(shared)

		s := &subscriber{face: f, queue: q, board: shared}
		stands, err := s.look(r.Context())
		if err != nil {
			f.fail(w, r, err)
			return
		}
		header := w.Header()
		header["Cache-Control"], header["Connection"] = noCache, closeAway
		s.out = stream.Begin(w, eventStream, f.services.StreamWriteTimeout)
		if err := s.show("initial", stands.state); err == nil {
			err = s.follow(r.Context(), subscription, stands)
			f.reportStream(r, err)
		}
	}
}

// reportStream logs why a stream ended early, unless the reader has gone.
func (f *face) reportStream(r *http.Request, err error) {
	if err != nil && !errors.Is(err, errGone) {
		f.report(r, http.StatusInternalServerError, err)
	}
}

// errGone: the reader takes no more.
var errGone = errors.New("the reader takes no more")

// subscriber is one stream. It is a [stream.Sink].
type subscriber struct {
	face  *face
	queue *queue
	board *board
	out   *stream.Writer
	// ctx is the request's; a sink is called without one.
	ctx context.Context //nolint:containedctx // it lives as long as the request
	// shown is what the reader saw last, and written when anything was written last.
	shown   *state
	written time.Time
	// failed is the first failure, of reading or of writing.
	failed error
}

// standing is how a session stands: whether there is one, whether it is over, and its
// queue after its newest event.
type standing struct {
	known, over bool
	eventID     int64
	state       *state
}

// look reads how the session stands. A session that is not there, or cannot be, has an
// empty queue (hermes.md 2.4). What happens after the look is in the log after its
// event.
func (s *subscriber) look(ctx context.Context) (standing, error) {
	s.ctx = ctx
	var stands standing
	if refusal.ValidID(s.board.sessionID) {
		session, err := s.face.services.Store.SessionHead(ctx, s.board.sessionID)
		switch {
		case err == nil:
			stands.known, stands.over, stands.eventID = true, session.EndedAtMs != 0, session.LastEventID
		case refusal.CodeOf(err) != api.CodeSessionNotFound:
			return standing{}, err
		}
	}
	var err error
	stands.state, err = s.board.after(ctx, s.face.services.Store, s.queue, stands.eventID)
	return stands, err
}

// follow keeps the stream going until the reader or the service goes away. A session
// that is not there yet may come; one that is over stays as it is, and its stream open,
// because a client would only connect again.
func (s *subscriber) follow(ctx context.Context, subscription *stream.Subscription, stands standing) error {
	for !s.ended(ctx) {
		switch {
		case stands.over || !refusal.ValidID(s.board.sessionID):
			return s.idle(ctx, nil)
		case !stands.known:
			changes := s.face.services.Watches.Session(s.board.sessionID)
			err := s.idle(ctx, changes)
			changes.Close()
			if err != nil {
				return err
			}
		default:
			subscription.Deliver(ctx, stream.From{Cursor: stands.eventID}, s)
			if s.failed != nil || s.ended(ctx) {
				return s.failed
			}
		}
		now, err := s.look(ctx)
		if err != nil {
			return err
		}
		if stands.known && !now.over {
			// Not the end of the session: the log could not be read, and that is reported.
			return nil
		}
		stands = now
		if err := s.change(stands.state); err != nil {
			return err
		}
	}
	return nil
}

func (s *subscriber) ended(ctx context.Context) bool {
	return ctx.Err() != nil || s.face.services.Draining.Err() != nil
}

// idle sends comments while nothing can be told. With a watch it returns as soon as
// the session is there.
func (s *subscriber) idle(ctx context.Context, changes *watch.Watch) error {
	comment := time.NewTicker(s.face.services.KeepAlive)
	defer comment.Stop()
	var signal <-chan struct{}
	var poll <-chan time.Time
	if changes != nil {
		ticker := time.NewTicker(s.face.pollAfter(s.face.strangers.Add(1)))
		defer ticker.Stop()
		defer s.face.strangers.Add(-1)
		signal, poll = changes.C(), ticker.C
	}
	for {
		if changes != nil {
			there, err := s.there(ctx)
			if there || err != nil {
				return err
			}
		}
		select {
		case <-signal:
		case <-poll:
		case <-comment.C:
			if err := s.KeepAlive(); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		case <-s.face.services.Draining.Done():
			return nil
		}
	}
}

// pollsPerSecond bounds what all streams of sessions that are not there ask of the
// database.
const pollsPerSecond = 500

func (f *face) pollAfter(strangers int64) time.Duration {
	return max(f.services.PollInterval, time.Duration(strangers)*time.Second/pollsPerSecond)
}

func (s *subscriber) there(ctx context.Context) (bool, error) {
	_, err := s.face.services.Store.SessionHead(ctx, s.board.sessionID)
	if refusal.CodeOf(err) == api.CodeSessionNotFound {
		return false, nil
	}
	return err == nil, err
}

// Events implements [stream.Sink]: it shows how things stand after the last of them.
func (s *subscriber) Events(events []*model.Event) error {
	newest := int64(0)
	for _, event := range events {
		if s.queue.changes(event.Type) {
			newest = event.EventID
		}
	}
	if newest == 0 {
		return s.remind()
	}
	now, err := s.board.after(s.ctx, s.face.services.Store, s.queue, newest)
	if err != nil {
		s.failed = err
		return err
	}
	return s.change(now)
}

// KeepAlive implements [stream.Sink].
func (s *subscriber) KeepAlive() error {
	_, err := s.out.Write(keepAlive)
	return s.flush(err)
}

// remind sends a comment when events that are not told here have kept the silence from
// being noticed.
func (s *subscriber) remind() error {
	const part = 5
	if now().Sub(s.written) < s.face.services.KeepAlive/part {
		return nil
	}
	return s.KeepAlive()
}

// change shows a queue that is not as the reader saw it last.
func (s *subscriber) change(next *state) error {
	if bytes.Equal(next.data, s.shown.data) {
		return s.remind()
	}
	return s.show(s.queue.event, next)
}

func (s *subscriber) show(event string, next *state) error {
	s.shown = next
	_, err := s.out.Write([]byte("event: " + event + "\ndata: "))
	if err == nil {
		_, err = s.out.Write(next.data)
	}
	if err == nil {
		_, err = s.out.Write(frameEnds)
	}
	return s.flush(err)
}

func (s *subscriber) flush(err error) error {
	if err == nil {
		err = s.out.Flush()
	}
	s.written = now()
	if err != nil {
		s.failed = errGone
		return errGone
	}
	return nil
}

func now() time.Time {
	return time.Now() //nolint:forbidigo // silence on a connection is by the clock of this process
}
