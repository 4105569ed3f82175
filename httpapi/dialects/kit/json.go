package kit

import (
	"bytes"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
)

// encoding is for documents that were checked on the way in and are not checked again.
var encoding = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value api.JSON
}

// MemberOf returns a member with the value encoded as JSON. An [api.JSON] stays unchanged.
func MemberOf(name string, value any) Member {
	if text, ok := value.(api.JSON); ok {
		return Member{name, text}
	}
	return Member{name, Encode(value)}
}

// Object is a JSON object that keeps the order of its members.
type Object []Member

// Members yields an object's members in order, and nothing for other values. The value must be
// valid JSON.
func Members(value api.JSON) iter.Seq2[string, api.JSON] {
	return func(yield func(string, api.JSON) bool) {
		if document.Kind(value) != '{' {
			return
		}
		decoder := jsontext.NewDecoder(bytes.NewReader(value), encoding)
		if _, err := decoder.ReadToken(); err != nil {
			return
		}
		for decoder.PeekKind() == '"' {
			token, err := decoder.ReadToken()
			if err != nil {
				return
			}
			name := token.String() // a token is valid only until the next read
			member, err := decoder.ReadValue()
			if err != nil || !yield(name, api.JSON(member.Clone())) {
				return
			}
		}
	}
}

// ObjectOf returns an object's members, nil for other values.
func ObjectOf(value api.JSON) Object {
	var object Object
	for name, member := range Members(value) {
		object = append(object, Member{name, member})
	}
	return object
}

// Get returns a member's value, or nil.
func (o Object) Get(name string) api.JSON {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// JSON encodes the object without white space. Strings are in their shortest form unless options
// say otherwise.
func (o Object) JSON(options ...jsontext.Options) api.JSON {
	var text bytes.Buffer
	encoder := jsontext.NewEncoder(&text, append(options, encoding)...)
	must(encoder.WriteToken(jsontext.BeginObject))
	for i := range o {
		must(encoder.WriteToken(jsontext.String(o[i].Name)))
		if o[i].Value == nil {
			must(encoder.WriteToken(jsontext.Null))
			continue
		}
		must(encoder.WriteValue(jsontext.Value(o[i].Value)))
	}
	must(encoder.WriteToken(jsontext.EndObject))
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// Join joins objects. Of several members with one name, the first counts.
func Join(objects ...Object) Object {
	joined, seen := Object{}, map[string]bool{}
	for _, object := range objects {
		for _, member := range object {
			if !seen[member.Name] {
				seen[member.Name] = true
				joined = append(joined, member)
			}
		}
	}
	return joined
}

// Get returns the value at a path of names, or nil.
func Get(value api.JSON, path ...string) api.JSON {
	for _, step := range path {
		var found api.JSON
		for name, member := range Members(value) {
			if name == step {
				found = member
				break
			}
		}
		value = found
	}
	return value
}

// Elements returns an array's elements, nil for other values.
func Elements(value api.JSON) []api.JSON {
	var list []api.JSON
	if document.Kind(value) != '[' || json.Unmarshal(value, &list, encoding) != nil {
		return nil
	}
	return list
}

// Text returns a string value, "" for other values.
func Text(value api.JSON) string {
	var plain string
	if document.Kind(value) != '"' || json.Unmarshal(value, &plain, encoding) != nil {
		return ""
	}
	return plain
}

// Texts returns an array's strings. ok is false for other values.
func Texts(value api.JSON) (list []string, ok bool) {
	if document.Kind(value) != '[' {
		return nil, false
	}
	list = []string{}
	for _, element := range Elements(value) {
		if document.Kind(element) != '"' {
			return nil, false
		}
		list = append(list, Text(element))
	}
	return list, true
}

// Label returns a value for people: a string unchanged, anything else as JSON on one line.
func Label(value api.JSON) string {
	if document.Kind(value) == '"' {
		return Text(value)
	}
	return Compact(value)
}

// Compact returns a value without white space.
func Compact(value api.JSON) string {
	short := jsontext.Value(slices.Clone(value))
	if short.Compact(encoding) != nil {
		return string(value)
	}
	return string(short)
}

// Encode encodes a dialect's document. It panics for a value without a JSON form, which strings,
// numbers and valid JSON always have.
func Encode(value any) api.JSON {
	text, err := json.Marshal(value, encoding)
	must(err)
	return text
}

// Decode decodes a document that was checked on the way in.
func Decode(text api.JSON, into any) error { return json.Unmarshal(text, into, encoding) }

// OrNull returns a pointer to a text, nil (null on the wire) when it is empty.
func OrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func must(err error) {
	if err != nil {
		panic("a document of a dialect has no JSON form: " + err.Error())
	}
}
