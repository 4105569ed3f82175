package wire

import (
	"net/http"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ReplayedHeader is set to "true" on the answer to a call that was seen before.
const ReplayedHeader = "Idempotency-Replayed"

// IdempotencyKey returns the key of a call, trimmed and checked, or "" when it has
// none. It comes from the Idempotency-Key header, as a quoted structured-field
// string or bare, or from the body, where nil means that the member was absent.
//
// Errors: invalid_idempotency_key when a key is empty, too long, holds control
// characters, is not ASCII in the header, or when header and body differ
// (design.md §3, decisions.md 29).
func IdempotencyKey(header http.Header, inBody *string) (string, error) {
	values := header["Idempotency-Key"]
	if len(values) == 0 && inBody == nil {
		return "", nil
	}
	key, given := "", false
	for _, value := range values {
		one, err := headerKey(value)
		if err != nil {
			return "", err
		}
		if given && one != key {
			return "", invalidKey("the Idempotency-Key header was given twice with different keys")
		}
		key, given = one, true
	}
	if inBody == nil {
		return key, nil
	}
	one, err := refusal.CheckIdempotencyKey(*inBody)
	if err != nil {
		return "", err
	}
	if given && one != key {
		return "", invalidKey("Idempotency-Key header and idempotency_key body field differ")
	}
	return one, nil
}

func headerKey(value string) (string, error) {
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if value[i] >= 0x80 {
			return "", invalidKey("the Idempotency-Key header must be ASCII")
		}
	}
	if strings.HasPrefix(value, `"`) {
		text, ok := structuredString(value)
		if !ok {
			return "", invalidKey("the Idempotency-Key header begins with a quote and is no structured-field string")
		}
		value = text
	}
	return refusal.CheckIdempotencyKey(value)
}

// structuredString reads an RFC 8941 string without parameters.
func structuredString(value string) (string, bool) {
	if len(value) < 2 || value[len(value)-1] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	if !strings.ContainsAny(inner, `"\`) {
		return inner, true
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '"':
			return "", false
		case '\\':
			i++
			if i == len(inner) || inner[i] != '"' && inner[i] != '\\' {
				return "", false
			}
		}
		b.WriteByte(inner[i])
	}
	return b.String(), true
}

func invalidKey(detail string) error {
	return refusal.New(api.CodeInvalidIdempotencyKey, "%s", detail)
}
