package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// StreamEvent is one thing that a stream tells. Exactly one of Session, Run, Inbox,
// Event and Gap is set.
type StreamEvent struct {
	// ID is where the stream stands: hand it to a later call as after. Empty with Gap, and
	// in the inbox.
	ID string
	// Session is a snapshot, of a stream of a session.
	Session *api.SessionView
	// Run is a snapshot, of a stream of a run.
	Run *api.RunView
	// Inbox is a snapshot, of the stream of the inbox.
	Inbox *api.InboxView
	// Event is what happened next.
	Event *api.RunEventEntry
	// Gap says why what follows does not join on to what was seen before: "ahead" when
	// the log has no event with the id after which it was asked for; in the inbox "missed"
	// when the service may not have heard of everything, "slow" when the caller is too far
	// behind. A snapshot is next.
	Gap string
}

// StreamSilence is how long a stream may be silent before the client takes the
// connection for dead. The service speaks every 5 seconds.
const StreamSilence = 20 * time.Second

// StreamSession follows a session: a snapshot, and then every event after it, in
// order and each once. With after, the id of the last event that the caller has, it
// leaves the snapshot out and goes on from there. It connects again by itself after
// a cut, and ends without an error after the last event of a session that has ended.
//
// The first connection is tried as often as the [RetryPolicy] says. From then on it
// is tried until ctx ends, with the pauses of the policy. The iteration ends after
// the first error: [ErrNotFound]; [ErrInvalid] for an unreadable after; the error of
// ctx. A caller who reads slowly is cut off by the service and connected again.
func (c *Client) StreamSession(ctx context.Context, sessionID, after string) iter.Seq2[StreamEvent, error] {
	return c.stream(ctx, after, &sessionStream{client: c, sessionID: sessionID})
}

// StreamRun follows a run like [Client.StreamSession]. The ids are those of the
// session's log. It ends after the event that ends the run.
func (c *Client) StreamRun(ctx context.Context, runID, after string) iter.Seq2[StreamEvent, error] {
	return c.stream(ctx, after, &runStream{client: c, runID: runID})
}

// followed is what is particular to a stream of a session, of a run, or of the inbox.
type followed interface {
	// path of the stream.
	path() (string, error)
	// numbered says that its frames have ids, by which it goes on after a cut.
	numbered() bool
	// snapshot reads the view of a snapshot into the event, and reports whether nothing
	// comes after it.
	snapshot(data []byte, event *StreamEvent) (over bool, err error)
	// ends reports whether nothing comes after an event.
	ends(event *streamedEvent) bool
	// over reports whether there is nothing after an id, and never will be.
	over(ctx context.Context, after string) (bool, error)
}

// streamedEvent is an entry with the type of its event.
type streamedEvent struct {
	api.RunEventEntry
	name string
}

func (c *Client) stream(ctx context.Context, after string, of followed) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		path, err := of.path()
		if err == nil && after != "" {
			_, err = sequence(after)
		}
		if err != nil {
			yield(StreamEvent{}, err)
			return
		}
		s := &streaming{client: c, path: path, after: after, of: of, yield: yield, pause: c.retry.pauses()}
		if err := s.run(ctx); err != nil {
			yield(StreamEvent{}, err)
		}
	}
}

func sequence(id string) (int64, error) {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil || number < 0 {
		return 0, fmt.Errorf("%w: %q is no id of an event", ErrInvalid, id)
	}
	return number, nil
}

// streaming is one stream over all its connections.
type streaming struct {
	client *Client
	path   string
	// after is the id of the last event that the caller has seen, empty when it wants a
	// snapshot.
	after string
	of    followed
	yield func(StreamEvent, error) bool
	pause *pauses
	// opened says that a connection was made at least once.
	opened bool
	// done says that the stream is over or that the caller wants no more.
	done bool
}

// run connects until the stream is done. It returns what the caller must be told.
func (s *streaming) run(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := s.connect(ctx)
		if s.done {
			return nil
		}
		if err == nil {
			// The service ended the stream: the log is complete, or the process goes away.
			if s.done, err = s.of.over(ctx, s.after); s.done {
				return nil
			}
			err = errorOr(err, errStreamEnded)
		}
		switch {
		case ctx.Err() != nil:
			return contextError(ctx)
		case !passing(err), !s.opened && attempt >= s.client.retry.MaxAttempts:
			return err
		}
		if err := s.pause.sleep(ctx, err); err != nil {
			return err
		}
	}
}

// errStreamEnded is why a pause is made before a stream is opened again.
var errStreamEnded = fmt.Errorf("%w: the stream ended", ErrUnavailable)

func errorOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// connect reads one connection to its end. It returns nil when the service ended the
// stream as it should.
func (s *streaming) connect(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	of := call{method: http.MethodGet, path: s.path}
	request, err := http.NewRequestWithContext(ctx, of.method, s.client.baseURL+s.path, http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: GET %s: %w", ErrInvalid, s.path, err)
	}
	maps.Copy(request.Header, s.client.header)
	request.Header.Set("Accept", "text/event-stream")
	if s.after != "" {
		request.Header.Set("Last-Event-ID", s.after)
	}
	// The one timer covers the connection and each wait for the next bytes, and never
	// the time that the caller takes.
	watchdog := time.AfterFunc(StreamSilence, cancel)
	defer watchdog.Stop()
	response, err := s.client.http.Do(request)
	if err != nil {
		return broken(parent, of, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(response.Body, MaxReplyBytes))
		if err != nil {
			return broken(parent, of, err)
		}
		return problem(response, text)
	}
	if err := s.read(watched{response.Body, watchdog}); err != nil && !s.done {
		if errors.Is(err, errFrame) {
			return fmt.Errorf("GET %s: %w", s.path, err)
		}
		return broken(parent, of, err)
	}
	return nil
}

