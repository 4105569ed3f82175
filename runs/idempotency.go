package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

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

// fingerprint hashes a canonical body together with the operation and the target.
// The three are put together in the order of RFC 8785. The target is an id, whose
// characters need no escaping.
func fingerprint(operation Operation, target string, canonicalBody []byte) string {
	var b strings.Builder
	b.Grow(len(canonicalBody) + len(target) + 64)
	b.WriteString(`{"body":`)
	b.Write(canonicalBody)
	b.WriteString(`,"operation":"` + string(operation) + `","target":"` + target + `"}`)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

// CheckIdempotencyKey trims a key and returns it. It returns an [Error] with code
// invalid_idempotency_key when the key is empty, longer than 256 bytes, no UTF-8, or
// holds control characters.
func CheckIdempotencyKey(key string) (string, error) {
	trimmed := strings.TrimSpace(key)
	switch {
	case trimmed == "":
		return "", newError(CodeInvalidIdempotencyKey, "the idempotency key must not be empty")
	case len(trimmed) > MaxIdempotencyKeyLength:
		return "", newError(CodeInvalidIdempotencyKey, "the idempotency key must have at most %d bytes", MaxIdempotencyKeyLength)
	case !utf8.ValidString(trimmed):
		return "", newError(CodeInvalidIdempotencyKey, "the idempotency key must be UTF-8")
	case strings.ContainsFunc(trimmed, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }):
		return "", newError(CodeInvalidIdempotencyKey, "the idempotency key must not hold control characters")
	}
	return trimmed, nil
}
