package stream

import (
	"errors"
	"io"

	"github.com/holdpoint/holdpoint/runs/model"
)

// Out is where a stream is written to. Nothing need arrive before Flush. Both
// return an error when the reader takes no more; they must not block for ever.
type Out interface {
	io.Writer
	Flush() error
}

// Sink takes what a session's stream is made of, for faces with frames of their own.
// An error says that the reader takes no more, and ends the stream; no method may
// block for ever.
type Sink interface {
	// Events takes what happened next, in order, at least one. They are shared: nobody
	// may change them. What is made of them must be flushed before it returns.
	Events(events []*model.Event) error
	// Silence is called when nothing was sent for the time of [Options].KeepAlive.
	Silence() error
}

// errStopped ends a stream whose reader has gone, or is too slow.
var errStopped = errors.New("the reader takes no more")

// recipient is an Out or a Sink as a follower sees it. All its errors but those of
// encoding are errStopped.
type recipient interface {
	// take gets the event's frame too, when somebody has encoded it already.
	take(event *model.Event, text []byte) error
	flush() error
	silence() error
}

// framed writes the frames of /v1.
type framed struct{ out Out }

func (f *framed) take(event *model.Event, text []byte) error {
	if text == nil {
		one, err := newFrame(event)
		if err != nil {
			return err
		}
		text = one.text
	}
	_, err := f.out.Write(text)
	return stopped(err)
}

func (f *framed) flush() error { return stopped(f.out.Flush()) }

func (f *framed) silence() error {
	if _, err := f.out.Write(keepAlive); err != nil {
		return errStopped
	}
	return f.flush()
}

// handed gathers events until they are flushed.
type handed struct {
	sink   Sink
	events []*model.Event
}

func (h *handed) take(event *model.Event, _ []byte) error {
	h.events = append(h.events, event)
	return nil
}

func (h *handed) flush() error {
	events := h.events
	h.events = nil // the sink may keep them
	return stopped(h.sink.Events(events))
}

func (h *handed) silence() error { return stopped(h.sink.Silence()) }

func stopped(err error) error {
	if err != nil {
		return errStopped
	}
	return nil
}
