// Package canonical makes the RFC 8785 form of JSON values, but for integers that a double would round:
// they keep their digits, so that no two of them have one form. It is jsontext's Canonicalize, which reads
// a value three times, for what that may change; the rest is taken as it is written. Most of what
// callers bring is text without escapes. It must not know what the values are about.
package canonical

import (
	"bytes"
	"errors"
	"io"
	"slices"

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
	switch text[0] {
	case 't', 'f', 'n':
		return text, nil
	case '"':
		if bytes.IndexByte(text, '\\') < 0 {
			return text, nil
		}
	}
	changed, ok := formOf(text)
	if !ok {
		var err error
		if changed, err = canonicalize(text); err != nil {
			return nil, err
		}
	}
	if bytes.Equal(text, changed) {
		return text, nil
	}
	return changed, nil
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
	// A decoder reads a bytes.Buffer in place, so that what it returns is a part of the text.
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, errors.New("not an object")
	}
	part := func() ([]byte, error) {
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		end := decoder.InputOffset()
		return object[end-int64(len(value)) : end : end], nil
	}
	var members []Member
	for decoder.PeekKind() == '"' {
		name, err := part()
		if err != nil {
			return nil, err
		}
		value, err := part()
		if err != nil {
			return nil, err
		}
		members = append(members, Member{name, value})
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	if trailing := bytes.TrimLeft(object[decoder.InputOffset():], " \t\r\n"); len(trailing) > 0 {
		return nil, errors.New("there is more behind it")
	}
	return members, nil
}

// Split is [Members] for an object that the encoder has written: valid, without white space between
// its tokens. It returns nil for any other value.
func Split(object []byte) []Member {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	var members []Member
	for f := (form{text: object, at: 1}); f.next() == '"'; f.at++ {
		from := f.at
		endOfName, _, _ := f.endOfString()
		f.at = endOfName + len(":")
		f.skip()
		members = append(members, Member{object[from:endOfName:endOfName], object[endOfName+len(":") : f.at : f.at]})
	}
	return members
}

// Count returns how many members a valid object has.
func Count(object []byte) (count int64) {
	for f := (form{text: object, at: 1}); f.next() == '"'; f.at++ {
		f.skip()
		count++
	}
	return count
}

// Object returns the RFC 8785 form of an object with such members, whose order and values it may change
// to that. It returns an error when there is no such form.
func Object(members []Member) ([]byte, error) {
	// The order is that of UTF-16. It is that of bytes while names are ASCII without escapes.
	plain := !slices.ContainsFunc(members, func(m Member) bool { return !isPlain(m.Name) })
	if plain {
		slices.SortFunc(members, func(a, b Member) int { return bytes.Compare(unquoted(a.Name), unquoted(b.Name)) })
	}
	size := len("{}")
	for i := range members {
		m := &members[i]
		if plain {
			value, err := Value(m.Value)
			if err != nil {
				return nil, err
			}
			m.Value = value
		}
		size += len(m.Name) + len(m.Value) + len(":,")
	}
	object := append(make(jsontext.Value, 0, size), '{')
	for i, m := range members {
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, m.Name...), ':'), m.Value...)
	}
	object = append(object, '}')
	if plain {
		return object, nil
	}
	return canonicalize(object)
}

// canonicalize is jsontext's, but for integers: they are written as they are, and -0 as 0.
func canonicalize(text []byte) ([]byte, error) {
	value := jsontext.Value(withoutMinusZero(text))
	if err := value.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, err
	}
	return value, nil
}

// withoutMinusZero returns a copy of a text in which each number -0 is 0.
func withoutMinusZero(text []byte) []byte {
	changed := make([]byte, 0, len(text))
	for f := (form{text: text}); f.at < len(text); {
		switch c := text[f.at]; {
		case c == '"':
			end, _, _ := f.endOfString()
			changed, f.at = append(changed, text[f.at:end]...), end
		case c == '-' || c >= '0' && c <= '9':
			end, integer := f.endOfNumber()
			if integer && string(text[f.at:end]) == "-0" {
				changed, f.at = append(changed, '0'), end
				continue
			}
			changed, f.at = append(changed, text[f.at:end]...), end
		default:
			changed = append(changed, c)
			f.at++
		}
	}
	return changed
}

// Is reports whether the member has such a name, which JSON writes without escapes.
func (m Member) Is(name string) bool {
	if isPlain(m.Name) {
		return string(unquoted(m.Name)) == name
	}
	text, err := jsontext.AppendUnquote(nil, m.Name)
	return err == nil && string(text) == name
}

// isPlain reports whether a quoted text is ASCII and has no escapes.
func isPlain(quoted []byte) bool {
	return !slices.ContainsFunc(quoted, func(b byte) bool { return b == '\\' || b >= 0x80 })
}

// unquoted returns what a plain text says.
func unquoted(plain []byte) []byte { return plain[1 : len(plain)-1] }
