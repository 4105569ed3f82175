package document

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// Shape is what a Go type accepts from a JSON text: the kind of every value, and the members of
// every object. It is computed once per type and immutable.
type Shape struct {
	kind shapeKind
	// quoted: an integer written as text.
	quoted  bool
	element *Shape            // of an array or a dictionary
	members map[string]*Shape // of an object
	// name is the member's name, required says that it must be present, and filled that its text
	// must not be empty.
	name             string
	required, filled bool
	// names and requiredNames are in the order of the fields.
	names, requiredNames []string
	// closed: unknown members are faults; otherwise they are ignored.
	closed bool
}

type shapeKind int

const (
	// anyValue accepts every value, including null, without checking it.
	anyValue shapeKind = iota
	textValue
	booleanValue
	integerValue
	arrayValue
	objectValue
	dictionaryValue
)

// expected describes a value of each kind.
var expected = [...]string{
	textValue: "must be text", booleanValue: "must be true or false", integerValue: "must be an integer",
	arrayValue: "must be an array", objectValue: "must be an object", dictionaryValue: "must be an object",
}

// ShapeOf returns the shape of a type as package json reads it. The tag body:"required" on a
// field requires its member, not null; body:"filled" rejects an empty text, which would otherwise read as
// absent; a field _ with the tag body:"closed" rejects unknown members. The fields of an embedded struct
// belong to the enclosing one.
func ShapeOf(of reflect.Type) *Shape {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if reads := reflect.TypeFor[json.Unmarshaler](); of.Implements(reads) || reflect.PointerTo(of).Implements(reads) {
		return &Shape{kind: anyValue}
	}
	//exhaustive:ignore
	switch of.Kind() {
	case reflect.String:
		return &Shape{kind: textValue}
	case reflect.Bool:
		return &Shape{kind: booleanValue}
	case reflect.Int, reflect.Int64:
		return &Shape{kind: integerValue}
	case reflect.Slice:
		return &Shape{kind: arrayValue, element: ShapeOf(of.Elem())}
	case reflect.Map:
		return &Shape{kind: dictionaryValue, element: ShapeOf(of.Elem())}
	case reflect.Struct:
		shape := &Shape{kind: objectValue, members: map[string]*Shape{}}
		shape.addFields(of)
		return shape
	default:
		return &Shape{kind: anyValue}
	}
}

func (s *Shape) addFields(of reflect.Type) {
	for i := range of.NumField() {
		field := of.Field(i)
		rule := field.Tag.Get("body")
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Name == "_":
			s.closed = s.closed || rule == "closed"
		case field.Anonymous && name == "":
			s.addFields(field.Type)
		case field.IsExported() && name != "-":
			member := ShapeOf(field.Type)
			member.quoted = slices.Contains(strings.Split(options, ","), "string")
			member.name, member.required, member.filled = name, rule == "required", rule == "filled"
			s.members[name] = member
			s.names = append(s.names, name)
			if member.required {
				s.requiredNames = append(s.requiredNames, name)
			}
		}
	}
}

// Names returns the members of an object of this shape, in field order.
func (s *Shape) Names() []string { return slices.Clone(s.names) }

// Required returns the required members, which must not be null.
func (s *Shape) Required() []string { return slices.Clone(s.requiredNames) }

// Filled reports whether an empty text is a fault.
func (s *Shape) Filled() bool { return s.filled }

// Closed reports whether unknown members are faults.
func (s *Shape) Closed() bool { return s.closed }

// unknownMember is the fault of an unknown member in a closed object.
func (s *Shape) unknownMember() string {
	return fmt.Sprintf("is not a member that is known here, and might change what is meant; the members are %s", strings.Join(s.names, ", "))
}

// Member returns the shape of a member of an object, nil if there is none.
func (s *Shape) Member(name string) *Shape { return s.members[name] }
