package kheish_test

import (
	"fmt"
	"reflect"
	"strings"
)

// fits checks a decoded document against a Go type, as serde checks it against the client's type. A
// member without a default must be present and have its type. A pointer is an Option, an enum is
// closed, and unknown members are ignored.
func fits(value any, into reflect.Type, at string) error {
	switch {
	case into.Kind() == reflect.Pointer:
		if value == nil {
			return nil
		}
		return fits(value, into.Elem(), at)
	case into.Kind() == reflect.Interface:
		return nil
	}
	if enum, ok := reflect.Zero(into).Interface().(interface{ variants() string }); ok {
		text, isText := value.(string)
		for name := range strings.FieldsSeq(enum.variants()) {
			if isText && name == text {
				return nil
			}
		}
		return fmt.Errorf("%s: unknown variant %v", at, value)
	}
	if union, ok := reflect.Zero(into).Interface().(interface{ tagged() map[string]any }); ok {
		object, _ := value.(map[string]any)
		tag, _ := object["type"].(string)
		variant, known := union.tagged()[tag]
		if !known {
			return fmt.Errorf("%s: unknown variant %q", at, tag)
		}
		return fits(value, reflect.TypeOf(variant), at+"."+tag)
	}
	switch into.Kind() {
	case reflect.String:
		if _, ok := value.(string); !ok {
			return fmt.Errorf("%s: %v is not a string", at, value)
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("%s: %v is not a bool", at, value)
		}
	case reflect.Uint64:
		if number, ok := value.(float64); !ok || number < 0 || number != float64(uint64(number)) {
			return fmt.Errorf("%s: %v is not a u64", at, value)
		}
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s: %v is not a list", at, value)
		}
		for i, one := range list {
			if err := fits(one, into.Elem(), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return fitsStruct(value, into, at)
	default:
		return fmt.Errorf("%s: no such kind", at)
	}
	return nil
}

func fitsStruct(value any, into reflect.Type, at string) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %v is not an object", at, value)
	}
	for i := range into.NumField() {
		field := into.Field(i)
		name, option, _ := strings.Cut(field.Tag.Get("serde"), ",")
		member, there := object[name]
		switch {
		case !there && (option == "default" || field.Type.Kind() == reflect.Pointer):
			continue
		case !there:
			return fmt.Errorf("%s: missing field %s", at, name)
		}
		if err := fits(member, field.Type, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}
