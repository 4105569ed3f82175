package kit

import (
	"fmt"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/model"
)

// KeepAlive is the comment sent after a silence.
const KeepAlive = ": keepalive\n\n"

// AppendFrame appends a server-sent frame of two lines: a field, such as "event: relay", and the
// data, which must be one line.
func AppendFrame(text []byte, field string, data []byte) []byte {
	text = append(append(text, field...), "\ndata: "...)
	return append(append(text, data...), "\n\n"...)
}

// Change is what an event of the log says about requests.
type Change struct {
	api.Change

	// Redacted: a decision was redacted from the log. The run is over, so none of its requests is
	// open.
	Redacted bool
}

// ChangeOf reads an event. Events that are not about requests have an empty Change.
func ChangeOf(event *model.Event) (Change, error) {
	of, err := api.ChangeOf(event.Type, func(into any) error { return DecodeEvent(event, into) })
	change := Change{Change: of}
	switch event.Type { //nolint:exhaustive // the others decide nothing
	case api.EventUserQuestionAnswered, api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		change.Redacted = !of.Decided() && event.Redacted()
	}
	return change, err
}

// DecodeEvent decodes the body of an event. Errors name the event.
func DecodeEvent(event *model.Event, into any) error {
	if err := Decode(event.Body, into); err != nil {
		return fmt.Errorf("read event %d of session %s: %w", event.EventID, event.SessionID, err)
	}
	return nil
}
