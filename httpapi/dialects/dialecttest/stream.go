package dialecttest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a stream may be silent before the test fails.
const patience = time.Minute

// Frame is a frame of a stream, or a comment. Text is its lines.
type Frame struct {
	ID, Event, Data, Comment string
	Text                     string
}

// Stream is an open stream of server-sent events.
type Stream struct {
	T        *testing.T
	Response *http.Response
	// Leave cancels the request.
	Leave context.CancelFunc

	lines *bufio.Reader
}

// Follow opens a stream on its own connection for the rest of the test.
func (s *Service) Follow(t *testing.T, method, path, body string, options ...Option) *Stream {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := s.Send(ctx, client, method, path, body, options...)
	if err != nil {
		leave()
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		leave()
		_ = response.Body.Close()
	})
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	}
	return &Stream{T: t, Response: response, Leave: leave, lines: bufio.NewReader(response.Body)}
}

// Read returns the next frame or comment, or why the stream ended. A hanging stream is cancelled.
func (s *Stream) Read() (Frame, error) {
	watchdog := time.AfterFunc(patience, s.Leave)
	defer watchdog.Stop()
	var frame Frame
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && (line != "" || frame.Text != "") {
				err = io.ErrUnexpectedEOF
			}
			return frame, err
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			frame.Text = strings.TrimSuffix(frame.Text, "\n")
			return frame, nil
		}
		frame.Text += line + "\n"
		switch field, value, _ := strings.Cut(line, ": "); field {
		case "id":
			frame.ID = value
		case "event":
			frame.Event = value
		case "data":
			frame.Data = value
		default:
			frame.Comment = line
		}
	}
}

// Next returns the next frame or comment and fails the test without one.
func (s *Stream) Next() Frame {
	s.T.Helper()
	frame, err := s.Read()
	require.NoError(s.T, err, "the stream ended or hangs")
	return frame
}

// Frame returns the next frame that is not a comment, and fails the test without one.
func (s *Stream) Frame() Frame {
	s.T.Helper()
	for range 100 {
		if frame := s.Next(); frame.Comment == "" {
			return frame
		}
	}
	require.Fail(s.T, "no frame comes")
	return Frame{}
}

// Ends checks that only comments precede the end of the stream and that it ends cleanly.
func (s *Stream) Ends() {
	s.T.Helper()
	for {
		frame, err := s.Read()
		if err != nil {
			require.ErrorIs(s.T, err, io.EOF)
			require.NotErrorIs(s.T, err, io.ErrUnexpectedEOF)
			return
		}
		require.NotEmpty(s.T, frame.Comment, "%s", frame.Text)
	}
}
