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

// Value is a JSON value with its RFC 8785 form. Both are made once, on the time of whoever brought
// the value; documents are put together from values by copying alone. Do not change either text.
type Value struct {
	Text      api.JSON
	Canonical []byte
}

// ValueOf encodes a value. It returns an error when there is no canonical form.
func ValueOf(value any) (Value, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return Value{}, fmt.Errorf("encode: %w", err)
	}
	return valueOfText(text)
}

// valueOfText returns the value of a text that the encoder made.
func valueOfText(text []byte) (Value, error) {
	form, err := canonical.Value(text)
	if err != nil {
		return Value{}, fmt.Errorf("canonical form: %w", err)
	}
	return Value{text, form}, nil
}

// OwnValue is [ValueOf] for a value that the service itself made. It panics when the value has no
// canonical form, which is a defect of the service.
func OwnValue(value any) Value {
	own, err := ValueOf(value)
	if err != nil {
		panic(fmt.Sprintf("runs: a domain document has no canonical form: %v", err))
	}
	return own
}

// Integer returns a number, which must be one that a double holds exactly.
func Integer(number int64) Value {
	text := strconv.AppendInt(nil, number, 10)
	return Value{text, text}
}

// Array returns the array of the values.
func Array(values []Value) Value {
	return join('[', ']', len(values), func(at int) ([]byte, *Value) { return nil, &values[at] })
}

// Object is a JSON object by its members, in the order of RFC 8785. The zero value is the empty one.
type Object []named

type named struct {
	// name has its quotes.
	name  []byte
	value Value
}

// ObjectOf returns what a struct encodes to. It returns an error when there is no canonical form,
// and when the value does not encode to an object.
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

// OwnObject is [ObjectOf] for a struct that the service itself made. It panics when there is none.
func OwnObject(value any) Object {
	own, err := ObjectOf(value)
	if err != nil {
		panic(fmt.Sprintf("runs: a domain document has no canonical form: %v", err))
	}
	return own
}

// And returns the object with the members of another one.
func (o Object) And(added Object) Object {
	for _, m := range added {
		o = o.with(m)
	}
	return o
}

// With returns the object with a member set. The name must be one of the service's own: a text that
// JSON writes without escapes.
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

// find returns where a quoted name is, or would be.
func (o Object) find(name []byte) (place int, found bool) {
	return slices.BinarySearchFunc(o, name, func(m named, name []byte) int {
		// The quote behind a name is less than any letter, digit or underscore: so a name comes
		// before the longer ones that begin with it.
		return bytes.Compare(m.name, name)
	})
}

// Value returns the object as a value.
func (o Object) Value() Value {
	return join('{', '}', len(o), func(at int) ([]byte, *Value) { return o[at].name, &o[at].value })
}

// join puts parts together, each with its name, which is nil in an array.
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

// sameText reports whether both texts of a value are one.
func sameText(value *Value) bool {
	return len(value.Text) == len(value.Canonical) && (len(value.Text) == 0 || &value.Text[0] == &value.Canonical[0])
}
