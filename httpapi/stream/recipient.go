package stream

import (
	"errors"
	"io"

	"github.com/holdpoint/holdpoint/runs/model"
)

// Out is the output of a stream. Data may be buffered until Flush. Both methods return an error
// when the reader stopped, and must not block forever.
type Out interface {
	io.Writer
	Flush() error
}

// Sink receives a session's stream, for dialects with their own frames. An error says that the
// reader stopped, and ends the stream. Methods must not block forever.
type Sink interface {
	// Events receives the next events in order, at least one. They are shared: do not modify them.
	// Flush the output before returning.
	Events(events []*model.Event) error
	// KeepAlive is called after [Options].KeepAlive without output.
	KeepAlive() error
}

// errStopped ends a stream whose reader disconnected or is too slow.
var errStopped = errors.New("the reader accepts no more")

// stopped returns errStopped for any error.
func stopped(err error) error {
	if err != nil {
		return errStopped
	}
	return nil
}

// recipient is an Out or a Sink. All its errors except encoding errors are errStopped.
type recipient interface {
	// event writes an event. text is its encoded frame, nil when it is not encoded yet.
	event(event *model.Event, text []byte) error
	flush() error
	keepAlive() error
}

// frameWriter writes the frames of /v1.
type frameWriter struct{ out Out }

func (f *frameWriter) event(event *model.Event, text []byte) error {
	if text == nil {
		encoded, err := newFrame(event)
		if err != nil {
			return err
		}
		text = encoded.text
	}
	_, err := f.out.Write(text)
	return stopped(err)
}

func (f *frameWriter) flush() error { return stopped(f.out.Flush()) }

func (f *frameWriter) keepAlive() error { return f.writeFrame(keepAlive, nil) }

// writeFrame writes and flushes one frame, unless encoding failed.
func (f *frameWriter) writeFrame(text []byte, err error) error {
	if err != nil {
		return err
	}
	if _, err := f.out.Write(text); err != nil {
		return errStopped
	}
	return f.flush()
}

// sinkWriter collects events and flushes them to a sink.
type sinkWriter struct {
	sink   Sink
	events []*model.Event
}

func (s *sinkWriter) event(event *model.Event, _ []byte) error {
	s.events = append(s.events, event)
	return nil
}

func (s *sinkWriter) flush() error {
	events := s.events
	s.events = nil // the sink may keep them
	return stopped(s.sink.Events(events))
}

func (s *sinkWriter) keepAlive() error { return stopped(s.sink.KeepAlive()) }
