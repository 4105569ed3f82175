package api

// Change is what an event says about requests. At most one group of members is set.
type Change struct {
	// Approvals and Questions were raised.
	Approvals []ApprovalRequest
	Questions []UserQuestionRequest
	// Resolutions are the resolutions of settled requests. Each names its request within the run.
	Resolutions []Resolution
	// RequestID names an open request whose questions QuestionIDs were answered through Via.
	RequestID   string
	QuestionIDs []string
	Via         string
}

// Decided reports whether a request was settled or partly answered.
func (c *Change) Decided() bool { return c.Resolutions != nil || c.RequestID != "" }

type (
	raisedBody[R any] struct {
		Requests []R `json:"requests"`
	}
	decidedBody struct {
		Resolution  *Resolution  `json:"resolution"`
		Resolutions []Resolution `json:"resolutions"`
		RequestID   string       `json:"request_id"`
		QuestionIDs []string     `json:"question_ids"`
		Via         string       `json:"via"`
	}
)

// ChangeOf reads an event of the given type. decode decodes the event's body. Events that are not about requests
// have an empty Change, whatever their members: workers append events with members of any name.
func ChangeOf(kind EventType, decode func(into any) error) (Change, error) {
	switch kind { //nolint:exhaustive // most events are not about requests
	case EventWaitingForApproval:
		var body raisedBody[ApprovalRequest]
		err := decode(&body)
		return Change{Approvals: body.Requests}, err
	case EventWaitingForUserQuestion:
		var body raisedBody[UserQuestionRequest]
		err := decode(&body)
		return Change{Questions: body.Requests}, err
	case EventUserQuestionAnswered:
		var body decidedBody
		err := decode(&body)
		return Change{RequestID: body.RequestID, QuestionIDs: body.QuestionIDs, Via: body.Via}, err
	case EventApprovalResolved, EventUserQuestionResolved, EventParentClarificationResolved:
		var body decidedBody
		err := decode(&body)
		if body.Resolution != nil {
			body.Resolutions = append(body.Resolutions, *body.Resolution)
		}
		return Change{Resolutions: body.Resolutions}, err
	}
	return Change{}, nil
}
