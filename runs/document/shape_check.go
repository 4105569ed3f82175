package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// Check reads a JSON text once and compares it with the shape. It adds every fault to faults and
// returns a decodable text, in which values of a wrong kind are null; without a fault that is
// the text itself. The error is nil, bad_request as for [Check], or invalid_request with all
// faults so far if the text nests too deeply to continue.
func (s *Shape) Check(text []byte, faults *refusal.Faults) ([]byte, error) {
	reading, end := read(text)
	defer end()
	c := shapeCheck{decoder: reading, text: text, faults: faults}
	if err := c.value(s, len(s.requiredNames) == 0); err != nil {
		return nil, err
	}
	switch _, err := c.decoder.ReadToken(); {
	case errors.Is(err, io.EOF):
		return c.cleaned(), nil
	case err != nil:
		return nil, syntaxError(err)
	}
	return nil, &refusal.Error{Code: api.CodeBadRequest, Detail: "the body holds more than one JSON value"}
}

// reading is a reusable decoder with its buffer.
type reading struct {
	decoder jsontext.Decoder
	text    bytes.Buffer
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// read returns a decoder of a text, and a function that releases it. A decoder reads a
// bytes.Buffer in place.
func read(text []byte) (decoder *jsontext.Decoder, end func()) {
	r, _ := readings.Get().(*reading)
	r.text = *bytes.NewBuffer(text)
	r.decoder.Reset(&r.text)
	return &r.decoder, func() {
		r.text = bytes.Buffer{}
		r.decoder.Reset(&r.text)
		readings.Put(r)
	}
}

// shapeCheck is one pass over a text.
type shapeCheck struct {
	decoder *jsontext.Decoder
	text    []byte
	faults  *refusal.Faults
	// wrong has the positions of values of a wrong kind, in order.
	wrong []span
}

type span struct{ from, to int64 }

// cleaned returns the text with null in place of the wrong values.
func (c *shapeCheck) cleaned() []byte {
	if len(c.wrong) == 0 {
		return c.text
	}
	var cleaned []byte
	from := int64(0)
	for _, wrong := range c.wrong {
		cleaned = append(append(cleaned, c.text[from:wrong.from]...), "null"...)
		from = wrong.to
	}
	return append(cleaned, c.text[from:]...)
}

func (c *shapeCheck) fault(detail string) {
	c.faults.Add(string(c.decoder.StackPointer()), "%s", detail)
}

// value reads one value. nullable: null reads as absent.
func (c *shapeCheck) value(shape *Shape, nullable bool) error {
	if shape.kind == anyValue {
		return c.any()
	}
	before := c.decoder.InputOffset()
	kind := c.decoder.PeekKind()
	switch {
	case kind == 'n' && nullable:
		return c.any()
	case kind == '{' && shape.kind == objectValue:
		return c.object(shape)
	case kind == '{' && shape.kind == dictionaryValue:
		return c.elements(shape.element, '}')
	case kind == '[' && shape.kind == arrayValue:
		return c.elements(shape.element, ']')
	case kind == '0' && shape.kind == integerValue && !shape.quoted, kind == '"' && shape.kind == integerValue && shape.quoted:
		return c.integer(before)
	case kind == '"' && shape.filled:
		return c.filledText(before)
	case kind == '"' && shape.kind == textValue, (kind == 't' || kind == 'f') && shape.kind == booleanValue:
		return c.any()
	}
	if err := c.any(); err != nil {
		return err
	}
	c.refuse(before, expected[shape.kind])
	return nil
}

// refuse adds a fault for the last value read.
func (c *shapeCheck) refuse(before int64, detail string) {
	end := c.decoder.InputOffset()
	from := before + int64(len(c.text[before:end])-len(bytes.TrimLeft(c.text[before:end], " \t\r\n,:")))
	c.fault(detail)
	c.wrong = append(c.wrong, span{from, end})
}

func (c *shapeCheck) filledText(before int64) error {
	token, err := c.decoder.ReadToken()
	if err != nil {
		return syntaxError(err)
	}
	if token.String() == "" {
		c.refuse(before, "must not be empty")
	}
	return nil
}

func (c *shapeCheck) integer(before int64) error {
	token, err := c.decoder.ReadToken()
	if err != nil {
		return syntaxError(err)
	}
	literal := token.String()
	if number, err := strconv.ParseInt(literal, 10, 64); err != nil {
		c.refuse(before, expected[integerValue])
	} else if token.Kind() == '0' && (number > maxExactInteger || number < -maxExactInteger) {
		c.refuse(before, "must be at most 2^53")
	}
	return nil
}

// elements reads an array or a dictionary. Its elements may not be null.
func (c *shapeCheck) elements(element *Shape, end jsontext.Kind) error {
	if err := c.begin(); err != nil {
		return err
	}
	for kind := c.decoder.PeekKind(); kind != end; kind = c.decoder.PeekKind() {
		if end == '}' {
			if _, err := c.decoder.ReadToken(); err != nil {
				return syntaxError(err)
			}
		}
		if kind == 0 {
			break
		}
		if err := c.value(element, false); err != nil {
			return err
		}
	}
	return c.end()
}

func (c *shapeCheck) object(shape *Shape) error {
	if err := c.begin(); err != nil {
		return err
	}
	given := make([]string, 0, 8)
	for kind := c.decoder.PeekKind(); kind != '}' && kind != 0; kind = c.decoder.PeekKind() {
		member, err := c.member(shape)
		switch {
		case err != nil:
			return err
		case member != nil:
			if member.required && (member.kind == anyValue || c.decoder.PeekKind() != 'n') {
				given = append(given, member.name)
			}
			err = c.value(member, true)
		default:
			err = c.any()
			if shape.closed {
				c.fault(shape.unknownMember())
			}
		}
		if err != nil {
			return err
		}
	}
	if err := c.end(); err != nil {
		return err
	}
	for _, name := range shape.requiredNames {
		if !slices.Contains(given, name) {
			c.faults.Add(string(c.decoder.StackPointer().AppendToken(name)), "is required")
		}
	}
	return nil
}

// member reads a member's name and returns its shape, nil if unknown.
func (c *shapeCheck) member(shape *Shape) (*Shape, error) {
	if c.decoder.PeekKind() != '"' {
		_, err := c.decoder.ReadToken()
		return nil, syntaxError(err)
	}
	quoted, err := c.decoder.ReadValue()
	if err != nil {
		return nil, syntaxError(err)
	}
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		if name, err = jsontext.AppendUnquote(nil, quoted); err != nil {
			return nil, syntaxError(err)
		}
	}
	return shape.members[string(name)], nil
}

// begin reads the start of an object or an array.
func (c *shapeCheck) begin() error {
	if _, err := c.decoder.ReadToken(); err != nil {
		return syntaxError(err)
	}
	return c.checkDepth()
}

func (c *shapeCheck) end() error {
	if _, err := c.decoder.ReadToken(); err != nil {
		return syntaxError(err)
	}
	return nil
}

func (c *shapeCheck) checkDepth() error {
	if c.decoder.StackDepth() <= api.MaxJSONDepth {
		return nil
	}
	c.fault(fmt.Sprintf("nests deeper than %d levels", api.MaxJSONDepth))
	return c.faults.Err()
}

// any reads a value of any kind. It only checks that the value can be stored.
func (c *shapeCheck) any() error {
	depth := c.decoder.StackDepth()
	for {
		token, err := c.decoder.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		switch token.Kind() {
		case '{', '[':
			if err := c.checkDepth(); err != nil {
				return err
			}
		case '0':
			if detail := numberFault(token.String()); detail != "" {
				c.fault(detail)
			}
		}
		if c.decoder.StackDepth() == depth {
			return nil
		}
	}
}
