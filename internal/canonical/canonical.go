// Package canonical writes JSON values in their RFC 8785 form, except that integers too
// large for a double keep all their digits; otherwise two different integers could get the
// same form. The output equals that of jsontext's Canonicalize, which reads a value three
// times. This package reads it once, because most values are text without escapes. It must
// not know what the values mean.
package canonical

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of an object: its quoted name and its value, as written in the text.
type Member struct{ Name, Value []byte }

// Value returns the RFC 8785 form of a valid value without white space around it. It does
// not change the text, and returns the text itself if that is already the form. It returns
// an error if the value has no such form.
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

// Text is [Value] for a text that may be invalid or have white space around it.
func Text(text []byte) ([]byte, error) {
	if value := jsontext.Value(text); !value.IsValid() {
		return nil, errors.New("not one JSON value")
	}
	return Value(bytes.TrimSpace(text))
}

// Members returns the members of an object in their order, as slices of its text. It
// returns an error unless the text is exactly one valid object.
func Members(object []byte) ([]Member, error) {
	// A decoder reads a bytes.Buffer in place, so the values that it returns are slices of
	// the text.
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

// Split is [Members] for an object written by the encoder: valid, and without white space
// between tokens. It returns nil for any other value.
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

// Count returns the number of members of a valid object.
func Count(object []byte) (count int64) {
	for f := (form{text: object, at: 1}); f.next() == '"'; f.at++ {
		f.skip()
		count++
	}
	return count
}

// Object returns the RFC 8785 form of an object with these members. It may sort and change
// them in place. It returns an error if the object has no such form.
func Object(members []Member) ([]byte, error) {
	// RFC 8785 orders names by UTF-16 code units. For ASCII names without escapes this is
	// the order of their bytes.
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

// canonicalize is jsontext's Canonicalize, but it keeps integers as written and turns -0
// into 0.
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

// Is reports whether the member has the given name, which must need no escapes in JSON.
func (m Member) Is(name string) bool {
	if isPlain(m.Name) {
		return string(unquoted(m.Name)) == name
	}
	text, err := jsontext.AppendUnquote(nil, m.Name)
	return err == nil && string(text) == name
}

// isPlain reports whether a quoted string is ASCII without escapes.
func isPlain(quoted []byte) bool {
	return !slices.ContainsFunc(quoted, func(b byte) bool { return b == '\\' || b >= 0x80 })
}

// unquoted returns a plain string without its quotes.
func unquoted(plain []byte) []byte { return plain[1 : len(plain)-1] }
