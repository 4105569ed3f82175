package runs

import "github.com/holdpoint/holdpoint/api"

// The types in this file are event bodies. docs/spec/v1.md#event-types lists their JSON members.

// clarificationRequestedEvent is written to the child's session.
type clarificationRequestedEvent struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"request_id"`
	Parked    bool          `json:"parked"`
	WaitingOn api.WaitingOn `json:"waiting_on"`
}

// clarificationResolvedEvent is written to the parent's session. Its type and resolution are added later.
type clarificationResolvedEvent struct {
	RequesterAgentID   string `json:"requester_agent_id"`
	RequesterSessionID string `json:"requester_session_id"`
	RequestID          string `json:"request_id"`
	Declined           bool   `json:"declined"`
}

// parkedEvent is a waiting_for_user_question event without requests: the parent's session shows
// the question.
type parkedEvent struct {
	Type       api.EventType             `json:"type"`
	RequestIDs []string                  `json:"request_ids"`
	Requests   []api.UserQuestionRequest `json:"requests"`
	WaitingOn  api.WaitingOn             `json:"waiting_on"`
}

type queuedEvent struct {
	Type     api.EventType `json:"type"`
	Position int64         `json:"position"`
}

type outputEvent struct {
	Type   api.EventType    `json:"type"`
	Output api.OutputRecord `json:"output"`
}

// questionAnsweredEvent reports a partial answer.
type questionAnsweredEvent struct {
	Type          api.EventType            `json:"type"`
	RequestID     string                   `json:"request_id"`
	QuestionIDs   []string                 `json:"question_ids"`
	Answers       []api.UserQuestionAnswer `json:"answers"`
	Justification string                   `json:"justification,omitempty"`
	ResolvedBy    string                   `json:"resolved_by"`
	Via           string                   `json:"via"`
	ViaPrincipal  string                   `json:"via_principal,omitempty"`
	// Open is how many questions are still unanswered.
	Open int `json:"open"`
}

type grantRedeemedEvent struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"request_id"`
	JTI       string        `json:"jti"`
	ToolName  string        `json:"tool_name"`
	api.GrantRedemption
}

// plainEvent is an event with only a type.
type plainEvent struct {
	Type api.EventType `json:"type"`
}

type errorEvent struct {
	Type  api.EventType `json:"type"`
	Error string        `json:"error"`
}

type reasonEvent struct {
	Type   api.EventType `json:"type"`
	Reason string        `json:"reason,omitempty"`
}

// requestNotifiedEvent lists the people who are notified of a request.
type requestNotifiedEvent struct {
	Type      api.EventType    `json:"type"`
	RequestID string           `json:"request_id"`
	Step      int64            `json:"step"`
	To        []notifiedPerson `json:"to"`
}

// notifiedPerson is a person who was selected. Channels is empty, not nil, for one who got no message.
type notifiedPerson struct {
	Who      string   `json:"who"`
	Channels []string `json:"channels"`
	WhyNot   string   `json:"why_not,omitempty"`
}

// requestAcknowledgedEvent says that a person is looking at a request, or no longer is. UntilMs is 0
// for api.NotAcknowledged.
type requestAcknowledgedEvent struct {
	Type         api.EventType            `json:"type"`
	RequestID    string                   `json:"request_id"`
	By           string                   `json:"by"`
	ViaPrincipal string                   `json:"via_principal,omitempty"`
	Via          string                   `json:"via"`
	State        api.AcknowledgementState `json:"state"`
	UntilMs      int64                    `json:"until_ms,omitzero"`
}

// notificationFailedEvent says that the service gave up on a notification.
type notificationFailedEvent struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"request_id"`
	Who       string        `json:"who"`
	Channel   string        `json:"channel"`
	// NextChannel is empty if the person has no other address.
	NextChannel string `json:"next_channel,omitempty"`
}
