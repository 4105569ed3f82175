package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// StreamEvent is one item of a stream. Exactly one of Session, Run, Inbox, Event and Gap is
// set.
type StreamEvent struct {
	// ID is the position in the stream: pass it to a later call as after. It is empty with
	// Gap, and in the inbox.
	ID string
	// Session is a snapshot in the stream of a session.
	Session *api.SessionView
	// Run is a snapshot in the stream of a run.
	Run *api.RunView
	// Inbox is a snapshot in the stream of the inbox.
	Inbox *api.InboxView
	// Event is the next event.
	Event *api.RunEventEntry
	// Gap says why the next item does not continue from the previous one: "ahead" if the
	// log has no event with the id in after, "reset" if events after it were deleted; in
	// the inbox "missed" if the service may have missed events, "slow" if the caller is too
	// slow, "lost" if the connection was lost. A snapshot follows, in the inbox after however
	// long the service is away.
	Gap string
}

// StreamSilence is how long a stream may be silent before the client considers the
// connection dead. The service sends something every 5 seconds.
const StreamSilence = 20 * time.Second

// StreamSession follows a session: a snapshot, and then every event after it, in order and
// once each. If after, the ID of the last [StreamEvent] that the caller has, is set, it omits the
// snapshot and continues from there. It reconnects automatically, and ends without an error
// after the last event of a session that has ended.
//
// The first connection is retried according to the [RetryPolicy]. After that, it reconnects
// until ctx ends, with the pauses of the policy. The iteration ends after the first error:
// [ErrNotFound]; [ErrInvalid] for an invalid after; the error of ctx. The service
// disconnects slow readers, which then reconnect.
func (c *Client) StreamSession(ctx context.Context, sessionID, after string) iter.Seq2[StreamEvent, error] {
	return c.stream(ctx, after, streamKind{
		path: at("/v1/sessions", sessionID, "stream"), numbered: true,
		decode: func(data []byte, event *StreamEvent) (final bool, err error) {
			event.Session = &api.SessionView{}
			err = json.Unmarshal(data, event.Session)
			return event.Session.Status == api.SessionEnded, err
		},
		// The end of a session is not an event.
		isFinal: func(*api.RunEventEntry, string) bool { return false },
		isComplete: func(ctx context.Context, after string) (bool, error) {
			session, err := c.GetSession(ctx, sessionID)
			if err != nil {
				return false, err
			}
			return session.Status == api.SessionEnded && session.LastEventID == numberOf(after), nil
		},
	})
}

// StreamRun follows a run like [Client.StreamSession]. The ids begin with event ids of the
// session's log. It ends after the event that ends the run; a failure that was retried does not
// end it.
func (c *Client) StreamRun(ctx context.Context, runID, after string) iter.Seq2[StreamEvent, error] {
	return c.stream(ctx, after, streamKind{
		path: at("/v1/runs", runID, "stream"), numbered: true,
		decode: func(data []byte, event *StreamEvent) (final bool, err error) {
			event.Run = &api.RunView{}
			err = json.Unmarshal(data, event.Run)
			return event.Run.Status.Terminal(), err
		},
		// A run that failed may have been retried.
		isFinal: func(entry *api.RunEventEntry, name string) bool {
			return entry.RunID == runID && name != string(api.StatusFailed) && api.Status(name).Terminal()
		},
		isComplete: func(ctx context.Context, after string) (bool, error) {
			run, err := c.GetRun(ctx, runID)
			if err != nil || !run.Status.Terminal() {
				return false, err
			}
			left, err := c.ListRunEvents(ctx, runID, EventListParams{After: after, Limit: 1})
			if errors.Is(err, ErrCursorReset) {
				return false, nil // the next connection says so, with a snapshot
			}
			return err == nil && len(left) == 0, err
		},
	})
}

