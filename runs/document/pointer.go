package document

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
)

// Pointer is a JSON Pointer (RFC 6901), read.
type Pointer []string

// ParsePointer reads a JSON Pointer: "" for the whole value, else "/" and names or places in lists,
// with ~1 for / and ~0 for ~. It returns false for any other text.
func ParsePointer(text string) (Pointer, bool) {
	if text == "" {
		return Pointer{}, true
	}
	if text[0] != '/' {
		return nil, false
	}
	names := strings.Split(text[1:], "/")
	for i, name := range names {
		rest := strings.NewReplacer("~0", "", "~1", "").Replace(name)
		if strings.Contains(rest, "~") {
			return nil, false
		}
		names[i] = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
	}
	return names, true
}

// At returns the value that the pointer names, nil when there is none. The document has passed
// [Check].
func (p Pointer) At(document api.JSON) api.JSON {
	value := document
	for _, name := range p {
		if value = part(value, name); value == nil {
			return nil
		}
	}
	return value
}

// part returns a member of an object or an element of a list, nil when it has none of that name.
func part(value api.JSON, name string) (found api.JSON) {
	_, _ = walk(value, func(at string, part api.JSON) api.JSON {
		if at == name {
			found = part
		}
		return part
	})
	return found
}

// Replace returns the document with another value where the pointer points to one, and else the
// document itself. All the rest stays as it is written. The document has passed [Check].
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

// walk returns an object or a list with what replace returns for each of its parts, which it calls
// with the name or the place. It returns false for any other value.
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
			return append(walked, kind+2), true // the bracket that closes is two behind
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
