package relay

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/httpapi/wire"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// member is one member of a JSON object, as its text.
type member struct {
	name  string
	value api.JSON
}

// object is a JSON object with its members in their order. No name stands in it twice.
type object []member

// get returns the value of a member, nil when it is not there.
func (o object) get(name string) api.JSON {
	for i := range o {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// encode returns the object as one line of JSON.
func (o object) encode() (api.JSON, error) {
	var text bytes.Buffer
	// What comes from the log was checked when it came in (see wire.Respond).
	encoder := jsontext.NewEncoder(&text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := encoder.WriteToken(jsontext.BeginObject); err != nil {
		return nil, err
	}
	for i := range o {
		if err := errors.Join(encoder.WriteToken(jsontext.String(o[i].name)), encoder.WriteValue(jsontext.Value(o[i].value))); err != nil {
			return nil, err
		}
	}
	if err := encoder.WriteToken(jsontext.EndObject); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// readObject reads a body. One that is JSON but no object has no members, and so
// misses all that are required. The media type does not matter, as in the original.
func (f *face) readObject(w http.ResponseWriter, r *http.Request) (object, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, f.MaxBodyBytes))
	if err != nil {
		var limit *http.MaxBytesError
		if errors.As(err, &limit) {
			return nil, refusal.New(wire.CodePayloadTooLarge, "the body must have at most %d bytes", limit.Limit)
		}
		return nil, errInvalidJSON
	}
	if err := document.Check(text); err != nil {
		if refusal.CodeOf(err) == api.CodeBadRequest {
			return nil, errInvalidJSON
		}
		return nil, err
	}
	return objectOf(text)
}

// objectOf returns the members of a JSON text that has been checked; none when it is
// no object.
func objectOf(text api.JSON) (object, error) {
	if document.Kind(text) != '{' {
		return nil, nil
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	var members object
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		// A token is good until the next one is read.
		one := member{name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		one.value = api.JSON(value.Clone())
		members = append(members, one)
	}
	return members, nil
}

// truthy reports what JavaScript makes of a value where it wants a boolean, because
// the clients of this face count on it. A value that is absent is not.
func truthy(value api.JSON) bool {
	switch document.Kind(value) {
	case 't', '{', '[':
		return true
	case '"':
		return len(value) > len(`""`)
	case '0':
		number, err := strconv.ParseFloat(string(value), 64)
		return err == nil && number != 0
	default:
		return false
	}
}

// textOf returns a value that is text.
func textOf(value api.JSON) (text string, ok bool) {
	if document.Kind(value) != '"' {
		return "", false
	}
	plain, err := jsontext.AppendUnquote(nil, value)
	return string(plain), err == nil
}

// textValue returns a text as JSON.
func textValue(text string) api.JSON {
	value, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		// Only text that is no UTF-8 comes here; it is quoted with what stands in for it.
		return value
	}
	return value
}
