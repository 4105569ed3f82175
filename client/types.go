package client

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/runs"
)

// JSON is one JSON value as its text; nil means that the member was absent. Make
// one from a Go value with [EncodeJSON], or by conversion: JSON(`{"a":1}`).
type JSON = runs.JSON

// Documents of the wire. Their members are explained where they are defined.
type (
	// RunView is a run.
	RunView = runs.RunView
	// SessionView is a session.
	SessionView = runs.SessionView
	// SessionSummary is a session in a list.
	SessionSummary = runs.SessionSummaryView
	// RunRequestSummary says who asked for a run.
	RunRequestSummary = runs.RunRequestSummary
	// ActiveRunRef names a session's active run.
	ActiveRunRef = runs.ActiveRunRef
	// LeaseView is a lease as everybody may see it, without its fence.
	LeaseView = runs.LeaseView
	// PendingApprovalView is an open approval with its context.
	PendingApprovalView = runs.PendingApprovalView
	// PendingQuestionView is an open question with its context.
	PendingQuestionView = runs.PendingQuestionView
	// InboxView is what is open in all sessions.
	InboxView = runs.InboxView
	// RunEventEntry is one event of a session's log.
	RunEventEntry = runs.RunEventEntry
	// OutputRecord is a piece of output that a worker gave.
	OutputRecord = runs.OutputRecord

	// ApprovalRequest asks whether one tool call may run.
	ApprovalRequest = runs.ApprovalRequest
	// UserQuestionRequest asks a person structured questions, or for one value.
	UserQuestionRequest = runs.UserQuestionRequest
	// UserQuestion is one structured question.
	UserQuestion = runs.UserQuestion
	// QuestionOption is one choice of a structured question.
	QuestionOption = runs.QuestionOption

	// ApprovalResolution is a decision about one approval, as it is given.
	ApprovalResolution = runs.ApprovalResolution
	// UserQuestionResolution is an answer to a question request, as it is given.
	UserQuestionResolution = runs.UserQuestionResolution
	// UserQuestionAnswer answers one structured question.
	UserQuestionAnswer = runs.UserQuestionAnswer
	// Resolution is what was recorded for a request.
	Resolution = runs.Resolution
	// RecordedDecision is what a caller who came too late is told.
	RecordedDecision = runs.RecordedDecision

	// Claim is what a worker is handed with a run.
	Claim = runs.Claim
	// ClaimedLease is a lease as its holder sees it, with the fence.
	ClaimedLease = runs.ClaimedLease
	// ClaimOptions ask for a lease together with the making of a run.
	ClaimOptions = runs.ClaimOptions
	// Suspension is what a worker wants to wait for.
	Suspension = runs.Suspension
	// Resume is what a run goes on with.
	Resume = runs.Resume
	// SettledApproval is an approval and what was decided about it.
	SettledApproval = runs.SettledApproval
	// SettledQuestion is a question and its answer.
	SettledQuestion = runs.SettledQuestion
	// AnswerForWorker is an answer with its labels and a summary.
	AnswerForWorker = runs.AnswerForWorker
	// LabelledAnswer is the answer to one structured question with its words.
	LabelledAnswer = runs.LabelledAnswer
	// Settled is the reply of an attached wait.
	Settled = runs.Settled

	// ClarificationAnswer is the answer of a parent's session.
	ClarificationAnswer = runs.ClarificationAnswer
	// WaitingOn names the clarification that a parked run waits for.
	WaitingOn = runs.WaitingOn
	// Requester says who asks a parent clarification.
	Requester = runs.Requester
	// Message is a message to a session.
	Message = runs.MessageView
	// MessageState says where a message is.
	MessageState = runs.MessageState
	// Effect is something that a decision in one session owes to another.
	Effect = runs.EffectView
	// EffectKind says what an effect does.
	EffectKind = runs.EffectKind
	// EffectState says how far an effect is.
	EffectState = runs.EffectState

	// Fault names one member of a request and what is wrong with it.
	Fault = runs.Fault
	// Code is the stable name of an error.
	Code = runs.Code
	// Status is where a run or a session stands.
	Status = runs.Status
	// RunKind says what made a run.
	RunKind = runs.RunKind
	// Behavior is the decision about an approval.
	Behavior = runs.Behavior
	// Outcome is what became of a request.
	Outcome = runs.Outcome
)

// The statuses of runs, and those that a session has besides.
const (
	StatusQueued                 = runs.StatusQueued
	StatusRunning                = runs.StatusRunning
	StatusWaitingForApproval     = runs.StatusWaitingForApproval
	StatusWaitingForUserQuestion = runs.StatusWaitingForUserQuestion
	StatusCompleted              = runs.StatusCompleted
	StatusFailed                 = runs.StatusFailed
	StatusInterrupted            = runs.StatusInterrupted
	StatusCancelled              = runs.StatusCancelled
	SessionIdle                  = runs.SessionIdle
	SessionEnded                 = runs.SessionEnded
)

// The decisions about an approval.
const (
	BehaviorAllow = runs.BehaviorAllow
	BehaviorDeny  = runs.BehaviorDeny
)

// The outcomes of requests.
const (
	OutcomeAllowed   = runs.OutcomeAllowed
	OutcomeDenied    = runs.OutcomeDenied
	OutcomeAnswered  = runs.OutcomeAnswered
	OutcomeDeclined  = runs.OutcomeDeclined
	OutcomeCancelled = runs.OutcomeCancelled
	OutcomeExpired   = runs.OutcomeExpired
)

// The kinds of runs.
const (
	// KindInput: made by a caller's input.
	KindInput = runs.KindInput
	// KindParentClarification: a question that a child's run asks.
	KindParentClarification = runs.KindParentClarification
)

// The states of messages that a mailbox shows.
const (
	MessagePending    = runs.MessagePending
	MessageDeadLetter = runs.MessageDeadLetter
)

// The states of effects.
const (
	EffectPending = runs.EffectPending
	EffectDone    = runs.EffectDone
	EffectFailed  = runs.EffectFailed
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
