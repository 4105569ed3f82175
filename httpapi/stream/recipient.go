package stream

import (
	"errors"
	"io"

	"github.com/holdpoint/holdpoint/runs/model"
)

// Out is where a stream is written to. Nothing need arrive before Flush. Both return an
// error when the reader accepts no more; they must not block for ever.
type Out interface {
	io.Writer
	Flush() error
}

// Sink receives what a session's stream is made of, for faces with frames of their own.
// An error says that the reader accepts no more, and ends the stream; no method may
// block for ever.
type Sink interface {
	// Events receives what happened next, in order, at least one event. They are shared:
	// nobody may change them. What is made of them must be flushed before it returns.
	Events(events []*model.Event) error
	// KeepAlive is called when nothing was sent for the time of [Options].KeepAlive.
	KeepAlive() error
}

// errStopped ends a stream whose reader has gone, or is too slow.
var errStopped = errors.New("the reader accepts no more")

// stopped returns errStopped for any error.
func stopped(err error) error {
	if err != nil {
		return errStopped
	}
	return nil
}

// recipient is an Out or a Sink as a follower sees it. All its errors but those of
// encoding are errStopped.
type recipient interface {
	// event writes an event. Its frame is nil when nobody has encoded it yet.
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

// writeFrame writes and flushes one frame, unless encoding it failed.
func (f *frameWriter) writeFrame(text []byte, err error) error {
	if err != nil {
		return err
	}
	if _, err := f.out.Write(text); err != nil {
		return errStopped
	}
	return f.flush()
}

// sinkWriter gathers events until they are flushed to a sink.
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