// watched bounds how long one read may take.
type watched struct {
	body     io.Reader
	watchdog *time.Timer
}

func (w watched) Read(to []byte) (int, error) {
	w.watchdog.Reset(StreamSilence)
	defer w.watchdog.Stop()
	return w.body.Read(to)
}

// read hands the frames of one connection to the caller. A frame is a snapshot by its
// place, and its name must agree.
func (s *streaming) read(body io.Reader) error {
	frames := newFrameReader(body)
	resumed, first := s.after != "", true
	for {
		one, err := frames.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.opened = true
		s.pause.reset()
		switch {
		case first && resumed && one.id == "", !first && one.name == "stream_gap" && !s.of.numbered():
			err = s.gap(one)
			resumed, first = false, true
		case first && !resumed:
			err = s.snapshot(one)
			first = false
		default:
			err = s.event(one)
			first = false
		}
		if err != nil || s.done {
			return err
		}
	}
}

func (s *streaming) gap(one streamFrame) error {
	var gap struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(one.data, &gap); err != nil || one.name != "stream_gap" || gap.Reason == "" {
		return fmt.Errorf("%w: %q is no stream_gap", errFrame, one.name)
	}
	s.after = ""
	s.done = !s.yield(StreamEvent{Gap: gap.Reason}, nil)
	return nil
}

func (s *streaming) snapshot(one streamFrame) error {
	if one.name != "snapshot" || !s.validID(one.id) {
		return fmt.Errorf("%w: %q with the id %q instead of a snapshot", errFrame, one.name, one.id)
	}
	event := StreamEvent{ID: one.id}
	over, err := s.of.snapshot(one.data, &event)
	if err != nil {
		return fmt.Errorf("%w: decode the snapshot: %w", errFrame, err)
	}
	s.after = one.id
	s.done = !s.yield(event, nil) || over
	return nil
}

// validID reports whether a frame has the id that it must have.
func (s *streaming) validID(id string) bool {
	if !s.of.numbered() {
		return id == ""
	}
	_, err := sequence(id)
	return err == nil
}

func (s *streaming) event(one streamFrame) error {
	if !s.validID(one.id) {
		return fmt.Errorf("%w: an event with the id %q", errFrame, one.id)
	}
	entry := &streamedEvent{name: one.name}
	if err := json.Unmarshal(one.data, &entry.RunEventEntry); err != nil {
		return fmt.Errorf("%w: decode event %s: %w", errFrame, one.id, err)
	}
	if !s.of.numbered() {
		s.done = !s.yield(StreamEvent{Event: &entry.RunEventEntry}, nil)
		return nil
	}
	if entry.ID != one.id {
		return fmt.Errorf("%w: event %s in a frame with the id %s", errFrame, entry.ID, one.id)
	}
	id, _ := sequence(one.id)
	if last, err := sequence(s.after); err == nil && id <= last {
		return nil
	}
	s.after = one.id
	s.done = !s.yield(StreamEvent{ID: one.id, Event: &entry.RunEventEntry}, nil) || s.of.ends(entry)
	return nil
}

type sessionStream struct {
	client    *Client
	sessionID string
}

func (s *sessionStream) path() (string, error) { return route("/v1/sessions", s.sessionID, "stream") }

func (s *sessionStream) numbered() bool { return true }

func (s *sessionStream) snapshot(data []byte, event *StreamEvent) (bool, error) {
	event.Session = &api.SessionView{}
	err := json.Unmarshal(data, event.Session)
	return event.Session.Status == api.SessionEnded, err
}

// ends is never sure: the end of a session is no event.
func (s *sessionStream) ends(*streamedEvent) bool { return false }

func (s *sessionStream) over(ctx context.Context, after string) (bool, error) {
	session, err := s.client.GetSession(ctx, s.sessionID)
	if err != nil {
		return false, err
	}
	return session.Status == api.SessionEnded && session.LastEventID == after, nil
}

type runStream struct {
	client *Client
	runID  string
}

func (s *runStream) path() (string, error) { return route("/v1/runs", s.runID, "stream") }

func (s *runStream) numbered() bool { return true }

func (s *runStream) snapshot(data []byte, event *StreamEvent) (bool, error) {
	event.Run = &api.RunView{}
	err := json.Unmarshal(data, event.Run)
	return terminal(event.Run.Status), err
}

func (s *runStream) ends(event *streamedEvent) bool {
	return event.RunID == s.runID && terminal(api.Status(event.name))
}

func (s *runStream) over(ctx context.Context, after string) (bool, error) {
	run, err := s.client.GetRun(ctx, s.runID)
	if err != nil || !terminal(run.Status) {
		return false, err
	}
	left, err := s.client.ListRunEvents(ctx, s.runID, EventListParams{After: after, Limit: 1})
	return err == nil && len(left) == 0, err
}
