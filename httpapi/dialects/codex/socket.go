package codex

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/stream"
	"github.com/holdpoint/holdpoint/runs"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/model"
)

const (
	// maxCommandBytes is the maximum size of a client's message. A larger one closes the socket
	// with status 1009.
	maxCommandBytes = 4 << 10
	// maxSeen is the maximum number of sessions whose sent events a socket tracks, and maxSent of the
	// newest events of each.
	maxSeen = 32
	maxSent = 64
)

// ready and reply are messages that are not about a request.
type (
	ready struct {
		Type     string  `json:"type"`
		ThreadID *string `json:"threadId"`
	}
	reply struct {
		Type    string `json:"type"`
		Message string `json:"message,omitempty"`
	}
)

var (
	pong           = kit.Encode(reply{Type: "pong"})
	invalidCommand = kit.Encode(reply{Type: "error", Message: "invalid websocket command"})
)

// serveSocket announces raised and settled requests (docs/spec/codex.md#websocket).
func (f *face) serveSocket(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if query.Has("threadId") && query.Get("threadId") == "" {
		return invalid(issue{"custom", []any{"threadId"}, "must not be empty; leave it out to follow every thread"})
	}
	inbox, err := f.Streams.JoinInbox(r.Context())
	if err != nil {
		return unavailable(err)
	}
	defer inbox.Close()
	// From here on every change reaches the socket, so a client that reads the lists after ready
	// misses nothing.
	if err := inbox.Open(r.Context()); err != nil {
		return unavailable(err)
	}
	conn, err := upgrade(w, r)
	if err != nil {
		return err
	}
	conn.SetReadLimit(maxCommandBytes)

	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	s := &socket{face: f, conn: conn, ctx: ctx, stop: stop}
	if threadID := query.Get("threadId"); threadID != "" {
		s.filter.Store(&threadID)
	}
	if s.write(kit.Encode(ready{"ready", s.filter.Load()})) == nil {
		s.goroutines.Go(s.listen)
		inbox.Deliver(ctx, s)
	}
	s.close()
	return nil
}

// unavailable refuses a socket while the service drains.
func unavailable(err error) error {
	if errors.Is(err, runs.ErrClosed) {
		return failed(http.StatusServiceUnavailable, textDraining)
	}
	return err
}

// upgrade upgrades the request to a WebSocket. wire.Guard has already checked the Origin.
func upgrade(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	shake := &handshake{ResponseWriter: w}
	conn, err := websocket.Accept(shake, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		header := w.Header()
		header.Del("Content-Type")
		return nil, failed(cmp.Or(shake.refused, http.StatusInternalServerError), strings.TrimSpace(shake.why.String()))
	}
	return conn, nil
}

// handshake captures the library's plain-text error, for a reply in this contract's format.
type handshake struct {
	http.ResponseWriter
	refused int
	why     strings.Builder
}

func (h *handshake) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(status)
		return
	}
	h.refused = status
}

func (h *handshake) Write(text []byte) (int, error) { return h.why.Write(text) }

// Unwrap lets the library reach the connection.
func (h *handshake) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// socket is one client. It is the sink of its inbox subscription; another goroutine reads its
// commands. Every write has a deadline, so a slow reader loses the socket. The inbox limits what is
// buffered for it in the meantime.
type socket struct {
	face *face
	conn *websocket.Conn
	// ctx ends with the socket.
	ctx  context.Context //nolint:containedctx // the sink's methods have none of their own
	stop context.CancelFunc
	// filter is the thread whose events are sent; nil for all except system sessions.
	filter atomic.Pointer[string]
	// goroutines read commands and wait for pongs.
	goroutines sync.WaitGroup
	// pinged says that a ping waits for its pong.
	pinged atomic.Bool
	// seen are the sent events of each session, because the inbox may deliver an event twice.
	seen map[string][]sentEvent
	// ending and why are the status and reason with which the service closes the socket.
	ending websocket.StatusCode
	why    string
}

var errEnding = errors.New("the socket ends")

// Snapshot does nothing: in this contract, clients read the lists after ready.
func (s *socket) Snapshot(*stream.InboxSnapshot) error { return nil }

// Gap closes the socket. The contract has no other way to make a client read the lists again.
func (s *socket) Gap(string) error {
	s.ending, s.why = websocket.StatusServiceRestart, "events were missed; reconnect and read the lists"
	return errEnding
}