// StreamInbox follows the open requests of all sessions: a snapshot, and then every event
// about a request, in order within each session. It reconnects automatically and has no
// end: it only ends with ctx, and with the errors of [Client.StreamSession].
//
// A snapshot replaces everything before it, also after a reconnection. Apply all other
// events in order, by the session, the run and the request's id. They may come twice, and
// may be part of the snapshot already. A settled request never stays open. If the snapshot
// has More, [Client.ListApprovals] and [Client.ListQuestions] return the rest.
func (c *Client) StreamInbox(ctx context.Context) iter.Seq2[StreamEvent, error] {
	return c.stream(ctx, "", streamKind{
		path: at("/v1/stream"),
		decode: func(data []byte, event *StreamEvent) (final bool, err error) {
			event.Inbox = &api.InboxView{}
			return false, json.Unmarshal(data, event.Inbox)
		},
		isComplete: func(context.Context, string) (bool, error) { return false, nil },
	})
}

// streamKind is the difference between the streams of a session, of a run, and of the
// inbox.
type streamKind struct {
	path path
	// numbered reports that frames have ids, from which the stream resumes.
	numbered bool
	// decode reads a snapshot into the event. final reports that nothing follows it.
	decode func(data []byte, event *StreamEvent) (final bool, err error)
	// isFinal reports whether nothing follows an event of that type. It is called for
	// numbered streams.
	isFinal func(entry *api.RunEventEntry, name string) bool
	// isComplete asks whether nothing follows an id, now or later.
	isComplete func(ctx context.Context, after string) (bool, error)
}

func (c *Client) stream(ctx context.Context, after string, kind streamKind) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		err := kind.path.err
		if err == nil && after != "" {
			_, err = parseSequence(after)
		}
		if err != nil {
			yield(StreamEvent{}, err)
			return
		}
		s := &streamReader{client: c, streamKind: kind, after: after, yield: yield, pause: c.retry.pauses()}
		if err := s.run(ctx); err != nil {
			yield(StreamEvent{}, err)
		}
	}
}

