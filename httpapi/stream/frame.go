package stream

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// Names of frames that are not events of the log.
const (
	NameSnapshot = "snapshot"
	NameGap      = "stream_gap"
	// NameKeepAlive is for the inbox only. It carries the service's clock.
	NameKeepAlive = "keepalive"
	// NameViewing is for the inbox only. It says who has which requests open.
	NameViewing = "viewing"
)

// GapAhead is the reason of a gap when the caller's cursor is ahead of the log.
const GapAhead = "ahead"

// GapReset is the reason of a gap when events after the caller's cursor were deleted, or the log
// has a different event at the cursor.
const GapReset = "reset"

// Retry is the first line of a stream: the reconnection delay of browsers in milliseconds.
const Retry = "retry: 1000\n\n"

const keepAliveComment = ": keepalive\n"

var keepAlive = []byte(keepAliveComment + "\n")

// Stored documents were checked on the way in (see wire.Respond). Without white space options a
// document is one line.
var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// frame is an event, encoded once for all followers.
type frame struct {
	event *model.Event
	text  []byte
	at    model.Position
}

// position implements item.
func (f frame) position() int64 { return f.event.EventID }

// weight implements item.
func (f frame) weight() (events, bytes int) { return 1, len(f.text) + len(f.event.Body) }

// endsRun reports whether this is the run's last event. It has the name of the run's final status.
func endsRun(event *model.Event) bool { return model.Terminal(api.Status(event.Type)) }

func newFrame(event *model.Event) (frame, error) {
	at := event.Position()
	text, err := appendFrame(nil, at.String(), string(event.Type), event.Entry())
	if err != nil {
		return frame{}, fmt.Errorf("event %d of session %s: %w", event.EventID, event.SessionID, err)
	}
	return frame{event: event, text: text, at: at}, nil
}

// AppendSnapshot appends the frame with the state at an event.
func AppendSnapshot(text []byte, at model.Position, view any) ([]byte, error) {
	return appendFrame(text, at.String(), NameSnapshot, view)
}

// AppendGap appends the frame that tells the caller that events are missing. It has no id.
func AppendGap(text []byte, reason string) ([]byte, error) {
	return appendFrame(text, "", NameGap, struct {
		Reason string `json:"reason"`
	}{reason})
}

// appendFrame appends a frame. The name has no line breaks: event types have the alphabet of ids.
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