// Events sends the events that the client wants.
func (s *socket) Events(events []*model.Event) error {
	for _, event := range events {
		wanted, err := s.wants(event)
		if err != nil {
			return s.fail(err)
		}
		if !wanted {
			continue
		}
		frames, err := s.face.announcer.frames(event)
		if err != nil {
			return s.fail(err)
		}
		for _, text := range frames {
			if err := s.write(text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *socket) wants(event *model.Event) (bool, error) {
	filter := s.filter.Load()
	if filter != nil && *filter != event.SessionID || s.sentBefore(event) {
		return false, nil
	}
	if filter != nil {
		return true, nil
	}
	system, err := s.face.announcer.isSystem(event.SessionID)
	return !system, err
}

// sentEvent is an event's number and time. Another session that has the id again has the same numbers.
type sentEvent struct{ eventID, timestampMs int64 }

// sentBefore reports whether the event was already sent. After an event that is delivered late, the inbox
// repeats the later ones, which are sent again: a client that sees a request raised must also see it
// settled.
func (s *socket) sentBefore(event *model.Event) bool {
	sent, one := s.seen[event.SessionID], sentEvent{event.EventID, event.TimestampMs}
	if slices.Contains(sent, one) {
		return true
	}
	if s.seen == nil {
		s.seen = map[string][]sentEvent{}
	} else if len(s.seen) >= maxSeen && sent == nil {
		clear(s.seen)
	}
	sent = slices.DeleteFunc(sent, func(later sentEvent) bool { return later.eventID >= one.eventID })
	if len(sent) >= maxSent {
		sent = slices.Delete(sent, 0, 1)
	}
	s.seen[event.SessionID] = append(sent, one)
	return false
}

// fail closes the socket after a failure of the service.
func (s *socket) fail(err error) error {
	s.ending, s.why = websocket.StatusTryAgainLater, "the service could not read what happened; reconnect and read the lists"
	if s.face.Draining.Err() == nil && s.ctx.Err() == nil {
		s.face.Logger.LogAttrs(s.ctx, slog.LevelError, "codex socket", slog.String("error", err.Error()))
	}
	return errEnding
}

// KeepAlive pings the client without waiting for the pong. A client with busy handlers answers late
// and keeps the socket while its system accepts data, because there is no replay. Data that it does
// not accept in time fails in write. The next ping follows the pong.
func (s *socket) KeepAlive() error {
	if s.pinged.Swap(true) {
		return nil
	}
	s.goroutines.Go(func() {
		if s.conn.Ping(s.ctx) == nil {
			s.pinged.Store(false)
		}
	})
	return nil
}

func (s *socket) write(text []byte) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.face.StreamWriteTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

// listen carries out commands until the client disconnects. It takes no context, because that would
// end the connection without a close frame.
func (s *socket) listen() {
	defer s.stop()
	for {
		kind, message, err := s.conn.Read(context.Background())
		if err != nil {
			return
		}
		if answer := s.carryOut(kind, message); answer != nil && s.write(answer) != nil {
			return
		}
	}
}

// carryOut carries out a command and returns the reply, nil for none.
func (s *socket) carryOut(kind websocket.MessageType, message []byte) []byte {
	if kind != websocket.MessageText || document.Check(message) != nil {
		return invalidCommand
	}
	switch command := api.JSON(message); kit.Text(kit.Get(command, "type")) {
	case "ping":
		return pong
	case "unsubscribe":
		s.filter.Store(nil)
		return nil
	case "subscribe":
		if threadID := kit.Text(kit.Get(command, "threadId")); threadID != "" {
			s.filter.Store(&threadID)
			return nil
		}
	}
	return invalidCommand
}

// close ends the connection, with a close frame unless the client disconnected, and waits for the
// socket's goroutines.
func (s *socket) close() {
	switch {
	case s.ctx.Err() != nil:
		// The client disconnected or does not answer.
		s.ending = 0
	case s.face.Draining.Err() != nil:
		s.ending, s.why = websocket.StatusGoingAway, "the service is shutting down; reconnect"
	case s.ending == 0:
		s.ending, s.why = websocket.StatusTryAgainLater, "the stream ended; reconnect and read the lists"
	}
	if s.ending == 0 || s.conn.Close(s.ending, s.why) != nil {
		_ = s.conn.CloseNow()
	}
	s.stop()
	s.goroutines.Wait()
}
