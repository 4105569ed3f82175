package model

// Operation is a family of calls that share a key space (design.md §3).
type Operation string

// The operation families.
const (
	OperationCreateRun      Operation = "run"
	OperationApproval       Operation = "approval"
	OperationQuestion       Operation = "user_question"
	OperationQuestionCancel Operation = "user_question_cancel"
	OperationDecision       Operation = "decision"
)

// RecordKey identifies an idempotency record.
type RecordKey struct {
	Operation Operation
	// Scope is the session id; for a call that names no session it is "caller/"
	// and the caller, which no session id can be.
	Scope          string
	IdempotencyKey string
}

// IdempotencyRecord remembers that a keyed call took effect. It is written in the
// transaction of that effect, so there is no moment at which the one is there
// without the other. A refused call leaves none.
type IdempotencyRecord struct {
	RecordKey
	// Fingerprint is the SHA-256, in hexadecimal, of the RFC 8785 form of
	// {body, operation, target}.
	Fingerprint string
	SessionID   string
	RunID       string
	CreatedAtMs int64
}
