package client

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// JSON is one JSON value as its text; nil means that the member was absent. Make
// one from a Go value with [EncodeJSON], or by conversion: JSON(`{"a":1}`).
type JSON = api.JSON

// Documents of the wire. Their members are explained where they are defined.
type (
	// RunView is a run.
	RunView = api.RunView
	// SessionView is a session.
	SessionView = api.SessionView
	// SessionSummary is a session in a list.
	SessionSummary = api.SessionSummaryView
	// RunRequestSummary says who asked for a run.
	RunRequestSummary = api.RunRequestSummary
	// ActiveRunRef names a session's active run.
	ActiveRunRef = api.ActiveRunRef
	// LeaseView is a lease as everybody may see it, without its fence.
	LeaseView = api.LeaseView
	// PendingApprovalView is an open approval with its context.
	PendingApprovalView = api.PendingApprovalView
	// PendingQuestionView is an open question with its context.
	PendingQuestionView = api.PendingQuestionView
	// InboxView is what is open in all sessions.
	InboxView = api.InboxView
	// RunEventEntry is one event of a session's log.
	RunEventEntry = api.RunEventEntry
	// OutputRecord is a piece of output that a worker gave.
	OutputRecord = api.OutputRecord

	// ApprovalRequest asks whether one tool call may run.
	ApprovalRequest = api.ApprovalRequest
	// UserQuestionRequest asks a person structured questions, or for one value.
	UserQuestionRequest = api.UserQuestionRequest
	// UserQuestion is one structured question.
	UserQuestion = api.UserQuestion
	// QuestionOption is one choice of a structured question.
	QuestionOption = api.QuestionOption

	// ApprovalResolution is a decision about one approval, as it is given.
	ApprovalResolution = api.ApprovalResolution
	// UserQuestionResolution is an answer to a question request, as it is given.
	UserQuestionResolution = api.UserQuestionResolution
	// UserQuestionAnswer answers one structured question.
	UserQuestionAnswer = api.UserQuestionAnswer
	// Resolution is what was recorded for a request.
	Resolution = api.Resolution
	// RecordedDecision is what a caller who came too late is told.
	RecordedDecision = api.RecordedDecision

	// Claim is what a worker is handed with a run.
	Claim = api.Claim
	// ClaimedLease is a lease as its holder sees it, with the fence.
	ClaimedLease = api.ClaimedLease
	// ClaimOptions ask for a lease together with the making of a run.
	ClaimOptions = api.ClaimOptions
	// Suspension is what a worker wants to wait for.
	Suspension = api.Suspension
	// Resume is what a run goes on with.
	Resume = api.Resume
	// SettledApproval is an approval and what was decided about it.
	SettledApproval = api.SettledApproval
	// SettledQuestion is a question and its answer.
	SettledQuestion = api.SettledQuestion
	// AnswerForWorker is an answer with its labels and a summary.
	AnswerForWorker = api.AnswerForWorker
	// LabelledAnswer is the answer to one structured question with its words.
	LabelledAnswer = api.LabelledAnswer
	// Settled is the reply of an attached wait.
	Settled = api.Settled

	// ClarificationAnswer is the answer of a parent's session.
	ClarificationAnswer = api.ClarificationAnswer
	// WaitingOn names the clarification that a parked run waits for.
	WaitingOn = api.WaitingOn
	// Requester says who asks a parent clarification.
	Requester = api.Requester
	// Message is a message to a session.
	Message = api.MessageView
	// MessageState says where a message is.
	MessageState = api.MessageState
	// Effect is something that a decision in one session owes to another.
	Effect = api.EffectView
	// EffectKind says what an effect does.
	EffectKind = api.EffectKind
	// EffectState says how far an effect is.
	EffectState = api.EffectState

	// Fault names one member of a request and what is wrong with it.
	Fault = api.Fault
	// Code is the stable name of an error.
	Code = api.Code
	// Status is where a run or a session stands.
	Status = api.Status
	// RunKind says what made a run.
	RunKind = api.RunKind
	// Behavior is the decision about an approval.
	Behavior = api.Behavior
	// Outcome is what became of a request.
	Outcome = api.Outcome
)

// The statuses of runs, and those that a session has besides.
const (
	StatusQueued                 = api.StatusQueued
	StatusRunning                = api.StatusRunning
	StatusWaitingForApproval     = api.StatusWaitingForApproval
	StatusWaitingForUserQuestion = api.StatusWaitingForUserQuestion
	StatusCompleted              = api.StatusCompleted
	StatusFailed                 = api.StatusFailed
	StatusInterrupted            = api.StatusInterrupted
	StatusCancelled              = api.StatusCancelled
	SessionIdle                  = api.SessionIdle
	SessionEnded                 = api.SessionEnded
)

// The decisions about an approval.
const (
	BehaviorAllow = api.BehaviorAllow
	BehaviorDeny  = api.BehaviorDeny
)

// The outcomes of requests.
const (
	OutcomeAllowed   = api.OutcomeAllowed
	OutcomeDenied    = api.OutcomeDenied
	OutcomeAnswered  = api.OutcomeAnswered
	OutcomeDeclined  = api.OutcomeDeclined
	OutcomeCancelled = api.OutcomeCancelled
	OutcomeExpired   = api.OutcomeExpired
)

// The kinds of runs.
const (
	// KindInput: made by a caller's input.
	KindInput = api.KindInput
	// KindParentClarification: a question that a child's run asks.
	KindParentClarification = api.KindParentClarification
)

// The states of messages that a mailbox shows.
const (
	MessagePending    = api.MessagePending
	MessageDeadLetter = api.MessageDeadLetter
)

// The states of effects.
const (
	EffectPending = api.EffectPending
	EffectDone    = api.EffectDone
	EffectFailed  = api.EffectFailed
)

// EncodeJSON returns a Go value as JSON text. A [JSON] is returned as it is. The
// error says what in the value has no JSON form.
func EncodeJSON(value any) (JSON, error) {
	if text, ok := value.(JSON); ok && text != nil {
		return text, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return text, nil
}
