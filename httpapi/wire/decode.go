package wire

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/api"
	"github.com/holdpoint/holdpoint/internal/cpulimit"
	"github.com/holdpoint/holdpoint/runs/document"
	"github.com/holdpoint/holdpoint/runs/refusal"
)

// DefaultMaxBodyBytes bounds a request body where nothing else is configured.
const DefaultMaxBodyBytes = 1 << 20

// Bodies reads the bodies of requests. It keeps the shape of each type that it has read, so one
// serves for all requests.
type Bodies struct {
	// MaxBytes bounds a body.
	MaxBytes int64
	shapes   sync.Map // reflect.Type to *document.Shape
}

// Decode reads a body that must be there into a value, in this order: media type, size,
// JSON, schema (docs/spec/v1.md#order-of-checks). Members that the value does not have are
// ignored, unless its type is closed; null reads as absent for every member but those of type
// [api.JSON], which hold "null" for the domain to judge.
//
// What does not fit the schema is added to faults, and what is wrong stays at its zero value in
// the value: a caller of the API gets these faults together with those that the handler and the
// domain find.
//
// Errors: unsupported_media_type, payload_too_large and bad_request, and that of the request's context
// if it ends while a large body waits for its turn ([cpulimit.Do]).
func (b *Bodies) Decode(w http.ResponseWriter, r *http.Request, into any, faults *refusal.Faults) error {
	if err := checkMediaType(r.Header); err != nil {
		return err
	}
	return read(w, r, b.MaxBytes, false, b.decoder(into, faults))
}

// DecodeOptional is [Bodies.Decode] for a body that may be absent; then the value stays
// as it is, and the media type does not matter.
func (b *Bodies) DecodeOptional(w http.ResponseWriter, r *http.Request, into any, faults *refusal.Faults) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength > 0 {
		if err := checkMediaType(r.Header); err != nil {
			return err
		}
	}
	return read(w, r, b.MaxBytes, true, b.decoder(into, faults))
}

// decoder returns what decodes a text into a value.
func (b *Bodies) decoder(into any, faults *refusal.Faults) func([]byte) error {
	return func(text []byte) error {
		of := reflect.TypeOf(into)
		shape, known := b.shapes.Load(of)
		if !known {
			shape, _ = b.shapes.LoadOrStore(of, document.ShapeOf(of))
		}
		text, err := shape.(*document.Shape).Check(text, faults)
		if err != nil {
			return err
		}
		return unmarshal(text, into)
	}
}

// Decode is [Bodies.Decode] for a face that judges the members itself: it looks at no required
// members, ignores a byte order mark, and its first fault is the error.
func Decode(w http.ResponseWriter, r *http.Request, maxBytes int64, into any) error {
	if err := checkMediaType(r.Header); err != nil {
		return err
	}
	return read(w, r, maxBytes, false, func(text []byte) error {
		text = WithoutMark(text)
		if err := document.Check(text); err != nil {
			return err
		}
		return unmarshal(text, into)
	})
}

// read reads a body whole and hands its text to decode, which must not keep it.
func read(w http.ResponseWriter, r *http.Request, maxBytes int64, optional bool, decode func(text []byte) error) error {
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
	return cpulimit.Do(r.Context(), len(text), func() error { return decode(text) })
}

// WithoutMark returns a JSON text without the byte order mark that some systems put before UTF-8.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }

// unmarshal decodes a text that was checked whole, so names given twice need no second look.
func unmarshal(text []byte, into any) error {
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
