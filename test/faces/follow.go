package faces

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/coder/websocket"
)

// Stream is a stream of any face, read message by message.
type Stream struct {
	// Next returns the next message: its event name, if any, and its data.
	Next  func() (event, data string, err error)
	close func()
}

// Close closes the stream.
func (s *Stream) Close() { s.close() }

var handlePattern = regexp.MustCompile(`request_[0-9a-z]{20,}`)

// See reads until a message contains a prompt and the given texts, and returns its handle. Other
// messages are skipped, because the inbox includes other sessions.
func (s *Stream) See(texts ...string) (string, error) {
	for {
		_, data, err := s.Next()
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(data, text) }) {
			continue
		}
		if handle := handlePattern.FindString(data); handle != "" {
			return handle, nil
		}
	}
}

// Follow opens a stream of server-sent events and returns after the headers.
func (s *Service) Follow(ctx context.Context, path string) (*Stream, error) {
	return s.follow(ctx, http.MethodGet, path, "")
}

// FollowRun resumes a run without answers, to follow what it does next.
func (s *Service) FollowRun(ctx context.Context, runID string) (*Stream, error) {
	return s.follow(ctx, http.MethodPost, "/stream", encode(map[string]any{"parent_id": runID, "resume": map[string]any{}}))
}

func (s *Service) follow(ctx context.Context, method, path, body string) (*Stream, error) {
	ctx, leave := context.WithCancel(ctx)
	response, err := s.open(ctx, method, path, body)
	if err != nil {
		leave()
		return nil, err
	}
	left := func() {
		leave()
		_ = response.Body.Close()
	}
	if response.StatusCode != http.StatusOK {
		defer left()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("no stream: %d %s", response.StatusCode, text)
	}
	lines := bufio.NewReader(response.Body)
	return &Stream{close: left, Next: func() (event, data string, err error) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return "", "", err
			}
			line = strings.TrimSuffix(line, "\n")
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				event = name
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				data = text
			}
			if line == "" && data != "" {
				return event, data, nil
			}
		}
	}}, nil
}

// Socket opens codex's WebSocket for a session and returns when it is ready.
func (s *Service) Socket(ctx context.Context, sessionID string) (*Stream, error) {
	connection, response, err := websocket.Dial(ctx, s.URL+"/api/stream?threadId="+sessionID, &websocket.DialOptions{HTTPClient: s.HTTP})
	if response != nil && response.Body != nil {
		defer response.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	stream := &Stream{
		close: func() { _ = connection.CloseNow() },
		Next: func() (event, data string, err error) {
			_, text, err := connection.Read(ctx)
			return "", string(text), err
		},
	}
	_, _, err = stream.Next()
	return stream, err
}
