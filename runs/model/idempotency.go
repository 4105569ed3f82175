package model

// Operation names the calls that share a space of idempotency keys (docs/spec/v1.md#key-scope).
type Operation string

// The operations. OperationDecision is a decision about several requests at once.
const (
	OperationCreateRun      Operation = "run"
	OperationApproval       Operation = "approval"
	OperationQuestion       Operation = "user_question"
	OperationQuestionCancel Operation = "user_question_cancel"
	OperationDecision       Operation = "decision"
	// OperationRelease is what only the holder of a lease does: its release, the redemption of a grant, or the
	// append of events. Its keys are made by the service: from the run and the fence, or of "grant/" or
	// "events/" and the digest of the caller's key.
	OperationRelease Operation = "release"
	// OperationName is the choice of an id: for a new run, or for what of a run follows an event.
	// Its record lasts as long as the run; see [NameKey].
	OperationName Operation = "name"
)

// RecordKey identifies an idempotency record.
type RecordKey struct {
	Operation Operation
	// Scope is the session id, or for a call that names no session "caller/" and the caller, or for
	// a name "name/" and that. A session id has no slash, so they never collide.
	Scope          string
	IdempotencyKey string
}

// IdempotencyRecord remembers a keyed call (docs/spec/v1.md#replay). It is written in the
// transaction of the call's effect, so neither is ever seen without the other. A refused call
// writes none.
type IdempotencyRecord struct {
	RecordKey
	// Fingerprint is the hexadecimal SHA-256 of the RFC 8785 form of {body, operation, target}
	// (docs/spec/v1.md#fingerprint).
	Fingerprint string
	SessionID   string
	RunID       string
	// EventID is the event after which that begins which an [OperationName] names, 0 for the whole
	// run; the last of the events that were appended; and 0 for everything else.
	EventID     int64
	CreatedAtMs int64
}

// NameKey identifies the record of an id that a caller has chosen. No two runs, and no two parts of
// runs, have one name: ids of callers share one space of keys, whatever their session.
func NameKey(name string) RecordKey {
	return RecordKey{Operation: OperationName, Scope: "name/" + name, IdempotencyKey: name}
}
