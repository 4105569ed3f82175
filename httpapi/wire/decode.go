package wire

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// DefaultMaxBodyBytes bounds a request body where nothing else is configured.
const DefaultMaxBodyBytes = 1 << 20

// Decode reads a body that must be there into a value, in this order: media type, size,
// JSON, schema (docs/spec/v1.md#order-of-checks). Members that the value does not have are
// ignored; null reads as absent for every member but those of type [api.JSON], which hold
// "null" for the domain to judge.
//
// Errors: unsupported_media_type, payload_too_large, bad_request, and
// invalid_request with the pointer of the member at fault.
func Decode(w http.ResponseWriter, r *http.Request, maxBytes int64, into any) error {
	if err := checkMediaType(r.Header); err != nil {
		return err
	}
	return decode(w, r, maxBytes, into, false)
}

// DecodeOptional is [Decode] for a body that may be absent; then the value stays
// as it is, and the media type does not matter.
func DecodeOptional(w http.ResponseWriter, r *http.Request, maxBytes int64, into any) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength > 0 {
		if err := checkMediaType(r.Header); err != nil {
			return err
		}
	}
	return decode(w, r, maxBytes, into, true)
}

func decode(w http.ResponseWriter, r *http.Request, maxBytes int64, into any, optional bool) error {
	if r.ContentLength > maxBytes {
		return tooLarge(maxBytes)
	}
	buffer := getBuffer()
	defer putBuffer(buffer)
	if _, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, maxBytes)); err != nil {
		var limit *http.MaxBytesError
		if errors.As(err, &limit) {
			return tooLarge(maxBytes)
		}
		return refusal.New(api.CodeBadRequest, "the body could not be read to its end")
	}
	text := buffer.Bytes()
	if len(text) == 0 {
		if optional {
			return nil
		}
		return refusal.New(api.CodeBadRequest, "the body is empty; it must be a JSON object")
	}
	if optional && r.ContentLength < 0 {
		if err := checkMediaType(r.Header); err != nil {
			return err
		}
	}
	if err := document.Check(text); err != nil {
		return err
	}
	// The text was checked whole, so names given twice need no second look.
	if err := json.Unmarshal(text, into, jsontext.AllowDuplicateNames(true)); err != nil {
		return schemaError(err)
	}
	return nil
}

func tooLarge(maxBytes int64) error {
	return refusal.New(CodePayloadTooLarge, "the body must have at most %d bytes", maxBytes)
}

func checkMediaType(header http.Header) error {
	if encodings := header["Content-Encoding"]; len(encodings) > 0 && encodings[0] != "identity" {
		return refusal.New(CodeUnsupportedMediaType, "the body must not be compressed")
	}
	types := header["Content-Type"]
	if len(types) == 1 && types[0] == "application/json" {
		return nil
	}
	if len(types) == 1 {
		mediaType, parameters, err := mime.ParseMediaType(types[0])
		isJSON := mediaType == "application/json" || strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")
		charset, given := parameters["charset"]
		if err == nil && isJSON && (!given || strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	return refusal.New(CodeUnsupportedMediaType, "the Content-Type must be application/json")
}

// schemaError turns a failure of decoding well-formed JSON into an invalid_request
// that names the member.
func schemaError(err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		var syntactic *jsontext.SyntacticError
		if errors.As(err, &syntactic) {
			return refusal.Invalid(api.Fault{Pointer: string(syntactic.JSONPointer), Detail: "does not fit the schema"})
		}
		return fmt.Errorf("decode: %w", err)
	}
	return refusal.Invalid(api.Fault{Pointer: string(semantic.JSONPointer), Detail: expectation(semantic)})
}

func expectation(semantic *json.SemanticError) string {
	if semantic.GoType == nil {
		return "does not fit the schema"
	}
	goType := semantic.GoType
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	//exhaustive:ignore
	switch goType.Kind() {
	case reflect.String:
		return "must be text"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int, reflect.Int64:
		return "must be an integer"
	case reflect.Slice, reflect.Array:
		return "must be an array"
	case reflect.Struct, reflect.Map:
		return "must be an object"
	default:
		return "does not fit the schema"
	}
}
