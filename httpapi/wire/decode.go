package wire

import (
	"bytes"
	"cmp"
	"context"
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

// DefaultMaxBodyBytes is the default maximum size of a request body.
const DefaultMaxBodyBytes = 1 << 20

// LongestBodyBytes is the maximum size of a body at any face, in bytes. A body without a Content-Length has at most
// what the service reads at every face.
const LongestBodyBytes = 20 << 20

// Bodies decodes request bodies. It caches the shapes of the types, so use one for all requests.
type Bodies struct {
	// MaxBytes is the maximum size of a body.
	MaxBytes int64
	shapes   sync.Map // reflect.Type to *document.Shape
}

// Decode decodes a required body, checking in this order: media type, size, JSON, schema
// (docs/spec/v1.md#order-of-checks). Unknown members are ignored unless the type is closed. null is
// read as absent, except for members of type [api.JSON], which hold "null" for the domain to judge.
//
// Schema violations are added to faults, and the affected members keep their zero values, so that a
// caller gets them together with the faults that the handler and the domain find. If faults is nil,
// they are the error.
//
// Errors: unsupported_media_type, payload_too_large and bad_request, and the request context's when
// it ends while a large body waits for [cpulimit.Do].
func (b *Bodies) Decode(w http.ResponseWriter, r *http.Request, into any, faults *refusal.Faults) error {
	if err := checkMediaType(r.Header); err != nil {
		return err
	}
	return read(w, r, b.MaxBytes, false, b.decoder(into, faults))
}

// DecodeOptional is [Bodies.Decode] for a body that may be absent. The value is then unchanged, and
// the media type does not matter.
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

// DecodeText is [Bodies.Decode] for a text that did not arrive as a request.
func (b *Bodies) DecodeText(ctx context.Context, text []byte, into any, faults *refusal.Faults) error {
	if int64(len(text)) > b.MaxBytes {
		return tooLarge(b.MaxBytes)
	}
	return cpulimit.Do(ctx, len(text), func() error { return b.decoder(into, faults)(text) })
}

// DecodeNothing reads an optional body without members. Errors are the ones of [Bodies.Decode].
func (b *Bodies) DecodeNothing(w http.ResponseWriter, r *http.Request) error {
	return b.DecodeOptional(w, r, &struct{}{}, nil)
}

// decoder returns a function that decodes a text into a value.
func (b *Bodies) decoder(into any, faults *refusal.Faults) func([]byte) error {
	return func(text []byte) error {
		of := reflect.TypeOf(into)
		shape, known := b.shapes.Load(of)
		if !known {
			shape, _ = b.shapes.LoadOrStore(of, document.ShapeOf(of))
		}
		found := cmp.Or(faults, &refusal.Faults{})
		text, err := shape.(*document.Shape).Check(text, found)
		if err != nil {
			return err
		}
		if faults == nil && found.Err() != nil {
			return found.Err()
		}
		return unmarshal(text, into)
	}
}

// Decode is [Bodies.Decode] for dialects that check members themselves: it does not check for
// required members, ignores a byte order mark, and returns its first fault as an error.
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

// read reads a whole body and passes it to decode, which must not keep it.
func read(w http.ResponseWriter, r *http.Request, maxBytes int64, optional bool, decode func(text []byte) error) error {
	if r.ContentLength > maxBytes {
		return tooLarge(maxBytes)
	}
	buffer := getBuffer()
	defer putBuffer(buffer)
	if _, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, maxBytes)); err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
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

// WithoutMark removes a UTF-8 byte order mark from a JSON text.
func WithoutMark(text []byte) []byte { return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) }

// unmarshal decodes a text that was already checked for duplicate names.
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

// schemaError turns an error from decoding well-formed JSON into an invalid_request that names the
// member.
func schemaError(err error) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return refusal.Invalid(api.Fault{Pointer: string(semantic.JSONPointer), Detail: expectation(semantic)})
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return refusal.Invalid(api.Fault{Pointer: string(syntactic.JSONPointer), Detail: "does not fit the schema"})
	}
	return fmt.Errorf("decode: %w", err)
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
