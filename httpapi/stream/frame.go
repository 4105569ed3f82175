package stream

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Names of the frames that are no events of the log.
const (
	NameSnapshot = "snapshot"
	NameGap      = "stream_gap"
	// NameKeepAlive is in the inbox alone, where it has the service's clock.
	NameKeepAlive = "keepalive"
)

// GapAhead is the reason of a gap: the caller named an event that there is not yet.
const GapAhead = "ahead"

// GapReset is the reason of a gap: events after the one that the caller named are not kept any
// more, or the log does not have that event any more but another one with its number.
const GapReset = "reset"

// Retry is the first line of a stream: how many milliseconds a browser waits before
// it connects again.
const Retry = "retry: 1000\n\n"

const keepAliveComment = ": keepalive\n"

var keepAlive = []byte(keepAliveComment + "\n")

// Stored documents were checked when they came in (see wire.Respond). Without
// options for white space a document is one line.
var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// frame is an event as all followers write it.
type frame struct {
	event *model.Event
	text  []byte
	at    model.Position
}

// position implements item.
func (f frame) position() int64 { return f.event.EventID }

// weight implements item.
func (f frame) weight() (events, bytes int) { return 1, len(f.text) + len(f.event.Body) }

// endsRun reports whether the run has no event after this one. Such an event has the
// name of the status that the run ends in.
func endsRun(event *model.Event) bool { return model.Terminal(api.Status(event.Type)) }

func newFrame(event *model.Event) (frame, error) {
	at := event.Position()
	text, err := appendFrame(nil, at.String(), string(event.Type), event.Entry())
	if err != nil {
		return frame{}, fmt.Errorf("event %d of session %s: %w", event.EventID, event.SessionID, err)
	}
	return frame{event: event, text: text, at: at}, nil
}

// AppendSnapshot appends the frame that says how things stand at an event.
func AppendSnapshot(text []byte, at model.Position, view any) ([]byte, error) {
	return appendFrame(text, at.String(), NameSnapshot, view)
}

// AppendGap appends the frame that says why what follows does not join on to what
// the caller saw before. It has no id.
func AppendGap(text []byte, reason string) ([]byte, error) {
	return appendFrame(text, "", NameGap, struct {
		Reason string `json:"reason"`
	}{reason})
}

// appendFrame takes a name without line breaks: the types of events are made of the
// characters of ids.
func appendFrame(text []byte, id, name string, data any) ([]byte, error) {
	document, err := json.Marshal(data, encoding)
	if err != nil {
		return text, fmt.Errorf("encode the frame: %w", err)
	}
	if text == nil {
		text = make([]byte, 0, len(id)+len(name)+len(document)+len("id: \nevent: \ndata: \n\n"))
	}
	if id != "" {
		text = append(append(append(text, "id: "...), id...), '\n')
	}
	text = append(append(append(text, "event: "...), name...), "\ndata: "...)
	return append(append(text, document...), "\n\n"...), nil
}
