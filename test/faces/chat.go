package faces

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Frame is one frame of a chat's stream.
type Frame struct {
	Event string
	Data  string
	// ID is the id of a relay or a question.
	ID string
	// Request is the question's request.
	Request jsontext.Value
	// Resolution is the recorded resolution in a frame that reports a settled prompt.
	Resolution jsontext.Value
}

// Chat is a chat whose stream is read as it arrives. Every face can show its session, because
// relays exist only in sessions of chats.
type Chat struct {
	SessionID string
	leave     context.CancelFunc
	done      chan struct{}

	mu     sync.Mutex
	more   chan struct{} // closed on a new frame
	frames []Frame
	ended  bool
}

// StartChat starts a chat whose relays stay answerable without its stream, and returns when it is
// connected. Call Close in the end.
func (s *Service) StartChat(ctx context.Context) (*Chat, error) {
	ctx, leave := context.WithCancel(context.WithoutCancel(ctx))
	response, err := s.open(ctx, http.MethodPost, "/chat", `{"model":"none","messages":[{"role":"user","content":"go"}],"detached":true}`)
	if err != nil {
		leave()
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer leave()
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("no chat: %d %s", response.StatusCode, text)
	}
	c := &Chat{leave: leave, done: make(chan struct{}), more: make(chan struct{})}
	go c.read(response.Body)
	connected, err := c.Await(ctx, func(f Frame) bool { return f.Event == "connected" })
	if err != nil {
		c.Close()
		return nil, err
	}
	var data struct {
		SessionID string `json:"sessionId"`
	}
	err = json.Unmarshal([]byte(connected.Data), &data)
	c.SessionID = data.SessionID
	return c, err
}

// Close closes the stream and waits for its end.
func (c *Chat) Close() {
	c.leave()
	<-c.done
}

func (c *Chat) read(body io.ReadCloser) {
	defer close(c.done)
	defer body.Close()
	var frame Frame
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadString('\n')
		line = strings.TrimSuffix(line, "\n")
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			frame.Event = event
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			frame.Data = data
		}
		if err == nil && line == "" && frame.Event != "" {
			c.take(frame)
			frame = Frame{}
		}
		if err != nil {
			c.mu.Lock()
			c.ended = true
			close(c.more)
			c.mu.Unlock()
			return
		}
	}
}

func (c *Chat) take(frame Frame) {
	var data struct {
		ID         string         `json:"id"`
		Request    jsontext.Value `json:"request"`
		Resolution jsontext.Value `json:"resolution"`
	}
	if json.Unmarshal([]byte(frame.Data), &data) == nil {
		frame.ID, frame.Request, frame.Resolution = data.ID, data.Request, data.Resolution
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames = append(c.frames, frame)
	close(c.more)
	c.more = make(chan struct{})
}

// Await waits for a frame that fits and returns the first one.
func (c *Chat) Await(ctx context.Context, fits func(Frame) bool) (Frame, error) {
	for number := 0; ; number++ {
		frame, err := c.frame(ctx, number)
		if err != nil || fits(frame) {
			return frame, err
		}
	}
}

// frame waits for a frame and returns it, numbered from 0.
func (c *Chat) frame(ctx context.Context, number int) (Frame, error) {
	for {
		c.mu.Lock()
		if number < len(c.frames) {
			defer c.mu.Unlock()
			return c.frames[number], nil
		}
		more, ended := c.more, c.ended
		c.mu.Unlock()
		if ended {
			return Frame{}, errors.New("the chat has ended without that frame")
		}
		select {
		case <-more:
		case <-ctx.Done():
			return Frame{}, ctx.Err()
		}
	}
}

// Frames returns the frames so far.
func (c *Chat) Frames() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Frame(nil), c.frames...)
}

// Stream reads the chat from its beginning. Closing it does not affect the chat.
func (c *Chat) Stream(ctx context.Context) *Stream {
	number := 0
	return &Stream{close: func() {}, Next: func() (event, data string, err error) {
		frame, err := c.frame(ctx, number)
		number++
		return frame.Event, frame.Data, err
	}}
}

// Open returns the handles of the relays and questions that were shown and not settled.
func (c *Chat) Open() []string {
	var open []string
	for _, frame := range c.Frames() {
		switch frame.Event {
		case "relay", "question":
			open = append(open, frame.ID)
		case "relay_resolved", "question_resolved":
			kept := open[:0]
			for _, id := range open {
				if id != frame.ID {
					kept = append(kept, id)
				}
			}
			open = kept
		}
	}
	return open
}
