package runs

import (
	"encoding/base32"

	"github.com/google/uuid"
)

// IDSource makes a fresh identifier with the given prefix. The door is handed
// one, so that tests can make identifiers that repeat from run to run.
type IDSource func(prefix string) string

// Prefixes of the identifiers that the service makes itself.
const (
	PrefixSession    = "session"
	PrefixRun        = "run"
	PrefixSuspension = "suspension"
	PrefixHandle     = "request"
	PrefixRule       = "rule"
)

var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID is the [IDSource] of production: prefix, underscore, and a version 7 UUID
// in 26 lower-case characters, so that later identifiers sort after earlier ones
// and indexes grow at their end.
func NewID(prefix string) string {
	id, err := uuid.NewV7()
	if err != nil {
		panic("runs: the operating system has no randomness: " + err.Error())
	}
	return prefix + "_" + crockford.EncodeToString(id[:])
}
