package document

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// Pointer is a parsed JSON Pointer (RFC 6901).
type Pointer []string

// ParsePointer parses a JSON Pointer: "" for the whole value, else "/" and member names or list
// indexes, with ~1 for / and ~0 for ~. It returns false for any other text.
func ParsePointer(text string) (Pointer, bool) {
	pointer := jsontext.Pointer(text)
	if !pointer.IsValid() {
		return nil, false
	}
	return slices.AppendSeq(Pointer{}, pointer.Tokens()), true
}

// At returns the value at the pointer, nil without one. The document has passed [Check].
func (p Pointer) At(document api.JSON) api.JSON {
	value := document
	for _, name := range p {
		if value = part(value, name); value == nil {
			return nil
		}
	}
	return value
}

// part returns a member of an object or an element of a list, nil if there is none.
func part(value api.JSON, name string) (found api.JSON) {
	_, _ = walk(value, func(at string, part api.JSON) api.JSON {
		if at == name {
			found = part
		}
		return part
	})
	return found
}

// Replace returns the document with another value at the pointer, or the document itself if
// there is none. The rest keeps its text. The document has passed [Check].
func (p Pointer) Replace(document, value api.JSON) api.JSON {
	if len(p) == 0 {
		return value
	}
	replaced, ok := walk(document, func(at string, part api.JSON) api.JSON {
		if at == p[0] {
			return p[1:].Replace(part, value)
		}
		return part
	})
	if !ok {
		return document
	}
	return replaced
}

// walk rebuilds an object or a list from the results of replace, called with each part and its
// name or index. It returns false for any other value.
func walk(value api.JSON, replace func(at string, part api.JSON) api.JSON) (api.JSON, bool) {
	kind := Kind(value)
	if kind != '{' && kind != '[' {
		return nil, false
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, false
	}
	walked := api.JSON{kind}
	for place := 0; ; place++ {
		switch decoder.PeekKind() {
		case '}', ']':
			return append(walked, kind+2), true // the closing bracket is the opening one plus two
		}
		at := strconv.Itoa(place)
		if place > 0 {
			walked = append(walked, ',')
		}
		if kind == '{' {
			name, err := decoder.ReadToken()
			if err != nil {
				return nil, false
			}
			at = name.String()
			walked = appendName(walked, at)
		}
		part, err := decoder.ReadValue()
		if err != nil {
			return nil, false
		}
		walked = append(walked, replace(at, api.JSON(part.Clone()))...)
	}
}
