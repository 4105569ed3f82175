package codex

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// What is written here was checked when it came in (see wire.Respond).
var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// members returns the members of an object in the order in which they stand, and
// nothing when the value is no object. The value is JSON that was checked before.
func members(value api.JSON) iter.Seq2[string, api.JSON] {
	return func(yield func(string, api.JSON) bool) {
		if document.Kind(value) != '{' {
			return
		}
		decoder := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true))
		if _, err := decoder.ReadToken(); err != nil {
			return
		}
		for decoder.PeekKind() == '"' {
			name, err := decoder.ReadToken()
			if err != nil {
				return
			}
			// The token is good only until the next read.
			text := name.String()
			member, err := decoder.ReadValue()
			if err != nil || !yield(text, api.JSON(member.Clone())) {
				return
			}
		}
	}
}

// elements returns the elements of an array, and nothing of another value.
func elements(value api.JSON) []api.JSON {
	var list []api.JSON
	if document.Kind(value) != '[' || json.Unmarshal(value, &list, encoding) != nil {
		return nil
	}
	return list
}

// member returns a member of an object, nil when there is none.
func member(value api.JSON, name string) api.JSON {
	for at, found := range members(value) {
		if at == name {
			return found
		}
	}
	return nil
}

// text returns a value that is a text, and "" for any other.
func text(value api.JSON) string {
	var plain string
	if document.Kind(value) != '"' || json.Unmarshal(value, &plain, encoding) != nil {
		return ""
	}
	return plain
}

// texts returns the elements of an array that holds texts alone.
func texts(value api.JSON) (list []string, ok bool) {
	if document.Kind(value) != '[' {
		return nil, false
	}
	list = []string{}
	for _, element := range elements(value) {
		if document.Kind(element) != '"' {
			return nil, false
		}
		list = append(list, text(element))
	}
	return list, true
}

// isTrue reports whether a value is true itself.
func isTrue(value api.JSON) bool { return document.Kind(value) == 't' }

// object is a JSON object that is being put together. A name that is there already
// keeps its value.
type object struct {
	text  bytes.Buffer
	names map[string]bool
}

func (o *object) put(name string, value any) {
	if o.names[name] {
		return
	}
	if o.names == nil {
		o.names = map[string]bool{}
	}
	o.names[name] = true
	if o.text.Len() == 0 {
		o.text.WriteByte('{')
	} else {
		o.text.WriteByte(',')
	}
	o.text.Write(encode(name))
	o.text.WriteByte(':')
	o.text.Write(encode(value))
}

// putText leaves an empty text away.
func (o *object) putText(name, value string) {
	if value != "" {
		o.put(name, value)
	}
}

// json returns the object; nothing may be put into it afterwards.
func (o *object) json() api.JSON {
	if o.text.Len() == 0 {
		return api.JSON("{}")
	}
	o.text.WriteByte('}')
	return o.text.Bytes()
}

// encode writes a document of this package, all of which have a JSON form.
func encode(value any) api.JSON {
	written, err := json.Marshal(value, encoding)
	if err != nil {
		panic("codex: a document has no JSON form: " + err.Error())
	}
	return written
}

// pretty returns a value as people read it, in the form of JSON.stringify(value,
// null, 2).
func pretty(value any) string {
	written := jsontext.Value(encode(value))
	if err := written.Indent(jsontext.WithIndent("  "), encoding); err != nil {
		return string(written)
	}
	return strings.TrimSpace(string(written))
}

// compact returns a value on one line.
func compact(value api.JSON) string {
	written := jsontext.Value(slices.Clone(value))
	if err := written.Compact(encoding); err != nil {
		return string(value)
	}
	return string(written)
}

// isoTime returns a moment as the contract writes it, with milliseconds and in UTC.
func isoTime(atMs int64) string {
	return time.UnixMilli(atMs).UTC().Format("2006-01-02T15:04:05.000Z")
}
