package runs

import (
	"encoding/base32"

	"github.com/google/uuid"
)

// IDSource returns a new id with the given prefix. It is a parameter so that tests get the same
// ids in every run.
type IDSource func(prefix string) string

// Prefixes of generated ids (docs/spec/v1.md#ids).
const (
	PrefixSession    = "session"
	PrefixRun        = "run"
	PrefixSuspension = "suspension"
	PrefixHandle     = "request"
	PrefixRule       = "rule"
	PrefixDrain      = "drain"
	// PrefixIntake begins the ids of an [Intake].
	PrefixIntake = "intake"
)

// crockford is Crockford's base 32 in lower case. Encoded texts sort like their values.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID is the [IDSource] for production: prefix, underscore, and a version 7 UUID in 26
// lower-case characters. Later ids sort after earlier ones, so that indexes grow at their end.
// It panics when the operating system has no randomness.
func NewID(prefix string) string {
	id, err := uuid.NewV7()
	if err != nil {
		panic("runs: the operating system has no randomness: " + err.Error())
	}
	text := make([]byte, 0, 64)
	text = append(append(text, prefix...), '_')
	return string(crockford.AppendEncode(text, id[:]))
}
