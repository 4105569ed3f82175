package runs

import "github.com/holdpoint/holdpoint/api"

// The types of this file are bodies of events. Their JSON members are those of
// docs/spec/v1.md#event-types.

// clarificationRequestedEvent is in the child's session.
type clarificationRequestedEvent struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"request_id"`
	Parked    bool          `json:"parked"`
	WaitingOn api.WaitingOn `json:"waiting_on"`
}

// clarificationResolvedEvent is in the parent's session. Its resolution and its type come to it.
type clarificationResolvedEvent struct {
	RequesterAgentID   string `json:"requester_agent_id"`
	RequesterSessionID string `json:"requester_session_id"`
	RequestID          string `json:"request_id"`
	Declined           bool   `json:"declined"`
}

// parkedEvent is a waiting_for_user_question event without requests: the question is shown in
// the parent's session.
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
	// Open is how many questions have no answer yet.
	Open int `json:"open"`
}

type grantRedeemedEvent struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"request_id"`
	JTI       string        `json:"jti"`
	ToolName  string        `json:"tool_name"`
	api.GrantRedemption
}

// plainEvent is an event that has only a type.
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

// requestNotifiedEvent says who is told of a request.
type requestNotifiedEvent struct {
	Type      api.EventType    `json:"type"`
	RequestID string           `json:"request_id"`
	Step      int64            `json:"step"`
	To        []notifiedPerson `json:"to"`
}

type notifiedPerson struct {
	Who      string   `json:"who"`
	Channels []string `json:"channels"`
}

// notificationFailedEvent says that a message was given up.
type notificationFailedEvent struct {
	Type      api.EventType `json:"type"`
	RequestID string        `json:"request_id"`
	Who       string        `json:"who"`
	Channel   string        `json:"channel"`
}
