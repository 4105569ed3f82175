// Package canonical makes the RFC 8785 form of JSON values with jsontext, except that integers keep their
// digits: RFC 8785 rounds them to a double, so that two integers beyond 2^53 could share one form. It must
// not know what the values are about.
package canonical

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of an object: its name with the quotes, and its value, as they are written.
type Member struct{ Name, Value []byte }

// Value returns the RFC 8785 form of a value, which must be valid and without white space around it.
// It does not change the text, and returns the text itself when that is the form. It returns an error
// when there is no such form.
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

// Text is [Value] for a text that need not be valid, and may have white space around it.
func Text(text []byte) ([]byte, error) {
	if value := jsontext.Value(text); !value.IsValid() {
		return nil, errors.New("not one JSON value")
	}
	return Value(bytes.TrimSpace(text))
}

// Members returns the members of an object in its order, as parts of its text. It returns an error when
// the text is not exactly one valid object.
func Members(object []byte) ([]Member, error) {
	var members []Member
	err := eachMember(object, func(name, value []byte) { members = append(members, Member{name, value}) })
	return members, err
}

// Count returns how many members a valid object has.
func Count(object []byte) (count int64) {
	// An invalid object counts as far as it can be read.
	_ = eachMember(object, func(_, _ []byte) { count++ })
	return count
}

func eachMember(object []byte, found func(name, value []byte)) error {
	// A decoder reads a bytes.Buffer in place, so that what it returns is a part of the text.
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return errors.New("not an object")
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
		return errors.New("there is more behind it")
	}
	return nil
}

// Object returns the RFC 8785 form of an object with such members. It returns an error when there is no
// such form.
func Object(members []Member) ([]byte, error) {
	object := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, m.Name...), ':'), m.Value...)
	}
	return Value(append(object, '}'))
}

// withoutMinusZero returns a copy of a valid text in which each number -0 is 0: RFC 8785 has no -0, and
// jsontext keeps the sign of integers that it does not round.
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

// Is reports whether the member has such a name.
func (m Member) Is(name string) bool {
	text, err := jsontext.AppendUnquote(nil, m.Name)
	return err == nil && string(text) == name
}
