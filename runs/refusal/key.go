package refusal

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/api"
)

// CheckIdempotencyKey trims a key and returns it. It returns an [Error] with code
// invalid_idempotency_key when the key is empty, longer than 256 bytes, no UTF-8, or
// holds control characters.
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
