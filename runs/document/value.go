package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/canonical"
)

// Value is a JSON value with its RFC 8785 form. Both are computed once, on the caller's time;
// combining values into documents only copies. Do not change either text.
type Value struct {
	Text      api.JSON
	Canonical []byte
}

// ValueOf encodes a value. It returns an error if there is no canonical form.
func ValueOf(value any) (Value, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return Value{}, fmt.Errorf("encode: %w", err)
	}
	return valueOfText(text)
}

// valueOfText returns the value of a text from the encoder.
func valueOfText(text []byte) (Value, error) {
	form, err := canonical.Value(text)
	if err != nil {
		return Value{}, fmt.Errorf("canonical form: %w", err)
	}
	return Value{text, form}, nil
}

// OwnValue is [ValueOf] for the service's own value. It panics if there is no canonical form,
// which is a bug.
func OwnValue(value any) Value {
	own, err := ValueOf(value)
	if err != nil {
		panic(fmt.Sprintf("runs: a domain document has no canonical form: %v", err))
	}
	return own
}

// Integer returns a number, which a double must represent exactly.
func Integer(number int64) Value {
	text := strconv.AppendInt(nil, number, 10)
	return Value{text, text}
}

// Array returns the array of the values.
func Array(values []Value) Value {
	return join('[', ']', len(values), func(at int) ([]byte, *Value) { return nil, &values[at] })
}

// Object is a JSON object as a list of members in RFC 8785 order. The zero value is empty.
type Object []named

type named struct {
	// name includes its quotes.
	name  []byte
	value Value
}

// ObjectOf returns the object that a struct encodes to. It returns an error if there is no
// canonical form, or if the value is not an object.
func ObjectOf(value any) (Object, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	members, err := canonical.Members(text)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	object := make(Object, len(members))
	for i, m := range members {
		value, err := valueOfText(m.Value)
		if err != nil {
			return nil, err
		}
		object[i] = named{m.Name, value}
	}
	slices.SortFunc(object, func(a, b named) int { return bytes.Compare(a.name, b.name) })
	return object, nil
}

// OwnObject is [ObjectOf] for the service's own struct. It panics on an error.
func OwnObject(value any) Object {
	own, err := ObjectOf(value)
	if err != nil {
		panic(fmt.Sprintf("runs: a domain document has no canonical form: %v", err))
	}
	return own
}

// And returns the object with the members of another added.
func (o Object) And(added Object) Object {
	for _, m := range added {
		o = o.with(m)
	}
	return o
}

// With returns the object with a member set. The name must be the service's own, without
// characters that JSON escapes.
func (o Object) With(name string, value Value) Object {
	return o.with(named{[]byte(`"` + name + `"`), value})
}

func (o Object) with(added named) Object {
	place, found := o.find(added.name)
	with := make(Object, 0, len(o)+1)
	with = append(append(with, o[:place]...), added)
	if found {
		place++
	}
	return append(with, o[place:]...)
}

// find returns the position of a quoted name, or where to insert it.
func (o Object) find(name []byte) (place int, found bool) {
	return slices.BinarySearchFunc(o, name, func(m named, name []byte) int {
		// A closing quote sorts before letters, digits and underscores, so a name comes before
		// longer ones that start with it.
		return bytes.Compare(m.name, name)
	})
}

// Value returns the object as a value.
func (o Object) Value() Value {
	return join('{', '}', len(o), func(at int) ([]byte, *Value) { return o[at].name, &o[at].value })
}

// join joins parts, each with its name, nil in an array.
func join(start, end byte, count int, partAt func(at int) (name []byte, value *Value)) Value {
	textSize, canonicalSize, same := 2+2*count, 2+2*count, true
	for at := range count {
		name, value := partAt(at)
		textSize += len(name) + len(value.Text)
		canonicalSize += len(name) + len(value.Canonical)
		same = same && sameText(value)
	}
	add := func(to []byte, at int, name, value []byte) []byte {
		if at > 0 {
			to = append(to, ',')
		}
		if name != nil {
			to = append(append(to, name...), ':')
		}
		return append(to, value...)
	}
	text := append(make([]byte, 0, textSize), start)
	for at := range count {
		name, value := partAt(at)
		text = add(text, at, name, value.Text)
	}
	text = append(text, end)
	if same {
		return Value{text, text}
	}
	canonical := append(make([]byte, 0, canonicalSize), start)
	for at := range count {
		name, value := partAt(at)
		canonical = add(canonical, at, name, value.Canonical)
	}
	return Value{text, append(canonical, end)}
}

// sameText reports whether a value's two texts are equal.
func sameText(value *Value) bool {
	return len(value.Text) == len(value.Canonical) && (len(value.Text) == 0 || &value.Text[0] == &value.Canonical[0])
}
