package client

import (
	"fmt"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/holdpoint/holdpoint/api"
)

// EncodeJSON returns a Go value as JSON text: an [api.JSON] unchanged, a time.Duration as its
// nanoseconds. The error names the part of the value that has no JSON form.
func EncodeJSON(value any) (api.JSON, error) {
	if text, ok := value.(api.JSON); ok && text != nil {
		return text, nil
	}
	text, err := json.Marshal(value, jsonv1.FormatDurationAsNano(true))
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return text, nil
}

// decodeJSON decodes what a handler reads. Names match as in encoding/json, because
// [api.Resume.Approved] reads the same inputs with it: a member that only one of the two finds
// would be a zero value in the other. It also reads a time.Duration as encoding/json does.
func decodeJSON(text api.JSON, into any) error {
	return json.Unmarshal(text, into,
		json.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true), jsonv1.FormatDurationAsNano(true))
}
