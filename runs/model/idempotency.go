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
	// OperationRelease covers the calls of a lease's holder (release, redeem a grant, append
	// events) and retries of a run. The service makes their keys: from the run and the fence, or
	// "grant/", "events/" or "retry/" and the digest of the caller's key.
	OperationRelease Operation = "release"
	// OperationName is the choice of an id for a new run, or for the part of a run after an
	// event. Its record lasts as long as the run; see [NameKey].
	OperationName Operation = "name"
)

// RecordKey identifies an idempotency record.
type RecordKey struct {
	Operation Operation
	// Scope is the session id; "caller/" and the caller for a call without a session; or "name/"
	// and the name. Session ids have no slash, so these never collide.
	Scope          string
	IdempotencyKey string
}

// IdempotencyRecord remembers a keyed call (docs/spec/v1.md#replay). It is written in the same
// transaction as the call's effect. A rejected call writes none.
type IdempotencyRecord struct {
	RecordKey
	// Fingerprint is the hexadecimal SHA-256 of the RFC 8785 form of {body, operation, target}
	// (docs/spec/v1.md#fingerprint).
	Fingerprint string
	SessionID   string
	RunID       string
	// EventID depends on the operation. For [OperationName] it is the event before the named
	// part, 0 for the whole run; for appended events it is the last of them. 0 otherwise.
	EventID     int64
	CreatedAtMs int64
}

// NameKey identifies the record of an id chosen by a caller. These ids are unique across all
// sessions: no two runs, or parts of runs, share one.
func NameKey(name string) RecordKey {
	return RecordKey{Operation: OperationName, Scope: "name/" + name, IdempotencyKey: name}
}
