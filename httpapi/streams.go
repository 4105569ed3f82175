package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs"
)

// LastEventIDHeader is the header with which a browser resumes a stream.
const LastEventIDHeader = "Last-Event-ID"

// resumption is from where a caller wants to go on.
type resumption struct {
	cursor int64
	// given is false when the caller has nothing yet, and wants a snapshot.
	given bool
}

// resumptionOf reads ?cursor= and Last-Event-ID, of which the larger counts
// (kheish.md 1.10.4). A cursor must be an event id; a header that is none is ignored,
// because a browser cannot be told to leave it away (decisions.md 11).
func resumptionOf(r *http.Request) (resumption, error) {
	var from resumption
	if number, ok := parseDecimal(r.Header.Get(LastEventIDHeader)); ok {
		from = resumption{cursor: number, given: true}
	}
	if query := queryOf(r); query.Has("cursor") {
		number, ok := parseDecimal(query.Get("cursor"))
		if !ok {
			return resumption{}, runs.NewError(runs.CodeInvalidEventCursor, "cursor must be the id of an event")
		}
		from = resumption{cursor: max(from.cursor, number), given: true}
	}
	return from, nil
}

func (s *Server) streamSession(w http.ResponseWriter, r *http.Request) error {
	sessionID := wire.PathID(r, "session_id")
	if !runs.ValidID(sessionID) {
		return runs.UnknownSession(wire.Shown(sessionID))
	}
	wanted, err := resumptionOf(r)
	if err != nil {
		return err
	}
	subscription, err := s.streams.Join(sessionID)
	if err != nil {
		return err
	}
	defer subscription.Close()
	opening, from, err := s.openSession(r, sessionID, wanted)
	if err != nil {
		return err
	}
	s.follow(w, r, subscription, opening, from)
	return nil
}

// openSession returns the first bytes of a session's stream and what comes after
// them. The subscription must have been taken before.
func (s *Server) openSession(r *http.Request, sessionID string, wanted resumption) ([]byte, stream.From, error) {
	record, err := s.store.Session(r.Context(), sessionID)
	if err != nil {
		return nil, stream.From{}, err
	}
	newest := record.Session.LastEventID
	from := stream.From{Cursor: newest, Closed: record.Session.EndedAtMs != 0, End: newest}
	if wanted.given && wanted.cursor <= newest {
		from.Cursor = wanted.cursor
		return []byte(stream.Retry), from, nil
	}
	opening, err := openWith(wanted, newest, record.View())
	return opening, from, err
}

func (s *Server) streamRun(w http.ResponseWriter, r *http.Request) error {
	runID := wire.PathID(r, "run_id")
	if !runs.ValidID(runID) {
		return runs.UnknownRun(wire.Shown(runID))
	}
	wanted, err := resumptionOf(r)
	if err != nil {
		return err
	}
	// The first read only tells whose feed to join; the snapshot is read after it.
	record, err := s.store.Run(r.Context(), runID)
	if err != nil {
		return err
	}
	subscription, err := s.streams.Join(record.Run.SessionID)
	if err != nil {
		return err
	}
	defer subscription.Close()
	opening, from, err := s.openRun(r, runID, wanted)
	if err != nil {
		return err
	}
	s.follow(w, r, subscription, opening, from)
	return nil
}

// openRun is openSession for one run. The ids are the session's, and so a cursor is
// ahead only when the session's log does not reach to it.
func (s *Server) openRun(r *http.Request, runID string, wanted resumption) ([]byte, stream.From, error) {
	record, err := s.store.Run(r.Context(), runID)
	if err != nil {
		return nil, stream.From{}, err
	}
	run := &record.Run
	from := stream.From{RunID: runID, Cursor: run.LastEventID, Closed: run.Status.Terminal(), End: run.LastEventID}
	known := wanted.given && wanted.cursor <= run.LastEventID
	if wanted.given && !known {
		session, err := s.store.Session(r.Context(), run.SessionID)
		if err != nil {
			return nil, stream.From{}, err
		}
		known = wanted.cursor <= session.Session.LastEventID
	}
	if known {
		from.Cursor = wanted.cursor
		return []byte(stream.Retry), from, nil
	}
	opening, err := openWith(wanted, run.LastEventID, record.View())
	return opening, from, err
}

// openWith returns the first bytes of a stream that begins with a snapshot, which
// stands at an event. A caller that wanted something else is told why it cannot have
// it.
func openWith(wanted resumption, id int64, view any) ([]byte, error) {
	opening := []byte(stream.Retry)
	if wanted.given {
		var err error
		if opening, err = stream.AppendGap(opening, stream.GapAhead); err != nil {
			return nil, err
		}
	}
	return stream.AppendSnapshot(opening, id, view)
}

var (
	eventStream = []string{"text/event-stream"}
	noBuffering = []string{"no"}
)

// follow answers with the stream. What goes wrong from here on ends it: the reader
// comes back with the last id that it has.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, subscription *stream.Subscription, opening []byte, from stream.From) {
	header := w.Header()
	header["Content-Type"] = eventStream
	// A proxy such as nginx would hold the frames back.
	header["X-Accel-Buffering"] = noBuffering
	w.WriteHeader(http.StatusOK)
	out := &streamWriter{w: w, control: http.NewResponseController(w), patience: s.streamWrites}
	// The bound on how long a request may take to arrive says nothing about a stream.
	_ = out.control.SetReadDeadline(time.Time{})
	if _, err := out.Write(opening); err != nil || out.Flush() != nil {
		return
	}
	subscription.Follow(r.Context(), out, from)
}

// streamWriter gives the reader some time for everything between two flushes.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// patience is how long that is.
	patience time.Duration
	// timed says that the deadline is set.
	timed bool
}

func (o *streamWriter) Write(text []byte) (int, error) {
	if !o.timed {
		if err := o.control.SetWriteDeadline(o.deadline()); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return 0, err
		}
		o.timed = true
	}
	return o.w.Write(text)
}

func (o *streamWriter) Flush() error {
	o.timed = false
	if err := o.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (o *streamWriter) deadline() time.Time {
	return time.Now().Add(o.patience) //nolint:forbidigo // a deadline of a connection is by the clock of this process
}
