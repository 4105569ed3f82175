package client

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// EncodeJSON returns a Go value as JSON text. It returns an [api.JSON] unchanged. The error
// names the part of the value that has no JSON form.
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
