package kit

import (
	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// Enum is the set of the values that a schema lists, by KeyOf.
type Enum map[string]bool

// EnumOf returns the values that a schema, or the schema of its items, lists.
func EnumOf(schema api.JSON) Enum {
	named := Enum{}
	for _, path := range [][]string{{"enum"}, {"items", "enum"}} {
		for _, value := range Elements(Get(schema, path...)) {
			named[KeyOf(value)] = true
		}
	}
	return named
}

// ValueOf returns what a selected option {label, id?, value?} in the payload of a typed question stands
// for: its value, else its id, else its label. If only the label is in the schema's enum, it is the label.
// It is nil for an option without any of them.
func (e Enum) ValueOf(option api.JSON) api.JSON {
	if value := Get(option, "value"); value != nil {
		return value
	}
	id, label := Get(option, "id"), Get(option, "label")
	if id == nil || e[KeyOf(label)] && !e[KeyOf(id)] {
		return label
	}
	return id
}

// KeyOf returns a value as text that is the same however a string is escaped.
func KeyOf(value api.JSON) string {
	if document.Kind(value) == '"' {
		return `"` + Text(value)
	}
	return Compact(value)
}
