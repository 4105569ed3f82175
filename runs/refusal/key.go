package refusal

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

// CheckIdempotencyKey returns the key without surrounding white space
// (docs/spec/v1.md#idempotency-key). It returns invalid_idempotency_key if the key is then
// empty, has more than 256 bytes, is not UTF-8, or has control characters. The faces check that
// the header is ASCII.
func CheckIdempotencyKey(key string) (string, error) {
	trimmed := strings.TrimSpace(key)
	switch {
	case trimmed == "":
		return "", New(api.CodeInvalidIdempotencyKey, "the idempotency key must not be empty")
	case len(trimmed) > api.MaxIdempotencyKeyLength:
		return "", New(api.CodeInvalidIdempotencyKey, "the idempotency key must have at most %d bytes", api.MaxIdempotencyKeyLength)
	case !utf8.ValidString(trimmed):
		return "", New(api.CodeInvalidIdempotencyKey, "the idempotency key must be UTF-8")
	case strings.ContainsFunc(trimmed, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }):
		return "", New(api.CodeInvalidIdempotencyKey, "the idempotency key must not hold control characters")
	}
	return trimmed, nil
}
