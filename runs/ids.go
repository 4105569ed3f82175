package runs

import (
	"encoding/base32"
	"strings"
	"unicode/utf8"

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

// Limits of identifiers and keys, in bytes.
const (
	MaxIDLength             = 200
	MaxIdempotencyKeyLength = 256
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

// ValidID reports whether a caller may use the text as an identifier: 1 to 200
// characters of A-Z a-z 0-9 . _ : - but not "." or ".." (v1-work.md).
func ValidID(id string) bool {
	if id == "" || len(id) > MaxIDLength || id == "." || id == ".." {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// validText reports whether free text may be stored in a column of its own: UTF-8,
// no control characters but tab and line breaks, and at most limit bytes.
func validText(text string, limit int) bool {
	return len(text) <= limit && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f
	})
}
