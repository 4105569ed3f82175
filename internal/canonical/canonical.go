// Package canonical formats JSON values by RFC 8785, except that integers keep their digits. RFC
// 8785 rounds integers to a double, so two integers beyond 2^53 could have the same form. The
// package must not know the meaning of the values.
package canonical

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of an object: its quoted name and its value, as written.
type Member struct{ Name, Value []byte }

// Text returns the name of a valid member, without quotes and escapes.
func (m Member) Text() string {
	text, _ := jsontext.AppendUnquote(nil, m.Name)
	return string(text)
}

// Value returns the RFC 8785 form of a valid value without surrounding white space. It does not
// modify the text, and returns the text itself if that is already the form. It returns an error if
// there is no such form.
func Value(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	form := jsontext.Value(withoutMinusZero(text))
	if err := form.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, err
	}
	if bytes.Equal(text, form) {
		return text, nil
	}
	return form, nil
}

// Text is [Value] for a text that may be invalid or have surrounding white space.
func Text(text []byte) ([]byte, error) {
	if value := jsontext.Value(text); !value.IsValid() {
		return nil, errors.New("not one JSON value")
	}
	return Value(bytes.TrimSpace(text))
}

// Members returns the members of an object in order, as parts of its text. It returns an error
// unless the text is exactly one valid object.
func Members(object []byte) ([]Member, error) {
	var members []Member
	err := eachMember(object, func(name, value []byte) { members = append(members, Member{name, value}) })
	return members, err
}

// Count returns the number of members of a valid object.
func Count(object []byte) (count int64) {
	// An invalid object counts up to its first error.
	_ = eachMember(object, func(_, _ []byte) { count++ })
	return count
}

func eachMember(object []byte, found func(name, value []byte)) error {
	// A decoder reads a bytes.Buffer in place, so its results are parts of the text.
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object))
	switch token, err := decoder.ReadToken(); {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case err != nil || token.Kind() != '{':
		return errors.New("is not a JSON object")
	}
	part := func() ([]byte, error) {
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		end := decoder.InputOffset()
		return object[end-int64(len(value)) : end : end], nil
	}
	for decoder.PeekKind() == '"' {
		name, err := part()
		if err != nil {
			return err
		}
		value, err := part()
		if err != nil {
			return err
		}
		found(name, value)
	}
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	if trailing := bytes.TrimLeft(object[decoder.InputOffset():], " \t\r\n"); len(trailing) > 0 {
		return errors.New("has extra text after the JSON object")
	}
	return nil
}

// Object returns the RFC 8785 form of an object with these members. It returns an error if there is
// no such form.
func Object(members []Member) ([]byte, error) { return Value(Join(members)) }

// Join returns an object with these members, as written.
func Join(members []Member) []byte {
	object := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, m.Name...), ':'), m.Value...)
	}
	return append(object, '}')
}

// withoutMinusZero returns a copy of a valid text with each number -0 replaced by 0. RFC 8785 has
// no -0, but jsontext keeps the sign of integers that it does not round.
func withoutMinusZero(text []byte) []byte {
	changed := make([]byte, 0, len(text))
	inString, kept := false, 0
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case inString && c == '\\':
			at++
		case c == '"':
			inString = !inString
		case !inString && c == '-' && isMinusZero(text[at:]):
			changed, kept = append(changed, text[kept:at]...), at+1
		}
	}
	return append(changed, text[kept:]...)
}

// isMinusZero reports whether a text begins with the integer -0.
func isMinusZero(text []byte) bool {
	return len(text) > 1 && text[1] == '0' && (len(text) == 2 || bytes.IndexByte([]byte(" \t\r\n,]}"), text[2]) >= 0)
}

// Is reports whether the member has this name.
func (m Member) Is(name string) bool {
	text, err := jsontext.AppendUnquote(nil, m.Name)
	return err == nil && string(text) == name
}
