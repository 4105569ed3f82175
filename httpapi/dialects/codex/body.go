package codex

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/dialects/kit"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
)

// decode reads a body that must be an object. An absent member is nil, and a null member is "null".
// Errors: an issue for a missing body, and errors of [wire.Decode].
func (f *face) decode(w http.ResponseWriter, r *http.Request, into any) error {
	if r.ContentLength == 0 && len(r.Header["Content-Type"]) == 0 {
		return invalid(mistyped("", nil))
	}
	return wire.Decode(w, r, f.MaxBodyBytes, into)
}

// choose reads a member with a fixed set of texts. It returns issues for any other value.
func choose(value api.JSON, name string, options ...string) (chosen string, issues []issue) {
	expected := "'" + strings.Join(options, "' | '") + "'"
	if document.Kind(value) != '"' {
		return "", []issue{mistyped(expected, value, name)}
	}
	chosen = kit.Text(value)
	if slices.Contains(options, chosen) {
		return chosen, nil
	}
	return "", []issue{{
		"invalid_enum_value",
		[]any{name},
		fmt.Sprintf("Invalid enum value. Expected %s, received '%s'", expected, wire.Shown(chosen)),
	}}
}

// mistyped returns the issue of a value with the wrong type.
func mistyped(expected string, value api.JSON, path ...any) issue {
	if path == nil {
		path = []any{}
	}
	if value == nil {
		return issue{"invalid_type", path, "Required"}
	}
	return issue{"invalid_type", path, "Expected " + expected + ", received " + typeName(value)}
}

// typeName returns the name of a value's type.
func typeName(value api.JSON) string {
	switch document.Kind(value) {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '[':
		return "array"
	case '{':
		return "object"
	default:
		return "undefined"
	}
}
