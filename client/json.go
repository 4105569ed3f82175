package client

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// EncodeJSON returns a Go value as JSON text. An [api.JSON] is returned as it is. The
// error says what in the value has no JSON form.
func EncodeJSON(value any) (api.JSON, error) {
	if text, ok := value.(api.JSON); ok && text != nil {
		return text, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return text, nil
}
