package sqlite

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
)

// What is empty in Go is NULL in a column that may be absent. The types below read
// such columns; the functions write them.

type textOrEmpty string

// Scan implements [database/sql.Scanner].
func (t *textOrEmpty) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*t = ""
	case string:
		*t = textOrEmpty(value)
	default:
		return fmt.Errorf("text column holds %T", value)
	}
	return nil
}

type integerOrZero int64

// Scan implements [database/sql.Scanner].
func (i *integerOrZero) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*i = 0
	case int64:
		*i = integerOrZero(value)
	default:
		return fmt.Errorf("integer column holds %T", value)
	}
	return nil
}

// jsonText reads JSON text as it was given, byte for byte.
type jsonText []byte

// Scan implements [database/sql.Scanner].
func (d *jsonText) Scan(value any) error {
	switch value := value.(type) {
	case nil:
		*d = nil
	case string:
		*d = jsonText(value)
	default:
		return fmt.Errorf("document column holds %T", value)
	}
	return nil
}

func orNull[T ~string | ~int64](value T) any {
	var zero T
	if value == zero {
		return nil
	}
	return value
}

// documentOrNull writes JSON as TEXT: bytes would be stored as a BLOB.
func documentOrNull(value api.JSON) any {
	if value == nil {
		return nil
	}
	return string(value)
}

// jsonList returns the argument of json_each.
func jsonList(values any) (string, error) {
	text, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("encode list: %w", err)
	}
	return string(text), nil
}
