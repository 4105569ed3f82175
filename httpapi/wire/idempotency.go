package wire

import (
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// ReplayedHeader is "true" in the reply to a repeated call.
const ReplayedHeader = "Idempotency-Replayed"

var replayed = []string{"true"}

// MarkReplayed tells the caller if the reply is to a repeated call.
func MarkReplayed(w http.ResponseWriter, isReplay bool) {
	if isReplay {
		w.Header()[ReplayedHeader] = replayed
	}
}

// IdempotencyKey returns a call's key, trimmed and validated, or "". It reads the Idempotency-Key
// header, where the key is a structured-field string (RFC 8941) or unquoted, and the body's member,
// which is nil when absent.
//
// Errors: invalid_idempotency_key when a key is empty, too long, has control characters, is not
// ASCII in the header, or differs between header and body.
func IdempotencyKey(header http.Header, inBody *string) (string, error) {
	values := header["Idempotency-Key"]
	if len(values) == 0 && inBody == nil {
		return "", nil
	}
	key, given := "", false
	for _, value := range values {
		inHeader, err := headerKey(value)
		if err != nil {
			return "", err
		}
		if given && inHeader != key {
			return "", invalidKey("the Idempotency-Key header was given twice with different keys")
		}
		key, given = inHeader, true
	}
	if inBody == nil {
		return key, nil
	}
	checked, err := refusal.CheckIdempotencyKey(*inBody)
	if err != nil {
		return "", err
	}
	if given && checked != key {
		return "", invalidKey("Idempotency-Key header and idempotency_key body field differ")
	}
	return checked, nil
}

func headerKey(value string) (string, error) {
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if value[i] >= 0x80 {
			return "", invalidKey("the Idempotency-Key header must be ASCII")
		}
	}
	if strings.HasPrefix(value, `"`) {
		item, err := httpsfv.UnmarshalItem([]string{value})
		text, isText := item.Value.(string)
		if err != nil || !isText || len(item.Params.Names()) > 0 {
			return "", invalidKey("the Idempotency-Key header begins with a quote but is not a structured-field string")
		}
		value = text
	}
	return refusal.CheckIdempotencyKey(value)
}

func invalidKey(detail string) error {
	return refusal.New(api.CodeInvalidIdempotencyKey, "%s", detail)
}
