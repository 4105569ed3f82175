package runs

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// AskClarification lets a child run ask its parent's session. The request stands in
// the child's session at once, and an effect makes the clarification's run in the
// parent's session; see [Ask], which does both before it returns.
//
// Reply: Run, Clarification, Open, and Existing when the run asked the same before.
// Errors: run_not_found, lease_lost, run_state_conflict, no_parent_session, what
// ParentRefusal says, invalid_request; id_conflict when the request id was used before
// in the session's clarifications or in the run, with another payload.
type AskClarification struct {
	RunID   string
	Fence   int64
	Request api.UserQuestionRequest
	// Park also suspends the run until the answer; its lease ends.
	Park bool
	// Checkpoint is stored with the parking; see Suspension.
	Checkpoint api.JSON
	// Context of the two sides, shown with the question (decisions.md 35).
	RequesterProjectIDs []string
	RequesterChannelIDs []string
	ParentProjectIDs    []string
	ParentChannelIDs    []string
	// ParentRefusal is why the parent's session takes no question, as far as the
	// caller knows, or nil. It refuses what was not asked before.
	ParentRefusal *refusal.Error

	digest             string
	clarificationRunID string
	suspensionID       string
}

// OpenClarification makes the clarification's run, which waits at once and takes no
// slot. Only the effect of an AskClarification gives this command; its run id makes
// it idempotent.
//
// Reply: Run and Existing. Errors: session_not_found; session_ended; id_conflict.
type OpenClarification struct {
	SessionID string
	RunID     string
	Request   api.UserQuestionRequest
	Requester api.Requester

	digest string
}

// DeliverAnswer brings the answer of a clarification into the child's session: a
// message, and the resolution that a parked run resumes with. Only effects give this
// command; the message's id makes it idempotent.
//
// Reply: Messages holds the message; Existing. Errors: session_not_found,
// run_not_found.
type DeliverAnswer struct {
	SessionID     string
	RunID         string // that asked
	RequestID     string
	FromSessionID string
	Message       api.JSON // the message's payload
	Resolution    api.JSON // the Resolution as it was recorded in the parent's session
}

// ReadMailbox reads a session's messages, oldest first, at most
// MaxMailboxMessages. Reading leases a pending message for MessageLeaseMs: until
// then, no other reading shows it. Dead letters are shown whenever they are asked
// for.
//
// Reply: Messages. Errors: session_not_found.
type ReadMailbox struct {
	SessionID   string
	DeadLetters bool
}

// AcknowledgeMessage takes a message out of the mailbox, or out of the dead letters,
// for good.
//
// Reply: Messages holds it; Existing. Errors: session_not_found, message_not_found.
type AcknowledgeMessage struct {
	SessionID string
	MessageID string
}

// ReplayMessage puts a dead letter back into the mailbox, unless the child is over:
// then it is dead-lettered again (decisions.md 35).
//
// Reply: Messages holds it; Existing when it is in the mailbox already. Errors:
// session_not_found, message_not_found.
type ReplayMessage struct {
	SessionID string
	MessageID string
}

// ClaimEffect takes the lease of an effect that is due.
//
// Reply: Effect and NowMs, or Existing when there is nothing to do now. Errors:
// effect_not_found.
type ClaimEffect struct {
	SessionID string
	EffectID  string
}

// FinishEffect reports how an attempt of an effect went: well when Error is empty.
// A failure of an older attempt than the newest changes nothing.
//
// Reply: Effect, Existing. Errors: effect_not_found.
type FinishEffect struct {
	SessionID string
	EffectID  string
	Attempt   int64
	Error     string
	// Permanent: trying again will not help.
	Permanent bool
}

// RetryEffect lets an effect be tried at once, also one that was given up.
//
// Reply: Effect, and Existing when it is done or due already. Errors:
// session_not_found, effect_not_found.
type RetryEffect struct {
	SessionID string
	EffectID  string
}
