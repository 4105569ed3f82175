package kheish

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/httpapi/wire"
)

// shapeStream rewrites the stream of a session or a run to the clients' events.
func shapeStream(scope string) shaper {
	return func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(wire.SharesCaller(r.Context()))
		if query := r.URL.Query(); query.Has("cursor") {
			query.Set("cursor", positionOf(query.Get("cursor")))
			address := *r.URL
			address.RawQuery = query.Encode()
			r.URL = &address
		}
		if last := r.Header.Get("Last-Event-ID"); last != "" {
			r.Header = r.Header.Clone()
			r.Header.Set("Last-Event-ID", positionOf(last))
		}
		next.ServeHTTP(&streamWriter{ResponseWriter: w, next: next, request: r, scope: scope}, r)
	}
}

// streamWriter rewrites the frames of /v1. All events about a run until its view is sent become one
// run_updated with the run's current state.
type streamWriter struct {
	http.ResponseWriter
	next    http.Handler
	request *http.Request
	scope   string

	status  int
	partial []byte
	// updated are the runs that events were about whose views were not sent yet, in order. held are the frames
	// behind the first of these events, without ids: a reader resumes after the last id, so it gets none
	// of a later event before the views of these runs. newest is the id of the newest event.
	updated []string
	held    []byte
	newest  string
}

// Unwrap lets http.ResponseController find the connection.
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (s *streamWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *streamWriter) Write(text []byte) (int, error) {
	if s.status != 0 && s.status != http.StatusOK {
		return s.ResponseWriter.Write(text)
	}
	s.partial = append(s.partial, text...)
	for {
		frame, rest, whole := bytes.Cut(s.partial, []byte("\n\n"))
		if !whole {
			return len(text), nil
		}
		translated := s.frame(frame)
		if len(s.updated) > 0 {
			s.held = append(s.held, translated...)
		} else if _, err := s.ResponseWriter.Write(translated); err != nil {
			return 0, err
		}
		s.partial = rest
		if len(s.updated) >= maxUpdated {
			if err := s.settle(); err != nil {
				return 0, err
			}
		}
	}
}

// maxUpdated is how many runs are read before what is known of them is sent: their views are in memory until then, and
// a reader that comes back begins behind them.
const maxUpdated = 16

// FlushError is called by http.ResponseController.
func (s *streamWriter) FlushError() error {
	if err := s.settle(); err != nil {
		return err
	}
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// settle sends the views of the updated runs, and the frames behind them. A run that cannot be read now ends the stream
// before anything about it is sent, and the reader resumes after its last id.
func (s *streamWriter) settle() error {
	views := make([]json.RawMessage, 0, len(s.updated))
	for _, runID := range s.updated {
		reply := askFor(s.next, s.request, "/v1/runs/"+url.PathEscape(runID), nil)
		switch reply.Status {
		case http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return fmt.Errorf("read run %s for a stream: status %d", runID, reply.Status)
		}
		if !reply.ok() {
			continue // deleted meanwhile, or no attempt reads it: the stream would end there each time
		}
		err := reshape(s.request.Context(), reply.Body.Len(), func() {
			if view, ok := decode(reply.Body.Bytes()); ok {
				show(view)
				views = append(views, encode(view))
			}
		})
		if err != nil {
			return err
		}
	}
	text := s.held
	for i, view := range views {
		id := ""
		if i == len(views)-1 {
			id = s.newest
		}
		text = append(text, event(id, "run_updated", map[string]any{"run": view})...)
	}
	s.updated, s.held = nil, nil
	if len(text) == 0 {
		return nil
	}
	_, err := s.ResponseWriter.Write(text)
	return err
}

// frame translates a frame of /v1; nil drops it.
func (s *streamWriter) frame(frame []byte) []byte {
	var id, name string
	var data []byte
	for line := range bytes.Lines(frame) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch {
		case bytes.HasPrefix(line, []byte(":")):
			name = "heartbeat"
		case bytes.HasPrefix(line, []byte("id: ")):
			id = numberOf(string(line[len("id: "):]))
		case bytes.HasPrefix(line, []byte("event: ")):
			name = string(line[len("event: "):])
		case bytes.HasPrefix(line, []byte("data: ")):
			data = line[len("data: "):]
		}
	}
	value, _ := decode(data)
	entry, _ := value.(map[string]any)
	s.newest = cmp.Or(id, s.newest)
	if len(s.updated) > 0 {
		id = ""
	}
	switch name {
	case "":
		return nil
	case "heartbeat":
		if data != nil {
			return nil // a worker's event of that type
		}
		return event("", name, nil)
	case "stream_gap":
		reason := "replay_window"
		if entry["reason"] == "ahead" {
			reason = "restart_epoch"
		}
		return event("", name, map[string]any{"skipped": 0, "reason": reason, "scope": s.scope, "skipped_is_estimate": true})
	case "snapshot":
		show(value)
		if s.scope == "run" {
			return event(id, "run_updated", map[string]any{"run": value})
		}
		return event(id, "session_snapshot", map[string]any{"session_id": entry["session_id"], "snapshot": entry["snapshot"]})
	}
	if !knownEvent(entry) {
		return nil
	}
	if name == "output" {
		body, _ := entry["event"].(map[string]any)
		return event(id, name, map[string]any{"output": body["output"]})
	}
	if runID, _ := entry["run_id"].(string); runID != "" && !slices.Contains(s.updated, runID) {
		s.updated = append(s.updated, runID)
	}
	if name == "interrupted" {
		return event("", name, map[string]any{"session_id": entry["session_id"], "agent_id": entry["agent_id"]})
	}
	return nil
}

// The clients' ids are 64-bit decimal numbers. The upper half identifies the log: Kheish uses the
// epoch of its process, this package the beginning of a position's mark.
const (
	eventBits  = 32
	markDigits = 7 // of 4 bits each
)

// numberOf converts the id of a /v1 frame to such a number.
func numberOf(id string) string {
	number, mark, marked := strings.Cut(id, ".")
	eventID, err := strconv.ParseUint(number, 10, eventBits)
	if !marked || err != nil || len(mark) < markDigits {
		return id
	}
	epoch, err := strconv.ParseUint(mark[:markDigits], 16, 4*markDigits)
	if err != nil {
		return id
	}
	return strconv.FormatUint(epoch<<eventBits|eventID, 10)
}

// positionOf converts such a number to an id of /v1.
func positionOf(id string) string {
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil || number>>eventBits == 0 {
		return id
	}
	return fmt.Sprintf("%d.%0*x", number&(1<<eventBits-1), markDigits, number>>eventBits)
}

// event returns a frame with one event, without an id when it is empty.
func event(id, name string, members map[string]any) []byte {
	body := map[string]any{"type": name}
	for member, value := range members {
		body[member] = value
	}
	var text strings.Builder
	if id != "" {
		text.WriteString("id: " + id + "\n")
	}
	text.WriteString("event: " + name + "\ndata: ")
	text.Write(encode(body))
	text.WriteString("\n\n")
	return []byte(text.String())
}
