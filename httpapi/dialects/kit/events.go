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

// Change is what an event says about requests. At most one group of members is set.
type Change struct {
	// Approvals and Questions were raised.
	Approvals []api.ApprovalRequest
	Questions []api.UserQuestionRequest
	// Resolutions are the resolutions of settled requests. Each names its request within the run.
	Resolutions []api.Resolution
	// RequestID names an open request whose questions QuestionIDs were answered through Via.
	RequestID   string
	QuestionIDs []string
	Via         string
	// Redacted: a decision was redacted from the log. The run is over, so none of its requests is
	// open.
	Redacted bool
}

// Decided reports whether a request was settled or partly answered.
func (c *Change) Decided() bool { return c.Resolutions != nil || c.RequestID != "" }

type (
	raisedBody[R any] struct {
		Requests []R `json:"requests"`
	}
	decidedBody struct {
		Resolution  *api.Resolution  `json:"resolution"`
		Resolutions []api.Resolution `json:"resolutions"`
		RequestID   string           `json:"request_id"`
		QuestionIDs []string         `json:"question_ids"`
		Via         string           `json:"via"`
	}
)

// ChangeOf reads an event. Events that are not about requests have an empty Change.
func ChangeOf(event *model.Event) (Change, error) {
	switch event.Type { //nolint:exhaustive // most events are not about requests
	case api.EventWaitingForApproval:
		var body raisedBody[api.ApprovalRequest]
		err := DecodeEvent(event, &body)
		return Change{Approvals: body.Requests}, err
	case api.EventWaitingForUserQuestion:
		var body raisedBody[api.UserQuestionRequest]
		err := DecodeEvent(event, &body)
		return Change{Questions: body.Requests}, err
	case api.EventUserQuestionAnswered:
		var body decidedBody
		err := DecodeEvent(event, &body)
		return Change{
			RequestID: body.RequestID, QuestionIDs: body.QuestionIDs, Via: body.Via, Redacted: body.RequestID == "" && event.Redacted(),
		}, err
	case api.EventApprovalResolved, api.EventUserQuestionResolved, api.EventParentClarificationResolved:
		var body decidedBody
		err := DecodeEvent(event, &body)
		if body.Resolution != nil {
			body.Resolutions = append(body.Resolutions, *body.Resolution)
		}
		return Change{Resolutions: body.Resolutions, Redacted: body.Resolutions == nil && event.Redacted()}, err
	}
	return Change{}, nil
}

// DecodeEvent decodes the body of an event. Errors name the event.
func DecodeEvent(event *model.Event, into any) error {
	if err := Decode(event.Body, into); err != nil {
		return fmt.Errorf("read event %d of session %s: %w", event.EventID, event.SessionID, err)
	}
	return nil
}