// sequence matches ids of up to 18 digits. The service sends a snapshot after any other.
var sequence = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})(\.[0-9a-f]{7,64})?$`)

// parseSequence returns the number in an event's id, or in a frame's id, which has a suffix
// after a point.
func parseSequence(id string) (int64, error) {
	if !sequence.MatchString(id) {
		return 0, fmt.Errorf("%w: %q is not the id of an event", ErrInvalid, id)
	}
	return strconv.ParseInt(numberOf(id), 10, 64)
}

// numberOf returns the number of an event in the id of a frame.
func numberOf(id string) string {
	number, _, _ := strings.Cut(id, ".")
	return number
}

// streamReader reads one stream over all its connections.
type streamReader struct {
	client *Client
	streamKind
	// after is the id of the last event that the caller has seen, empty to get a snapshot.
	after string
	yield func(StreamEvent, error) bool
	pause *pauses
	// opened reports that a frame was read at least once, and live that the caller has a
	// snapshot and has not been told of a gap since.
	opened, live bool
	// done reports that the stream is complete, or that the caller has stopped.
	done bool
}

// run connects until the stream is done. It returns the error that ends the iteration.
func (s *streamReader) run(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := s.connect(ctx)
		if s.done {
			return nil
		}
		if err == nil {
			// The service ended the stream: the log is complete, or the process shuts down.
			if s.done, err = s.isComplete(ctx, s.after); s.done {
				return nil
			}
			if err == nil {
				err = errStreamEnded
			}
		}
		switch {
		case ctx.Err() != nil:
			return contextError(ctx)
		case s.opened && !Away(err), !s.opened && (!transient(err) || attempt >= s.client.retry.MaxAttempts):
			return err
		case s.opened:
			if s.live && !s.numbered {
				s.live = false
				if s.done = !s.yield(StreamEvent{Gap: "lost"}, nil); s.done {
					return nil
				}
			}
			err = s.pause.sleepAnyway(ctx, err)
		default:
			err = s.pause.sleep(ctx, err)
		}
		if err != nil {
			return err
		}
	}
}

// errStreamEnded is the reason for the pause before reconnecting.
var errStreamEnded = fmt.Errorf("%w: the stream ended", ErrUnavailable)

// errSilent ends a connection that has been silent for too long.
var errSilent = fmt.Errorf("%w: the stream was silent for %s", ErrUnavailable, StreamSilence)

// connect reads one connection to its end. It returns nil if the service ended the stream
// normally.
func (s *streamReader) connect(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	of := call{method: http.MethodGet, path: s.path}
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.after != "" {
		header.Set("Last-Event-ID", s.after)
	}
	// The timer covers connecting and each wait for the next bytes, but not the caller's
	// processing of an item.
	watchdog := time.AfterFunc(StreamSilence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	response, err := s.client.open(ctx, of, header)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch err := s.read(watchedReader{response.Body, watchdog}); {
	case err == nil || s.done:
		return nil
	case errors.Is(err, errFrame):
		return fmt.Errorf("%s: %w", of, err)
	default:
		return broken(ctx, of, err, false)
	}
}

// watchedReader bounds the time of a read.
type watchedReader struct {
	body     io.Reader
	watchdog *time.Timer
}

func (w watchedReader) Read(to []byte) (int, error) {
	w.watchdog.Reset(StreamSilence)
	defer w.watchdog.Stop()
	return w.body.Read(to)
}

// read passes the frames of one connection to the caller. A frame is a snapshot by its
// position, and its name must agree.
func (s *streamReader) read(body io.Reader) error {
	resumed, first := s.after != "", true
	for frame, err := range readFrames(body) {
		if err != nil {
			return err
		}
		s.opened = true
		s.pause.reset()
		switch {
		case first && resumed && frame.id == "", !first && frame.name == "stream_gap" && !s.numbered:
			err = s.gap(frame)
			resumed, first = false, true
		case !s.numbered && frame.name == "keepalive":
			// It has the service's clock and is not an event.
		case first && !resumed:
			err = s.snapshot(frame)
			first = false
		default:
			err = s.event(frame)
			first = false
		}
		if err != nil || s.done {
			return err
		}
	}
	return nil
}

func (s *streamReader) gap(frame streamFrame) error {
	var gap struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(frame.data, &gap); err != nil || frame.name != "stream_gap" || gap.Reason == "" {
		return fmt.Errorf("%w: %q is not a stream_gap", errFrame, frame.name)
	}
	s.after, s.live = "", false
	s.done = !s.yield(StreamEvent{Gap: gap.Reason}, nil)
	return nil
}

func (s *streamReader) snapshot(frame streamFrame) error {
	if frame.name != "snapshot" || !s.validID(frame.id) {
		return fmt.Errorf("%w: %q with the id %q instead of a snapshot", errFrame, frame.name, frame.id)
	}
	if !frame.isObject() {
		return fmt.Errorf("%w: the snapshot is not an object", errFrame)
	}
	event := StreamEvent{ID: frame.id}
	final, err := s.decode(frame.data, &event)
	if err != nil {
		return fmt.Errorf("%w: decode the snapshot: %w", errFrame, err)
	}
	s.after, s.live = frame.id, true
	s.done = !s.yield(event, nil) || final
	return nil
}

// validID reports whether a frame has an id exactly if the stream is numbered.
func (s *streamReader) validID(id string) bool {
	if !s.numbered {
		return id == ""
	}
	_, err := parseSequence(id)
	return err == nil
}

func (s *streamReader) event(frame streamFrame) error {
	if !s.validID(frame.id) {
		return fmt.Errorf("%w: an event with the id %q", errFrame, frame.id)
	}
	if !frame.isObject() {
		return fmt.Errorf("%w: event %s is not an object", errFrame, frame.id)
	}
	var entry api.RunEventEntry
	if err := json.Unmarshal(frame.data, &entry); err != nil {
		return fmt.Errorf("%w: decode event %s: %w", errFrame, frame.id, err)
	}
	if !s.numbered {
		s.done = !s.yield(StreamEvent{Event: &entry}, nil)
		return nil
	}
	if entry.ID != numberOf(frame.id) {
		return fmt.Errorf("%w: event %s in a frame with the id %s", errFrame, entry.ID, frame.id)
	}
	id, _ := parseSequence(frame.id)
	if last, err := parseSequence(s.after); err == nil && id <= last {
		return nil
	}
	s.after = frame.id
	s.done = !s.yield(StreamEvent{ID: frame.id, Event: &entry}, nil) || s.isFinal(&entry, frame.name)
	return nil
}
